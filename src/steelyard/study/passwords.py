"""Secrets in a study file: names and addresses that hold one, and ${NAME} in its place.

A study is copied into every bundle, and bundles are shared: a secret comes from the environment.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote_plus

from pydantic import BaseModel

from steelyard.errors import InputError

_Pairs = Iterator[tuple[str, str]]
VARIABLE = re.compile(r"\$\{(\w+)\}")
# a text of these alone, or an empty one, holds no secret itself
_VARIABLES = re.compile(r"(?:\$\{\w+\})*")

# names of secrets; part of a regular expression
WORD = (
    r"pass(?:word|wd|phrase|code)|pwd|secret|token|credential|bearer"
    r"|(?:api|access|private|encryption|master)[_-]?key"
)
_SECRET_NAME = re.compile(rf"(?:{WORD})|pass$|_key$|conninfo|^authorization$", re.IGNORECASE)
# settings of PostgreSQL that run a shell command, which may hold a secret
_COMMANDS = re.compile(r"(?:^ssl_passphrase|^archive|^restore|_cleanup|^recovery_end)_command$")
# names that match but hold no secret: those of files, of classes, and of the working directory of a shell too
_NO_SECRETS = """
    password_encryption spec_store_bypass md5_password_warnings ssl_passphrase_command_supports_reload
    passfile max_password_errors max_seeks_for_key default_password_lifetime innodb_default_encryption_key_id
    ssl_key sslpasswordcallback accesstokencallbackclass passwordcharacterencoding pwd oldpwd
"""
_HARMLESS = frozenset(_NO_SECRETS.split())

# a secret word may name a switch or a counter: default_password_lifetime, innodb_ft_min_token_size
_SWITCH = re.compile(r"on|off|yes|no|true|false|\d{1,3}", re.IGNORECASE)
# values of these names may be without a secret: a connection by passfile, archiving by cp
_JUDGED_BY_VALUE = re.compile(r"conninfo|(?<!passphrase)_command$", re.IGNORECASE)

_PARAMETER = re.compile(r"[?&;#]")
# a key within the value of another key: options=-c x.password=..., host=h;password=...
_WITHIN = re.compile(rf"((?:{WORD})\w*)\s*=\s*[\"'\\]*([^\s\"'\\;]*)", re.IGNORECASE)
_ORACLE = re.compile(r"jdbc:oracle:\w+:[^/@]*/?([^@]*)@")
# of libpq, or the rest without a key; a quote or an escape may lack its end
_SETTING = re.compile(r"([^=]*)(?:=\s*(?:'((?:\\.?|[^'\\])*)'?|((?:\\.?|[^\s\\])*))|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\(.?)", re.DOTALL)
_PORT = re.compile(r"\d{1,5}(?=[/?,])")


def is_secret(name: str) -> bool:
    """Whether the value of this name is a secret."""
    lower = name.lower()
    return lower not in _HARMLESS and bool(_SECRET_NAME.search(name) or _COMMANDS.search(lower))


def password_written(address: str) -> bool:
    """Whether an address (a URL, or libpq's `key = value`) holds a password other than as ${NAME}.

    Also one that the server's own parser would not find: its author means a password.
    """
    return not all(map(_VARIABLES.fullmatch, _passwords(address.strip())))


def secret_written(name: str, value: object) -> bool:
    """Whether a setting, property or variable holds a secret other than as ${NAME}.

    By its name; or its value holds a password as an address does, or as `password=...`.
    """
    text = str(value)
    if is_secret(name) and not _JUDGED_BY_VALUE.search(name):
        return not (_VARIABLES.fullmatch(text) or _SWITCH.fullmatch(text))
    return ("=" in text or "://" in text) and password_written(text)


def variables(study: BaseModel) -> set[str]:
    """The NAME of each ${NAME} in a study, in any key: their values are secrets."""
    return set(VARIABLE.findall(study.model_dump_json()))


def parts(address: str) -> Iterator[str]:
    """The password and the parameters' values of an address that is a secret as a whole.

    Also their pieces: parsers take the end of a password that is not encoded for a host.
    """
    for key, value in _keyed(address):
        if key:
            yield from (value, unquote_plus(value), *re.split("[@/:]", value))


def expand(address: str) -> str:
    """address with each ${NAME} from the environment, quoted as it needs. Raises InputError."""

    def value(match: re.Match[str]) -> str:
        found = from_environment(match[1], "subject.dsn")
        if "://" in address:
            return quote(found, safe="")
        # libpq takes a backslash before any character, within quotes and without
        return found if match[0] == address.strip() else re.sub(r"([\\'\s])", r"\\\1", found)

    return VARIABLE.sub(value, address)


def from_environment(name: str, at: str) -> str:
    """The value of an environment variable in a study. at: its key there. Raises InputError."""
    if (found := in_environment(name)) is None:
        hint = f"export {name}=..., or {name}_FILE=PATH of a file that holds it"
        raise InputError(f"{at}: the environment variable {name} is not set", hint)
    return found


def in_environment(name: str) -> str | None:
    """The value of a variable, or of the file that NAME_FILE names, without its last line end; None: neither.

    Raises InputError for a file that cannot be read.
    """
    if name in os.environ or not (file := os.environ.get(f"{name}_FILE")):
        return os.environ.get(name)
    try:
        return Path(file).read_text(encoding="utf-8").removesuffix("\n")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError(f"{name}_FILE: {file}: {why}", f"name a file that holds {name}") from None


def _passwords(address: str) -> Iterator[str]:
    """The texts at the place of a password, and under every name of a secret."""
    for key, value in _keyed(address):
        if is_secret(key):
            yield value
        else:
            within = _WITHIN.finditer(unquote_plus(value))
            yield from (match[2] for match in within if is_secret(match[1]))


def _keyed(address: str) -> _Pairs:
    if oracle := _ORACLE.match(address):
        # user/password@//host, or @//host alone
        yield "password", oracle[1]
    elif "://" in address.partition("=")[0] or "=" not in address:
        yield "password", _user_password(address.split("://", maxsplit=1)[-1])
    else:
        yield from _settings(address)
        return
    path, *parameters = _PARAMETER.split(address)
    yield "", path
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        yield unquote_plus(key).strip(), value


def _user_password(rest: str) -> str:
    """The password of user:password@host/database, in which @ and / may be unencoded."""
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    _, _, password = authority.rpartition("@")[0].partition(":")
    if password or "@" in authority:
        return password
    before, _, after = re.sub(r"\[[^\]@]*\]", "", rest).rpartition("@")[0].partition(":")
    return "" if "@" in before or _PORT.match(after) else after


def _settings(text: str) -> _Pairs:
    """Keys and values of libpq's form: `key = value`, quoted by ', escaped by a backslash."""
    for found in _SETTING.finditer(text):
        if "=" in found[0]:
            # words before the key belong to no value
            yield (found[1].split() or [""])[-1], _ESCAPE.sub(r"\1", found[2] or found[3] or "")
