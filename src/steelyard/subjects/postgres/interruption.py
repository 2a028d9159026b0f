"""Whether a PostgreSQL ran without interruption: the same postmaster, and no recovery after a crash.

When a backend is killed, the postmaster ends all others, recovers and continues: clients reconnect, and the
run only looks slow.
"""

from __future__ import annotations

from collections.abc import Callable

import psycopg

from steelyard.host.processes.limits import TimedOut, within

# the postmaster's log lines when it is ready, and before it restarts its processes
READY = "ready to accept connections"
CRASHED = ("was terminated by signal", "reinitializing")

_ANSWER_S = 10.0
# The checkpointer has another pid after a crash. Where it is hidden, a reset of the statistics shows a crash.
_LIFE = """
    select pg_postmaster_start_time()::text,
        coalesce((select pid::text from pg_stat_activity where backend_type = 'checkpointer'),
            (select stats_reset::text from pg_stat_bgwriter), '')"""


def life_of(dsn: str) -> tuple[str, str]:
    """Start time of the postmaster, and a value that changes with a crash. Raises psycopg.Error."""
    with psycopg.connect(dsn, autocommit=True, connect_timeout=int(_ANSWER_S)) as connection:
        row = connection.execute(_LIFE).fetchone()
        assert row is not None
        return str(row[0]), str(row[1])


def continuity(dsn: str, ended: Callable[[], str] = str) -> Callable[[], str]:
    """A function to call after the load: a sentence if the server ended, restarted or crashed since, else ''.

    ended: how its process ended, '' while it runs or where it is unknown. Raises psycopg.Error, TimedOut
    when the server does not answer now.
    """
    began, crashes = within(_ANSWER_S, "reading the server's start time", lambda: life_of(dsn))

    def interruption() -> str:
        if how := ended():
            return how
        try:
            now = within(_ANSWER_S, "reading the server's start time", lambda: life_of(dsn))
        except (psycopg.Error, TimedOut) as error:
            return f"the server does not answer after the load: {str(error).strip()}"
        if now[0] != began:
            return f"the server was restarted during the run: it started at {began}, and again at {now[0]}"
        if now[1] != crashes:
            return "the server crashed and recovered during the run: its processes were restarted"
        return ""

    return interruption
