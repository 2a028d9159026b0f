"""Logging in to MariaDB or MySQL: no password leaves this machine in a form that others can read."""

from __future__ import annotations

from typing import Any

import pymysql
from pymysql.constants import CR

# the first two send the password as it is, the third a hash that is broken in no time
_READABLE = ("mysql_clear_password", "dialog", "mysql_old_password")


def login_methods(*, private: bool) -> dict[str, type[Any]]:
    """The value for pymysql's `auth_plugin_map`. private: the connection has TLS or is a Unix socket.

    Without this pymysql sends the password in clear text to any server that requests it.
    """
    return {} if private else {name: _refusal(name) for name in _READABLE}


def _refusal(name: str) -> type[Any]:
    class Refusal:
        def __init__(self, connection: object) -> None:
            """Called by pymysql with the connection."""

        def authenticate(self, packet: object) -> None:
            """Raises OperationalError."""
            raise pymysql.OperationalError(
                CR.CR_AUTH_PLUGIN_ERR,
                f"the server requests the password by {name}, which would expose it, because the"
                " connection is not encrypted (add tls=require to the address)",
            )

    return Refusal
