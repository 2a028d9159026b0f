"""The address of a MariaDB or MySQL that is not ours: `mysql://user:${PASSWORD}@host:3306/database`.

What follows a question mark: socket=PATH in place of host and port; tls=disable (the default), require or
verify-full with ca_file=FILE. Whatever else it says is refused by name, as nobody would heed it.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from steelyard.study.errors import InputError, nearest

_KNOWN = ("socket", "tls", "ca_file")
_TLS = ("disable", "require", "verify-full")
_FORM = "mysql://user:${PASSWORD}@host:3306/database"


@dataclass(frozen=True)
class Address:
    """Where and as whom to connect. socket: in place of host and port."""

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
        """Whether nobody between client and server can listen."""
        return self.tls != "disable" or self.socket is not None

    @property
    def context(self) -> ssl.SSLContext | None:
        """For a client in Python; raises OSError when the file of the authority cannot be read."""
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
        if name not in _KNOWN:
            raise _refused(f"nobody heeds {name}{nearest(name, _KNOWN)}", f"leave {name} out")
    database, tls = unquote(parts.path.removeprefix("/")), given.get("tls", "disable")
    if not parts.username or not database:
        raise _refused(f"the address names no {'database' if parts.username else 'user'}", _FORM)
    if tls not in _TLS:
        raise _refused(f'no tls "{tls}"{nearest(tls, _TLS)}', f"one of: {', '.join(_TLS)}")
    if (tls == "verify-full") != ("ca_file" in given):
        raise _refused("tls=verify-full and ca_file=FILE belong together", "name both or neither")
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
