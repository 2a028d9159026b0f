"""Takes secrets out of anything that is written down: bundles are shared.

Where in doubt it removes too much. Known places: values under telling names, DSNs and URIs,
connection strings, SQL, command lines, PEM keys, and the values of secret environment variables.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

REDACTED = "[redacted]"

_WORD = (
    r"pass(?:word|wd|phrase|code)|pwd|secret|token|credential|bearer"
    r"|(?:api|access|private|encryption|master)[_-]?key"
)
_TELLING_NAME = re.compile(rf"(?:{_WORD})|(?:^|_)pass$|_key$|conninfo|^authorization$", re.IGNORECASE)
# Settings of PostgreSQL that run a shell: anything may stand there.
_COMMANDS = re.compile(r"(?:^ssl_passphrase|^archive|^restore|_cleanup|^recovery_end)_command$")
_ENVIRONMENTS = ("env", "environ", "environment", "environment_variables")
# What a telling name may be called without being a secret.
_HARMLESS = frozenset(
    {
        "password_encryption",
        "md5_password_warnings",
        "ssl_passphrase_command_supports_reload",
        "passfile",
    }
)

_PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)", re.DOTALL)
# user:password@; to the last @ of the line, as a password that nobody encoded may hold anything
_URI = re.compile(r"(://[^:/@\s]*:).*@")
# A quoted value may hold quotes in one of several escapes: all that follows goes with it.
_QUOTED = r"""(?:["'`].*|\$\w*\$.*)"""
_PLAIN = r"(?:\\.|[^ \t\r\n\f\v\\])+"  # \s would end it at the blanks of other scripts
_ASSIGNED = re.compile(
    rf"(\b\w*(?:{_WORD})\w*[\"']?\s*(?:=|:(?!//))\s*)(?:{_QUOTED}|{_PLAIN})",
    re.IGNORECASE | re.DOTALL,
)
_SAID = re.compile(
    rf"((?:\bpassword|\bidentified\s+by|\bidentified\s+with\s+\S+\s+(?:by|as))\s+){_QUOTED}",
    re.IGNORECASE | re.DOTALL,
)
_FLAG = re.compile(
    rf"((?:^|\s)--?[\w-]*(?:{_WORD})[\w-]*\s+|\bbearer\s+)(?:{_QUOTED}|{_PLAIN})",
    re.IGNORECASE | re.DOTALL,
)
_BARE_FLAG = re.compile(rf"--?[\w-]*(?:{_WORD})[\w-]*", re.IGNORECASE)

_SECRET_CHARACTERS_MIN = 6  # shorter values of the environment would blot out common words


def redact(obj: Any) -> Any:
    """A copy of obj, fit for JSON, without secrets: mappings, lists, strings; others as text."""
    return _Redactor(_secrets_of_environment()).clean(obj)


def _secrets_of_environment() -> tuple[str, ...]:
    found = {
        value
        for name, value in os.environ.items()
        if _is_secret(name) and len(value) >= _SECRET_CHARACTERS_MIN
    }
    return tuple(sorted(found, key=len, reverse=True))


def _is_secret(name: str) -> bool:
    lower = name.lower()
    if lower in _HARMLESS:
        return False
    return bool(_TELLING_NAME.search(name) or _COMMANDS.search(lower))


class _Redactor:
    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = tuple(secrets)

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
        row_is_secret = isinstance(named, str) and _is_secret(named)
        for key, value in obj.items():
            name = str(key)
            inside = name.lower() in _ENVIRONMENTS and isinstance(value, Mapping)
            if _is_secret(name) or inside or (row_is_secret and name != "name"):
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
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        text = _PEM.sub(REDACTED, text)
        text = _URI.sub(rf"\1{REDACTED}@", text)
        for pattern in (_ASSIGNED, _SAID, _FLAG):
            text = pattern.sub(rf"\1{REDACTED}", text)
        return text


def _is_secret_word(text: str) -> bool:
    return text.isidentifier() and _is_secret(text)


def _blotted(value: Any) -> Any:
    """The same shape with every leaf blotted out; what is empty tells nothing, and stays."""
    if value is None or isinstance(value, bool) or value in ("", b""):
        return value
    if isinstance(value, Mapping):
        return {str(k): _blotted(v) for k, v in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_blotted(item) for item in cast("Iterable[Any]", value)]
    return REDACTED
