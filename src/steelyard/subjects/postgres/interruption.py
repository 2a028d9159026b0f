"""Whether a PostgreSQL ran through: the same postmaster, and no restart of its processes after a crash.

A backend that is killed has the postmaster end all others, recover and go on: clients reconnect, and the run
looks like a slow one.
"""

from __future__ import annotations

from collections.abc import Callable

import psycopg

from steelyard.host.processes.limits import TimedOut, within

# what the postmaster writes when it is ready, and before it starts its processes anew
READY = "ready to accept connections"
CRASHED = ("was terminated by signal", "reinitializing")

_ANSWER_S = 10.0
# The checkpointer's process is another one after a crash. Who may not see it sees that statistics began anew.
_LIFE = """
    select pg_postmaster_start_time()::text,
        coalesce((select pid::text from pg_stat_activity where backend_type = 'checkpointer'),
            (select stats_reset::text from pg_stat_bgwriter), '')"""


def life_of(dsn: str) -> tuple[str, str]:
    """Start time of the postmaster, and what changes when it recovers from a crash. Raises psycopg.Error."""
    with psycopg.connect(dsn, autocommit=True, connect_timeout=int(_ANSWER_S)) as connection:
        row = connection.execute(_LIFE).fetchone()
        assert row is not None
        return str(row[0]), str(row[1])


def continuity(dsn: str, ended: Callable[[], str] = str) -> Callable[[], str]:
    """To be called after a load: why the server is not the one of now, as a sentence; '' when it is.

    ended: how its process ended, '' while it runs or where it is not known. Raises psycopg.Error, TimedOut
    when the server does not answer now.
    """
    began, crashes = within(_ANSWER_S, "asking the server for its start time", lambda: life_of(dsn))

    def interruption() -> str:
        if how := ended():
            return how
        try:
            now = within(_ANSWER_S, "asking the server for its start time", lambda: life_of(dsn))
        except (psycopg.Error, TimedOut) as error:
            return f"the server does not answer after the load: {str(error).strip()}"
        if now[0] != began:
            return f"the server was restarted during the run: it began at {began}, and again at {now[0]}"
        if now[1] != crashes:
            return "the server crashed and recovered during the run: its processes were started anew"
        return ""

    return interruption
