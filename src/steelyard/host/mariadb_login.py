"""Addresses of MariaDB or MySQL, and logging in: no password leaves this machine readable for others."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql
from pymysql.constants import CR, ER

from steelyard.errors import InputError, nearest

_KNOWN = ("socket", "tls", "ca_file")
_TLS = ("disable", "require", "verify-full")
_CERTIFICATE = re.compile(r"(ssl|tls|client)?[-_]?(cert(ificate)?|key)[-_]?(file|path)?", re.IGNORECASE)
_FORM = "mysql://user:${PASSWORD}@host:3306/database"
# what pymysql implements, and what of it sends the password as it is
_SAFE = ("", "mysql_native_password", "caching_sha2_password", "sha256_password", "client_ed25519")
_READABLE = ("mysql_clear_password", "dialog")
# too many connections: of the server, of the account (both numbers)
_NO_ROOM = (ER.CON_COUNT_ERROR, ER.TOO_MANY_USER_CONNECTIONS, ER.USER_LIMIT_REACHED)


@dataclass(frozen=True)
class Address:
    """The server, database and user to connect with. socket: instead of host and port."""

    host: str
    port: int
    user: str
    password: str | None
    database: str
    socket: str | None
    tls: str
    ca_file: str | None

    @property
    def private(self) -> bool:
        """Whether the connection cannot be read by others: TLS or a Unix socket."""
        return self.tls != "disable" or self.socket is not None

    @property
    def context(self) -> ssl.SSLContext | None:
        """The TLS context for a client in Python; raises OSError when ca_file cannot be read."""
        if self.tls == "disable":
            return None
        context = ssl.create_default_context(cafile=self.ca_file)
        if self.tls == "require":
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context


def parse(address: str) -> Address:
    """The parts of an address. Raises InputError, which never quotes a password."""
    try:
        parts = urlsplit(address)
        port = parts.port or 3306
    except ValueError:
        raise InputError("not an address", _FORM) from None
    if parts.scheme != "mysql":
        raise InputError("an address of MariaDB begins with mysql://", _FORM)
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in given:
        if _CERTIFICATE.fullmatch(name):
            hint = "use an account with a password"
            raise InputError(f"{name}: client certificates are not supported", hint)
        if name not in _KNOWN:
            raise InputError(f'unknown parameter "{name}"{nearest(name, _KNOWN)}', f"leave {name} out")
    database, tls = unquote(parts.path.removeprefix("/")), given.get("tls", "disable")
    if not parts.username or not database:
        raise InputError(f"the address names no {'database' if parts.username else 'user'}", _FORM)
    if tls not in _TLS:
        raise InputError(f'unknown tls "{tls}"{nearest(tls, _TLS)}', f"one of: {', '.join(_TLS)}")
    if (tls == "verify-full") != ("ca_file" in given):
        raise InputError("tls=verify-full and ca_file=FILE must be used together", "give both or neither")
    if not parts.hostname and "socket" not in given:
        raise InputError("the address names no host", _FORM)
    return Address(
        parts.hostname or "localhost",
        port,
        unquote(parts.username),
        unquote(parts.password) if parts.password else None,
        database,
        given.get("socket"),
        tls,
        given.get("ca_file"),
    )


def log_in(at: Address, limit_s: float = 10, answer_s: float | None = None) -> pymysql.Connection[Any]:
    """A connection in which each statement commits. limit_s: to connect; answer_s: of silence.

    Raises OSError when ca_file cannot be read; pymysql.MySQLError, also for a method that is not at hand.
    """
    try:
        return pymysql.connect(
            host=at.host,
            port=at.port,
            unix_socket=at.socket,
            user=at.user,
            password=at.password or "",
            database=at.database,
            ssl=at.context,
            connect_timeout=limit_s,
            read_timeout=answer_s,
            auth_plugin_map=_Methods(private=at.private),
            autocommit=True,
        )
    except RuntimeError as error:
        # it names the method and the package
        raise _refused(f"{error}: pip install 'pymysql[rsa,ed25519]'") from None
    except ValueError:
        raise _refused("the server's RSA key is not one to encrypt a password by") from None


def remedy(error: Exception) -> str:
    """The hint for a connection that failed."""
    number = next(iter(error.args), None)
    if number == CR.CR_AUTH_PLUGIN_ERR:
        return "another way: an account that logs in by mysql_native_password or caching_sha2_password"
    if number in _NO_ROOM:
        return "the session limit of the server or account is reached: raise it, or end other sessions"
    if number == CR.CR_CONN_HOST_ERROR:
        return "check the address and that the server runs"
    return "check the address, the user and the password"


def error_text(error: Exception) -> str:
    """The server's message with its number, which pymysql gives as arguments; others as they are."""
    if not isinstance(error, pymysql.MySQLError):
        return str(error)
    return " ".join(str(part) for part in error.args)


class _Methods(dict[str, Any]):
    """For pymysql: no class for a method that it implements and may use, else one that refuses by name.

    Without this pymysql sends the password in clear text to any server that requests it.
    """

    def get(self, name: str | bytes, default: object = None) -> Any:
        method = name.decode(errors="replace") if isinstance(name, bytes) else name
        if method in _SAFE or (method in _READABLE and self["private"]):
            return default
        why = (
            "would expose it, because the connection is not encrypted (add tls=require to the address)"
            if method in _READABLE
            else "is not supported"
        )

        class Refusal:
            def __init__(self, connection: object) -> None:
                """Called by pymysql with the connection."""

            def authenticate(self, packet: object) -> None:
                """Raises OperationalError."""
                raise _refused(f"the server requests the password by {method}, which {why}")

        return Refusal


def _refused(text: str) -> pymysql.OperationalError:
    return pymysql.OperationalError(CR.CR_AUTH_PLUGIN_ERR, text)
