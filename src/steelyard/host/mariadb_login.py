"""Logging in to MariaDB or MySQL: no password leaves this machine in a form that others can read."""

from __future__ import annotations

from typing import Any

import pymysql
from pymysql.constants import CR, ER

# what pymysql implements, and what of it sends the password as it is
_SAFE = ("", "mysql_native_password", "caching_sha2_password", "sha256_password", "client_ed25519")
_READABLE = ("mysql_clear_password", "dialog")
# too many connections: of the server, of the account (both numbers)
_NO_ROOM = (ER.CON_COUNT_ERROR, ER.TOO_MANY_USER_CONNECTIONS, ER.USER_LIMIT_REACHED)


def log_in(*, private: bool, **where: Any) -> pymysql.Connection[Any]:
    """A connection in which each statement commits. private: it has TLS or is a Unix socket.

    where: as for pymysql.connect. Raises pymysql.MySQLError, also for a method of log-in that is not at hand.
    """
    try:
        return pymysql.connect(auth_plugin_map=_Methods(private=private), autocommit=True, **where)
    except RuntimeError as error:
        # it names the method and the package
        raise _refused(f"{error}: pip install 'pymysql[rsa,ed25519]'") from None
    except ValueError:
        raise _refused("the server's RSA key is not one to encrypt a password by") from None


def remedy(error: Exception) -> str:
    """The hint for a connection that failed."""
    if error.args[:1] == (CR.CR_AUTH_PLUGIN_ERR,):
        return "another way: an account that logs in by mysql_native_password or caching_sha2_password"
    if error.args[:1] and error.args[0] in _NO_ROOM:
        return "the session limit of the server or account is reached: raise it, or end other sessions"
    if error.args[:1] == (CR.CR_CONN_HOST_ERROR,):
        return "check the address and that the server runs"
    return "check the address, the user and the password"


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
