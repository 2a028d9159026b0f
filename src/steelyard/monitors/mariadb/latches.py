"""MariaDB's latches, by performance_schema: gets of every mutex and rwlock, and their time.

Its instruments must be on from the server's start and cost 7 to 30 % of the CPU: use them in a separate
diagnostic study. Gets are all acquisitions, and the time of a get counts with and without a wait
(https://mariadb.com/docs/server/reference/system-tables/performance-schema); the server counts neither
misses nor sleeps.
"""

from collections.abc import Iterable
from typing import Any

import pymysql

from steelyard.declared_metrics import Declaration, DeclaredMetric
from steelyard.monitors import Sample, Target, Unavailable
from steelyard.monitors.mariadb.counters import connect, message_of

_READ = (
    "select event_name, count_star, sum_timer_wait"
    " from performance_schema.events_waits_summary_global_by_event_name"
    " where event_name like 'wait/synch/%' and event_name not like 'wait/synch/cond/%' and count_star > 0"
)
_PREFIX = "wait/synch/"
_PS_PER_NS = 1000
_METRICS = (
    DeclaredMetric("gets_total", "*", "Acquisitions of this mutex or rwlock", latch="gets"),
    DeclaredMetric("get_ns_total", "*", "Time of all acquisitions, with or without a wait", latch="get_ns"),
)


class MariaDBLatchesMonitor:
    """One connection, one query per reading; the entity is the latch, without `wait/synch/`."""

    declares = Declaration(
        _METRICS,
        text="If performance_schema is on. Growth over each measure phase fills the table `latches`.",
    )

    missing = (
        "misses and sleeps: performance_schema does not count them, and its time of a get includes gets"
        " without a wait; its instruments cost 7 to 30 % of the CPU, so compare options in a study without"
        " them",
    )

    def __init__(self) -> None:
        self._connection: pymysql.Connection[Any] | None = None

    def open(self, target: Target) -> None:
        """Connects; raises Unavailable, also when performance_schema or its instruments are off."""
        if not target.dsn.startswith("mysql://"):
            raise Unavailable("the subject has no MariaDB address (use subject.kind = 'mariadb')")
        try:
            self._connection = connect(target.dsn)
            found = list(self.read())
        except pymysql.MySQLError as error:
            self.close()
            raise Unavailable(f"MariaDB: {message_of(error)}") from error
        if not found:
            self.close()
            raise Unavailable("performance_schema is off (subject.settings: performance_schema = true)")

    def read(self) -> Iterable[Sample]:
        """gets_total and get_ns_total of every latch; raises Unavailable when the server is gone."""
        if self._connection is None:
            raise Unavailable("the connection is closed")
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(_READ)
                rows = cursor.fetchall()
        except pymysql.MySQLError as error:
            raise Unavailable(f"the server stopped answering: {message_of(error)}") from error
        samples: list[Sample] = []
        for name, gets, picoseconds in rows:
            latch = str(name).removeprefix(_PREFIX)
            samples.append(Sample(latch, "gets_total", float(gets)))
            samples.append(Sample(latch, "get_ns_total", float(picoseconds) / _PS_PER_NS))
        return samples

    def close(self) -> None:
        """Closes the connection."""
        if self._connection is not None and self._connection.open:
            self._connection.close()
        self._connection = None
