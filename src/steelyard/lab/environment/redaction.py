"""Removes secrets from everything that is stored, because bundles are shared.

In doubt it removes too much. Known places: values under secret names, DSNs and URIs, connection strings,
SQL, command lines, PEM keys, the values of secret environment variables, and the value of each variable that
the study names as ${NAME}, whatever it is for.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote_plus

from steelyard.errors import InputError
from steelyard.run_tables.rows import each
from steelyard.study.passwords import WORD, in_environment, is_secret, parts, variables
from steelyard.study.study import Study

if TYPE_CHECKING:
    from steelyard.lab.run_parts import Run

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
    rf"((?:^|\s)--?[\w-]*(?:{WORD})[\w-]*\s+|\bbearer\s+)(?:{_QUOTED}|{_PLAIN})", re.IGNORECASE | re.DOTALL
)
_BARE_FLAG = re.compile(rf"--?[\w-]*(?:{WORD})[\w-]*", re.IGNORECASE)

# a parameter of an address whose name is percent-encoded, wholly or in part
_ENCODED = re.compile(r"([?&])([^\s=&]*%[^\s=&]*)=([^\s&]*)")
# records of a log; an indented line continues the record before
_RECORD = re.compile(r"\n(?![ \t])")

_LOG_CHARACTERS_MAX = 4000
_OUTPUT_CHARACTERS_MAX = 300
# shorter ones would redact common words: values of the environment, lines and parts of a value
_SECRET_CHARACTERS_MIN = 6
_NAMED_CHARACTERS_MIN = 4  # of values that the study names
_CUT_CHARACTERS_MIN = 500  # the Java engine's messages


def redact(obj: Any, study: Study | None = None) -> Any:
    """A copy of obj without secrets, as JSON types: mappings, lists, strings; others as text."""
    return _Redactor(study).clean(obj)


def redact_text(text: str, study: Study) -> str:
    """The output of a server or program, without secrets, also without the study's."""
    return _Redactor(study).printed(text)


@contextmanager
def without_secrets(study: Study) -> Generator[None]:
    """An InputError from within repeats no secret of the study."""
    try:
        yield
    except InputError as error:
        hidden = _Redactor(study).hidden
        raise error.changed(lambda one: InputError(hidden(str(one)), hidden(one.hint), one.at)) from None


def redacted_run(run: Run, study: Study) -> Run:
    """The run without secrets in its cause, its log, its notices, its errors' messages, and the names that
    monitors by SQL read.

    Log and cause are cut to their end only now: a part of a secret would not be recognized.
    """
    redactor = _Redactor(study)
    tables = dict(run.tables)
    sentence, _, output = redactor.printed(run.cause).partition("\n")
    log = redactor.printed(run.server_log)
    if len(log) > _LOG_CHARACTERS_MAX:
        log = log[-_LOG_CHARACTERS_MAX:].partition("\n")[2]
    for table, column in (("notices", "text"), ("errors", "message"), ("latches", "latch")):
        if table in tables:
            clean = redactor.hidden if table == "latches" else redactor.printed
            tables[table] = {**tables[table], column: [clean(str(text)) for text in tables[table][column]]}
    if study.sql_monitors and (samples := tables.get("samples")):
        cleaned = {entity: redactor.hidden(str(entity)) for entity in set(samples["entity"])}
        rows = each(samples, "monitor", "entity")
        entities = [cleaned[entity] if name in study.sql_monitors else entity for name, entity in rows]
        tables["samples"] = {**samples, "entity": entities}
    return replace(
        run,
        cause=f"{sentence} {' | '.join(output[-_OUTPUT_CHARACTERS_MAX:].splitlines())}".strip(),
        server_log=log,
        tables=tables,
    )


def _secrets(study: Study | None) -> set[str]:
    """Values of the environment under secret names, and under those that the study names."""
    names = {name for name in os.environ if is_secret(name)}
    names |= {name.removesuffix("_FILE") for name in names}
    least = dict.fromkeys(names, _SECRET_CHARACTERS_MIN)
    if study is not None:
        least |= dict.fromkeys(variables(study), _NAMED_CHARACTERS_MIN)
    found = {value for name, n in least.items() if len(value := _value(name)) >= n}
    # programs print a value line by line, with a prefix on each; drivers print an address part by part
    pieces = {piece for value in found for piece in (*value.splitlines(), *parts(value))}
    return found | {piece for piece in pieces if len(piece.strip()) >= _SECRET_CHARACTERS_MIN}


def _value(name: str) -> str:
    """Of a variable, without blanks around it; '' where there is none, or its file has gone."""
    with suppress(InputError):
        return (in_environment(name) or "").strip()
    return ""


def _form(char: str) -> str:
    """Pattern of a character of a secret: as it is, or as escaped in addresses, SQL, JSON and XML.

    Each by itself: languages differ in which characters they escape.
    """
    encoded = "".join(f"%{byte:02x}" for byte in os.fsencode(char))
    forms = {char, json.dumps(char)[1:-1], html.escape(char), encoded, "+" if char == " " else char}
    doubled = "{1,2}" if char in "'\"`" else ""
    return rf"\\?(?:{'|'.join(map(re.escape, forms))}){doubled}"


class _Redactor:
    def __init__(self, study: Study | None) -> None:
        self._longest_first = sorted(_secrets(study), key=len, reverse=True)
        patterns = ("".join(map(_form, secret)) for secret in self._longest_first)
        # REDACTED comes first: a secret that is a part of this word must not be replaced within it.
        # Databases print names in upper case
        self._secrets = re.compile("|".join((re.escape(REDACTED), *patterns)), re.IGNORECASE)

    def hidden(self, text: str) -> str:
        """A text without known values; other texts that look like secrets stay."""
        text = self._secrets.sub(REDACTED, text)
        if len(text) < _CUT_CHARACTERS_MIN:
            return text
        # engines cut long messages: the start of a secret may be left at the end
        starts = (
            secret[:length]
            for secret in self._longest_first
            for length in range(len(secret) - 1, _NAMED_CHARACTERS_MIN - 1, -1)
        )
        start = next(filter(text.endswith, starts), "")
        return text.removesuffix(start) + REDACTED if start else text

    def printed(self, text: str) -> str:
        """Several records, cleaned one by one: a quoted value does not extend into the next record."""
        text = _PEM.sub(REDACTED, self.hidden(text))
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
            secret = is_secret(name) or inside or (row_is_secret and name != "name")
            cleaned[self._text(name)] = _redacted(value) if secret else self.clean(value)
        return cleaned

    def _sequence(self, items: list[Any]) -> list[Any]:
        cleaned: list[Any] = []
        hide_next = False
        for item in items:
            cleaned.append(_redacted(item) if hide_next else self.clean(item))
            # ["--password", "x"] in an argument list; ["primary_conninfo", "x"] in a row
            hide_next = isinstance(item, str) and (
                _BARE_FLAG.fullmatch(item) is not None or (item.isidentifier() and is_secret(item))
            )
        return cleaned

    def _text(self, text: str) -> str:
        text = _PEM.sub(REDACTED, self.hidden(text))
        text = _ENCODED.sub(_parameter, text)
        text = _URI.sub(rf"\1{REDACTED}@", text)
        for pattern in (_ASSIGNED, _STATED, _FLAG):
            text = pattern.sub(rf"\1{REDACTED}", text)
        return text


def _parameter(match: re.Match[str]) -> str:
    hidden = REDACTED if is_secret(unquote_plus(match[2])) else match[3]
    return f"{match[1]}{match[2]}={hidden}"


def _redacted(value: Any) -> Any:
    """The same shape with every leaf redacted; empty values are kept."""
    if value is None or isinstance(value, bool) or value in ("", b""):
        return value
    if isinstance(value, Mapping):
        return {str(k): _redacted(v) for k, v in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_redacted(item) for item in cast("Iterable[Any]", value)]
    return REDACTED
