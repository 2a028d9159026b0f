"""The address of a running MariaDB or MySQL: `mysql://user:${PASSWORD}@host:3306/database`.

Parameters after a question mark: socket=PATH instead of host and port; tls=disable (the default), require or
verify-full with ca_file=FILE. Unknown parameters are refused by name, because they would have no effect.
"""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from steelyard.study.errors import InputError, nearest

_KNOWN = ("socket", "tls", "ca_file")
_TLS = ("disable", "require", "verify-full")
_CERTIFICATE = re.compile(r"(ssl|tls|client)?[-_]?(cert(ificate)?|key)[-_]?(file|path)?", re.IGNORECASE)
_FORM = "mysql://user:${PASSWORD}@host:3306/database"


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


def parse(dsn: str) -> Address:
    """The parts of an address. Raises InputError, which never quotes a password."""
    try:
        parts = urlsplit(dsn)
        port = parts.port or 3306
    except ValueError:
        raise _refused("not an address", _FORM) from None
    if parts.scheme != "mysql":
        raise _refused("an address of MariaDB begins with mysql://", _FORM)
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in given:
        if _CERTIFICATE.fullmatch(name):
            raise _refused(f"{name}: client certificates are not supported", "use an account with a password")
        if name not in _KNOWN:
            raise _refused(f'unknown parameter "{name}"{nearest(name, _KNOWN)}', f"leave {name} out")
    database, tls = unquote(parts.path.removeprefix("/")), given.get("tls", "disable")
    if not parts.username or not database:
        raise _refused(f"the address names no {'database' if parts.username else 'user'}", _FORM)
    if tls not in _TLS:
        raise _refused(f'unknown tls "{tls}"{nearest(tls, _TLS)}', f"one of: {', '.join(_TLS)}")
    if (tls == "verify-full") != ("ca_file" in given):
        raise _refused("tls=verify-full and ca_file=FILE must be used together", "give both or neither")
    if not parts.hostname and "socket" not in given:
        raise _refused("the address names no host", _FORM)
    password = unquote(parts.password) if parts.password else None
    return Address(
        parts.hostname or "localhost",
        port,
        unquote(parts.username),
        password,
        database,
        given.get("socket"),
        tls,
        given.get("ca_file"),
    )


def _refused(cause: str, hint: str) -> InputError:
    return InputError(f"subject.dsn: {cause}", hint, ("subject", "dsn"))
