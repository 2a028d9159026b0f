"""Removes secrets from everything that is stored, because bundles are shared.

In doubt it removes too much. Known places: values under secret names, DSNs and URIs, connection strings,
SQL, command lines, PEM keys, the values of secret environment variables, and those that the study names
as ${NAME} in its address and in secret variables of its programs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, quote_plus, unquote_plus

from steelyard.study.errors import InputError
from steelyard.study.factors import settings_of
from steelyard.study.passwords import VARIABLE, WORD, in_environment, is_secret
from steelyard.study.study import Study
from steelyard.study.workloads.driven import DrivenWorkload
from steelyard.study.workloads.program import ProgramWorkload

if TYPE_CHECKING:
    from steelyard.lab.finished_run import Run

REDACTED = "[redacted]"

_ENVIRONMENTS = ("env", "environ", "environment", "environment_variables")

_PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)", re.DOTALL)
# user:password@; to the last @ of the line: an unencoded password may contain any character
_URI = re.compile(r"(://[^:/@\n]*:).*@")
# A quoted value may contain quotes in one of several escapes: the rest is removed with it.
_QUOTED = r"""(?:["'`].*|\$\w*\$.*)"""
_PLAIN = r"(?:\\.|[^ \t\r\n\f\v\\])+"  # \s would end it at the blanks of other scripts
_ASSIGNED = re.compile(
    # MariaDB's message for a refused login contains: (using password: YES)
    rf"(\b\w*(?:{WORD})\w*[\"']?\s*(?:=|%3d|:(?!//)(?!\s(?:YES|NO)\)))\s*)(?:{_QUOTED}|{_PLAIN})",
    re.IGNORECASE | re.DOTALL,
)
_STATED = re.compile(
    rf"((?:\bpassword|\bidentified\s+by|\bidentified\s+with\s+\S+\s+(?:by|as))\s+){_QUOTED}",
    re.IGNORECASE | re.DOTALL,
)
_FLAG = re.compile(
    rf"((?:^|\s)--?[\w-]*(?:{WORD})[\w-]*\s+|\bbearer\s+)(?:{_QUOTED}|{_PLAIN})",
    re.IGNORECASE | re.DOTALL,
)
_BARE_FLAG = re.compile(rf"--?[\w-]*(?:{WORD})[\w-]*", re.IGNORECASE)

# a parameter of an address whose name is percent-encoded, wholly or in part
_ENCODED = re.compile(r"([?&])([^\s=&]*%[^\s=&]*)=([^\s&]*)")
# records of a log; an indented line continues the record before
_RECORD = re.compile(r"\n(?![ \t])")

_LOG_CHARACTERS_MAX = 4000
_OUTPUT_CHARACTERS_MAX = 300
_SECRET_CHARACTERS_MIN = 6  # shorter values of the environment would redact common words
_NAMED_CHARACTERS_MIN = 4  # of those that the study names


def redact(obj: Any) -> Any:
    """A copy of obj without secrets, as JSON types: mappings, lists, strings; others as text."""
    return _Redactor(_secrets_of_environment()).clean(obj)


def redact_text(text: str, study: Study) -> str:
    """The output of a server or program, without secrets, also without the study's."""
    return _Redactor({*_secrets_of_environment(), *_secrets_of(study)}).printed(text)


def redacted_run(run: Run, study: Study) -> Run:
    """The run without secrets in its cause, its log, its notices and its errors' messages.

    Log and cause are cut to their end only now: a part of a secret would not be recognized.
    """
    redactor = _Redactor({*_secrets_of_environment(), *_secrets_of(study)})
    tables = dict(run.tables)
    for table, column in (("notices", "text"), ("errors", "message")):
        if table in tables:
            texts = [redactor.printed(str(text)) for text in tables[table][column]]
            tables[table] = {**tables[table], column: texts}
    return replace(
        run,
        cause=_in_one_line(redactor.printed(run.cause)),
        server_log=_end(redactor.printed(run.server_log)),
        tables=tables,
    )


def _secrets_of_environment() -> set[str]:
    names = {name for name in os.environ if is_secret(name)}
    names |= {name.removesuffix("_FILE") for name in names}
    values = [value for name in names if (value := _value(name))]
    # programs may print a value of several lines with a prefix on each line
    parts = {part for value in values for part in (value, *value.splitlines())}
    return {form for part in parts if len(part.strip()) >= _SECRET_CHARACTERS_MIN for form in _forms(part)}


def _end(log: str) -> str:
    return log if len(log) <= _LOG_CHARACTERS_MAX else log[-_LOG_CHARACTERS_MAX:].partition("\n")[2]


def _in_one_line(cause: str) -> str:
    """The first line of a cause, and the end of the rest, which is the output of a program."""
    sentence, _, output = cause.partition("\n")
    return f"{sentence} {' | '.join(output[-_OUTPUT_CHARACTERS_MAX:].splitlines())}".strip()


def _secrets_of(study: Study) -> set[str]:
    """Values of the variables in the study's addresses and in secrets of its programs and drivers."""
    named = {name for text in _naming(study) for name in VARIABLE.findall(text)}
    found = {value for name in named if len(value := _value(name)) >= _NAMED_CHARACTERS_MIN}
    return {form for secret in found for form in _forms(secret)}


def _value(name: str) -> str:
    """Of a variable; '' where there is none, or its file has gone."""
    with suppress(InputError):
        return in_environment(name) or ""
    return ""


def _naming(study: Study) -> Iterator[str]:
    yield study.subject.dsn or ""
    if isinstance(study.workload, ProgramWorkload):
        for name, text in study.workload.environment.items():
            if is_secret(name):
                yield str(text)
    if isinstance(study.workload, DrivenWorkload):
        yield study.workload.driver_url
        for name, text in study.workload.driver_properties.items():
            if is_secret(name):
                yield str(text)
    for name, factor in study.factors.items():
        for settings in settings_of(name, factor).values():
            for key, text in settings.items():
                if key == "driver_url" or is_secret(key.removeprefix("env.")):
                    yield str(text)


def _forms(secret: str) -> Iterator[str]:
    """A secret as it is, and as encoded in addresses, SQL and JSON."""
    yield secret
    yield secret.replace("'", "''")
    yield re.sub(r"([\\'\s])", r"\\\1", secret)
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    for encoded in (quote(secret), quote(secret, safe=""), quote_plus(secret)):
        yield encoded
        yield re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), encoded)


class _Redactor:
    def __init__(self, secrets: Iterable[str]) -> None:
        longest_first = sorted(secrets, key=len, reverse=True)
        # REDACTED comes first: a secret that is a part of this word must not be replaced within it
        self._secrets = re.compile("|".join(map(re.escape, (REDACTED, *longest_first))))

    def printed(self, text: str) -> str:
        """Several records, cleaned one by one: a quoted value does not extend into the next record."""
        text = _PEM.sub(REDACTED, self._secrets.sub(REDACTED, text))
        return "\n".join(self._text(record) for record in _RECORD.split(text))

    def clean(self, obj: Any) -> Any:
        if obj is None or isinstance(obj, bool | int | float):
            return obj
        if isinstance(obj, Mapping):
            return self._mapping(cast("Mapping[Any, Any]", obj))
        if isinstance(obj, list | tuple | set | frozenset):
            return self._sequence(list(cast("Iterable[Any]", obj)))
        if isinstance(obj, bytes | bytearray):
            return self._text(obj.decode("utf-8", "replace"))
        return self._text(str(obj))

    def _mapping(self, obj: Mapping[Any, Any]) -> dict[str, Any]:
        cleaned: dict[str, Any] = {}
        # a row of pg_settings has its name as a value: {"name": ..., "setting": ...}
        named = obj.get("name")
        row_is_secret = isinstance(named, str) and is_secret(named)
        for key, value in obj.items():
            name = str(key)
            inside = name.lower() in _ENVIRONMENTS and isinstance(value, Mapping)
            if is_secret(name) or inside or (row_is_secret and name != "name"):
                cleaned[self._text(name)] = _redacted(value)
            else:
                cleaned[self._text(name)] = self.clean(value)
        return cleaned

    def _sequence(self, items: list[Any]) -> list[Any]:
        cleaned: list[Any] = []
        hide_next = False
        for item in items:
            cleaned.append(_redacted(item) if hide_next else self.clean(item))
            # ["--password", "x"] in an argument list; ["primary_conninfo", "x"] in a row
            is_text = isinstance(item, str)
            hide_next = is_text and bool(_BARE_FLAG.fullmatch(item) or _is_secret_word(item))
        return cleaned

    def _text(self, text: str) -> str:
        text = self._secrets.sub(REDACTED, text)
        text = _PEM.sub(REDACTED, text)
        text = _ENCODED.sub(_parameter, text)
        text = _URI.sub(rf"\1{REDACTED}@", text)
        for pattern in (_ASSIGNED, _STATED, _FLAG):
            text = pattern.sub(rf"\1{REDACTED}", text)
        return text


def _parameter(match: re.Match[str]) -> str:
    hidden = REDACTED if is_secret(unquote_plus(match[2])) else match[3]
    return f"{match[1]}{match[2]}={hidden}"


def _is_secret_word(text: str) -> bool:
    return text.isidentifier() and is_secret(text)


def _redacted(value: Any) -> Any:
    """The same shape with every leaf redacted; empty values are kept."""
    if value is None or isinstance(value, bool) or value in ("", b""):
        return value
    if isinstance(value, Mapping):
        return {str(k): _redacted(v) for k, v in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_redacted(item) for item in cast("Iterable[Any]", value)]
    return REDACTED
