"""The lab's own sessions with a MariaDB that it started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymysql

from steelyard.subjects.servers.identity import FILE, Identity

# an option's defaults do not concern them
_OWN = ("set session max_statement_time = 0", "set session transaction read write")


def own_session(
    socket: Path, user: str, database: str = "", flags: int = 0, identity: Identity | None = None
) -> pymysql.Connection[Any]:
    """A session with the server that was started, and no other; identity: None: it is not checked.

    Raises SubjectFailed, pymysql.MySQLError.
    """
    connection = pymysql.connect(
        unix_socket=str(socket), user=user, database=database or None, connect_timeout=2, client_flag=flags
    )
    try:
        with connection.cursor() as cursor:
            for statement in _OWN:
                cursor.execute(statement)
            if identity is not None:
                cursor.execute(f"select @@datadir, load_file(concat(@@datadir, '{FILE}'))")
                data, nonce = cursor.fetchone() or ("", "")
                text = nonce.decode() if isinstance(nonce, bytes) else str(nonce)
                identity.check(socket, str(data), text)
    except BaseException:
        connection.close()
        raise
    return connection
