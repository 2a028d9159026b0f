"""Takes secrets out of anything that is written down: bundles are shared.

Where in doubt it removes too much. Known places: values under telling names, DSNs and URIs,
connection strings, SQL, command lines, PEM keys, the values of secret environment variables, and those
that the study itself names as ${NAME} in its address and in secret variables of its programs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, quote_plus, unquote_plus

from steelyard.study.factors import settings_of
from steelyard.study.passwords import VARIABLE, WORD, is_secret
from steelyard.study.study import Study
from steelyard.study.workloads.program import ProgramWorkload

if TYPE_CHECKING:
    from steelyard.lab.finished_run import Run

REDACTED = "[redacted]"

_ENVIRONMENTS = ("env", "environ", "environment", "environment_variables")

_PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)", re.DOTALL)
# user:password@; to the last @ of the line, as a password that nobody encoded may hold anything
_URI = re.compile(r"(://[^:/@\n]*:).*@")
# A quoted value may hold quotes in one of several escapes: all that follows goes with it.
_QUOTED = r"""(?:["'`].*|\$\w*\$.*)"""
_PLAIN = r"(?:\\.|[^ \t\r\n\f\v\\])+"  # \s would end it at the blanks of other scripts
_ASSIGNED = re.compile(
    # MariaDB says of a user whom it refuses: (using password: YES)
    rf"(\b\w*(?:{WORD})\w*[\"']?\s*(?:=|%3d|:(?!//)(?!\s(?:YES|NO)\)))\s*)(?:{_QUOTED}|{_PLAIN})",
    re.IGNORECASE | re.DOTALL,
)
_SAID = re.compile(
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
# a log's records; a line that is indented goes on with the one before
_RECORD = re.compile(r"\n(?![ \t])")

_LOG_CHARACTERS_MAX = 4000
_SAID_CHARACTERS_MAX = 300
_SECRET_CHARACTERS_MIN = 6  # shorter values of the environment would blot out common words
_NAMED_CHARACTERS_MIN = 4  # of those that the study names


def redact(obj: Any) -> Any:
    """A copy of obj, fit for JSON, without secrets: mappings, lists, strings; others as text."""
    return _Redactor(_secrets_of_environment()).clean(obj)


def redact_text(text: str, study: Study) -> str:
    """What a server or a program printed, without secrets; those of the study too."""
    return _Redactor({*_secrets_of_environment(), *_secrets_of(study)}).printed(text)


def redacted_run(run: Run, study: Study) -> Run:
    """The run with secrets taken out of its cause, its log, its notices and its errors' messages.

    Log and cause are cut to their end only now: a cut through a secret would leave a part that nobody knows.
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
    values = [value for name, value in os.environ.items() if is_secret(name)]
    # what prints a value of several lines may put something before each
    parts = {part for value in values for part in (value, *value.splitlines())}
    return {form for part in parts if len(part.strip()) >= _SECRET_CHARACTERS_MIN for form in _forms(part)}


def _end(log: str) -> str:
    return log if len(log) <= _LOG_CHARACTERS_MAX else log[-_LOG_CHARACTERS_MAX:].partition("\n")[2]


def _in_one_line(cause: str) -> str:
    """A sentence, and the end of what follows it: what a program said."""
    sentence, _, said = cause.partition("\n")
    return f"{sentence} {' | '.join(said[-_SAID_CHARACTERS_MAX:].splitlines())}".strip()


def _secrets_of(study: Study) -> set[str]:
    """Values of what the study names in its address and in secret variables of its programs."""
    named = {name for text in _naming(study) for name in VARIABLE.findall(text)}
    found = {value for name in named if len(value := os.environ.get(name, "")) >= _NAMED_CHARACTERS_MIN}
    return {form for secret in found for form in _forms(secret)}


def _naming(study: Study) -> Iterator[str]:
    yield study.subject.dsn or ""
    if isinstance(study.workload, ProgramWorkload):
        for name, text in study.workload.environment.items():
            if is_secret(name):
                yield str(text)
        for name, factor in study.factors.items():
            for settings in settings_of(name, factor).values():
                yield from (
                    str(text) for key, text in settings.items() if is_secret(key.removeprefix("env."))
                )


def _forms(secret: str) -> Iterator[str]:
    """A secret as it is, and as addresses, SQL and JSON write it."""
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
        # the mark itself comes first: a secret that is a part of it would be blotted out within it
        self._secrets = re.compile("|".join(map(re.escape, (REDACTED, *longest_first))))

    def printed(self, text: str) -> str:
        """Many lines: what is quoted in one record takes nothing of the next with it."""
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
        # a row of pg_settings carries its name as a value: {"name": ..., "setting": ...}
        named = obj.get("name")
        row_is_secret = isinstance(named, str) and is_secret(named)
        for key, value in obj.items():
            name = str(key)
            inside = name.lower() in _ENVIRONMENTS and isinstance(value, Mapping)
            if is_secret(name) or inside or (row_is_secret and name != "name"):
                cleaned[self._text(name)] = _blotted(value)
            else:
                cleaned[self._text(name)] = self.clean(value)
        return cleaned

    def _sequence(self, items: list[Any]) -> list[Any]:
        cleaned: list[Any] = []
        hide_next = False
        for item in items:
            cleaned.append(_blotted(item) if hide_next else self.clean(item))
            # ["--password", "x"] in an argument list; ["primary_conninfo", "x"] in a row
            is_text = isinstance(item, str)
            hide_next = is_text and bool(_BARE_FLAG.fullmatch(item) or _is_secret_word(item))
        return cleaned

    def _text(self, text: str) -> str:
        text = self._secrets.sub(REDACTED, text)
        text = _PEM.sub(REDACTED, text)
        text = _ENCODED.sub(_parameter, text)
        text = _URI.sub(rf"\1{REDACTED}@", text)
        for pattern in (_ASSIGNED, _SAID, _FLAG):
            text = pattern.sub(rf"\1{REDACTED}", text)
        return text


def _parameter(match: re.Match[str]) -> str:
    hidden = REDACTED if is_secret(unquote_plus(match[2])) else match[3]
    return f"{match[1]}{match[2]}={hidden}"


def _is_secret_word(text: str) -> bool:
    return text.isidentifier() and is_secret(text)


def _blotted(value: Any) -> Any:
    """The same shape with every leaf blotted out; what is empty tells nothing, and stays."""
    if value is None or isinstance(value, bool) or value in ("", b""):
        return value
    if isinstance(value, Mapping):
        return {str(k): _blotted(v) for k, v in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_blotted(item) for item in cast("Iterable[Any]", value)]
    return REDACTED
