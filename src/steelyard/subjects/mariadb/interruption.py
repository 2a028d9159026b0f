"""Whether a MariaDB ran without interruption: by its uptime, which restarts at 0 with every start."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pymysql

from steelyard.host.processes.limits import TimedOut, within
from steelyard.subjects.mariadb.session import error_text

_ANSWER_S = 10.0
# the counter is in whole seconds, and both readings may be late
_TOLERANCE_S = 2.0


def continuity(
    connect: Callable[[], pymysql.Connection[Any]], ended: Callable[[], str] = str
) -> Callable[[], str]:
    """A function to call after the load: a sentence if the server ended or was restarted since, else ''.

    connect: opens a connection. ended: how its process ended, '' while it runs or where it is unknown.
    Raises pymysql.MySQLError, OSError, TimedOut when the server does not answer now.
    """

    def uptime_s() -> float:
        with closing(connect()) as connection, connection.cursor() as cursor:
            cursor.execute("show global status like 'Uptime'")
            row = cursor.fetchone()
            assert row is not None
            return float(row[1])

    then_s = within(_ANSWER_S, "reading the server's uptime", uptime_s)
    began_s = time.monotonic()

    def interruption() -> str:
        if how := ended():
            return how
        try:
            now_s = within(_ANSWER_S, "reading the server's uptime", uptime_s)
        except pymysql.MySQLError as error:
            return f"the server does not answer after the load: {error_text(error)}"
        except (OSError, TimedOut) as error:
            return f"the server does not answer after the load: {error}"
        if now_s + _TOLERANCE_S < then_s + time.monotonic() - began_s:
            return f"the server was restarted during the run: its uptime is {now_s:.0f} s"
        return ""

    return interruption
