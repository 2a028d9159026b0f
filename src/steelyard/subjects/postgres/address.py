"""The parameters of a libpq address that the load engine supports; others are refused by name.

The lab and its monitors connect by libpq, the load engine with its own client: a parameter that only libpq
supports would silently send the load on another path than the address says.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from psycopg import pq
from psycopg.conninfo import conninfo_to_dict

from steelyard.study.errors import InputError

_SUPPORTED = frozenset(
    # passfile: libpq looks up the password, which the lab passes to the engine
    {"host", "hostaddr", "port", "user", "password", "passfile", "dbname", "sslmode", "sslrootcert"}
)
_AS_THE_ENGINE_DOES = {  # values that match the engine's behaviour
    "channel_binding": ("prefer", "disable"),
    "gssencmode": ("prefer", "disable"),
    "sslcertmode": ("disable",),
}
_SESSION = "set it for every client in [subject.session]"
_CERTIFICATE = "the load engine does not support client certificates: use a password (pg_hba.conf)"
_INSTEAD = {
    "options": "set its settings for every client in [subject.session]",
    "application_name": _SESSION,
    "fallback_application_name": _SESSION,
    "client_encoding": "leave it out: the load engine sends UTF-8",
    "service": "write host, port, user and dbname of the service into the address",
    "sslcert": _CERTIFICATE,
    "sslkey": _CERTIFICATE,
    "sslpassword": _CERTIFICATE,
    "target_session_attrs": "name a single host",
    "load_balance_hosts": "name a single host",
}
_VERIFY = "use sslmode=verify-full with sslrootcert=FILE, or sslmode=require without sslrootcert"


def check(dsn: str) -> None:
    """Raises InputError for a parameter that the load engine does not support.

    Raises psycopg.ProgrammingError where the text is not an address.
    """
    given = _given(dsn)
    for name, (value, where) in given.items():
        if name not in _SUPPORTED and value not in _AS_THE_ENGINE_DOES.get(name, ()):
            hint = _INSTEAD.get(name, f"leave {name} out")
            raise InputError(f"{where}: the load engine does not support {name}", hint)
    for name in ("host", "hostaddr", "port"):
        value, where = given.get(name, ("", ""))
        if "," in value:
            raise InputError(f"{where}: {name} names several hosts", "name a single host")
    _check_tls({name: value for name, (value, _) in given.items()})


def _check_tls(given: Mapping[str, str]) -> None:
    mode, root = given.get("sslmode", "prefer"), given.get("sslrootcert", "")
    if mode == "verify-ca":
        raise InputError("subject.dsn: the load engine does not support sslmode=verify-ca", _VERIFY)
    if mode == "verify-full" and root in ("", "system"):
        raise InputError(
            "subject.dsn: sslmode=verify-full needs sslrootcert=FILE: the load engine has no built-in"
            " authorities",
            "name the file of the authority's certificate, in PEM",
        )
    if mode == "verify-full" and given.get("hostaddr"):
        raise InputError(
            "subject.dsn: hostaddr with sslmode=verify-full: the load engine verifies the host name that it"
            " connects to",
            "use host without hostaddr, or sslmode=require",
        )
    # with a root certificate libpq verifies in every mode, the engine in verify-full only
    if root and mode not in ("verify-full", "disable"):
        raise InputError(f"subject.dsn: sslrootcert with sslmode={mode} would not be verified", _VERIFY)


def _given(dsn: str) -> dict[str, tuple[str, str]]:
    """Value of each parameter that differs from libpq's own, and its place: address or environment."""
    found: dict[str, tuple[str, str]] = {}
    written = conninfo_to_dict(dsn)
    for option in pq.Conninfo.get_defaults():
        name, compiled = option.keyword.decode(), (option.compiled or b"").decode()
        if name in written:
            value, where = str(written[name]), "subject.dsn"
        elif option.envvar and option.envvar.decode() in os.environ:
            value, where = os.environ[option.envvar.decode()], f"{option.envvar.decode()} in the environment"
        else:
            continue
        if value not in ("", compiled):
            found[name] = value, where
    return found
