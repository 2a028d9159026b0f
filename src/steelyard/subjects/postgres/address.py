"""What of a libpq address the load engine can honour; whatever else it says is refused by name.

The lab and its monitors connect by libpq, the load engine by itself: a parameter that only libpq
heeds would have the load go another way than the address says, and nobody would know.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from psycopg import pq
from psycopg.conninfo import conninfo_to_dict

from steelyard.study.errors import InputError

_HONOURED = frozenset(
    # passfile: libpq looks the password up, and hands it on
    {"host", "hostaddr", "port", "user", "password", "passfile", "dbname", "sslmode", "sslrootcert"}
)
_AS_THE_ENGINE_DOES = {  # parameters whose value says what the engine does anyway
    "channel_binding": ("prefer", "disable"),
    "gssencmode": ("prefer", "disable"),
    "sslcertmode": ("disable",),
}
_SESSION = "set it for every client in [subject.session]"
_CERTIFICATE = "the load engine shows no certificate of its own: let it in by password (pg_hba.conf)"
_INSTEAD = {
    "options": "set what it sets for every client in [subject.session]",
    "application_name": _SESSION,
    "fallback_application_name": _SESSION,
    "client_encoding": _SESSION,
    "service": "write host, port, user and dbname of the service into the address",
    "sslcert": _CERTIFICATE,
    "sslkey": _CERTIFICATE,
    "sslpassword": _CERTIFICATE,
    "target_session_attrs": "name the one host that is meant",
    "load_balance_hosts": "name the one host that is meant",
}
_VERIFY = "use sslmode=verify-full with sslrootcert=FILE, or sslmode=require without sslrootcert"


def check(dsn: str) -> None:
    """Refuses what the load engine would not honour.

    Raises InputError; psycopg.ProgrammingError where the text is no address.
    """
    given = _given(dsn)
    for name, (value, where) in given.items():
        if name not in _HONOURED and value not in _AS_THE_ENGINE_DOES.get(name, ()):
            hint = _INSTEAD.get(name, f"leave {name} out")
            raise InputError(f"{where}: the load engine does not honour {name}", hint)
    for name in ("host", "hostaddr", "port"):
        value, where = given.get(name, ("", ""))
        if "," in value:
            raise InputError(f"{where}: {name} names several hosts", "name the one host that is meant")
    _check_tls({name: value for name, (value, _) in given.items()})


def _check_tls(given: Mapping[str, str]) -> None:
    mode, root = given.get("sslmode", "prefer"), given.get("sslrootcert", "")
    if mode == "verify-ca":
        raise InputError("subject.dsn: the load engine knows no sslmode=verify-ca", _VERIFY)
    if mode == "verify-full" and root in ("", "system"):
        raise InputError(
            "subject.dsn: sslmode=verify-full needs sslrootcert=FILE: the load engine knows no other"
            " authorities",
            "name the file of the authority's certificate, in PEM",
        )
    if mode == "verify-full" and given.get("hostaddr"):
        raise InputError(
            "subject.dsn: hostaddr with sslmode=verify-full: the load engine verifies the name that it"
            " connects to",
            "write host alone, or sslmode=require",
        )
    # with a root certificate libpq verifies in every mode, the engine in verify-full only
    if root and mode not in ("verify-full", "disable"):
        raise InputError(f"subject.dsn: sslrootcert with sslmode={mode} would not be verified", _VERIFY)


def _given(dsn: str) -> dict[str, tuple[str, str]]:
    """Value of each parameter that differs from libpq's own, and where it stands: address or environment."""
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
