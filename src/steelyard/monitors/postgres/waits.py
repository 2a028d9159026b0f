"""Wait events of PostgreSQL's clients, sampled from its activity view ten times per second."""

from collections import Counter
from collections.abc import Iterable

import psycopg

from steelyard.declared_metrics import Declaration
from steelyard.monitors import Sample, Target, Unavailable, described
from steelyard.monitors.postgres.connection import APPLICATION_NAME, OneConnection, answering

RUNNING = "CPU:running"  # no wait event: on the CPU, waiting for it, or in a spin loop

# The function behind pg_stat_activity, without the view's joins.
# pgbouncer with application_name_add_host appends " - HOST:PORT" to the name.
_QUERY = f"""
    select wait_event_type, wait_event, count(*)
    from pg_stat_get_activity(null)
    where backend_type = 'client backend' and state = 'active'
      and application_name not like '{APPLICATION_NAME}%'
    group by 1, 2""".encode()
# the sessions that others wait for, and that wait for none
_HOLDERS = b"""
    select format('process %s (%s, %s)', h.pid, h.application_name, h.state), count(*)
    from pg_stat_activity w cross join unnest(pg_blocking_pids(w.pid)) held join pg_stat_activity h
        on h.pid = held and h.wait_event_type is distinct from 'Lock'
    where w.wait_event_type = 'Lock' group by 1"""
# pg_blocking_pids stops the lock manager: it is asked for once in so many readings
_READINGS = 10

_ALLOWED = b"""
    select coalesce(bool_or(pg_has_role(oid, 'member')), false)
        or (select rolsuper from pg_roles where rolname = current_user),
        current_setting('track_activities') = 'on'
    from pg_roles where rolname = 'pg_read_all_stats'"""


_METRICS = described("""
*:* samples_total | Samples in which a session was in this wait event, by TYPE:EVENT
process * held_total | Samples in which a session waited for a lock of this one, once per second
sessions active_samples_total | Samples of active sessions, waiting or not
sessions readings_total | Readings of the activity view
""")


class PostgresWaitsMonitor(OneConnection):
    """Counts, for each wait event, in how many samples an active session was in it.

    Time waited is samples x the interval between readings; shares need no interval.
    """

    # waits are short: they are sampled, not counted, and need more readings than a counter
    declares = Declaration(
        (*_METRICS.values(),),
        default_hz=10.0,
        text="If sleeps for latches are recorded individually ([how](../howto/kernel-probes.md)), those are"
        " compared instead of the sampled type `LWLock`.",
    )

    def __init__(self) -> None:
        self._samples = Counter[str]()
        self._held = Counter[str]()
        self._readings = 0

    def open(self, target: Target) -> None:
        """Connects; raises Unavailable when other users' sessions are hidden."""
        connection = self._connect(target)
        with answering():
            allowed, tracked = connection.read(_ALLOWED).fetchone() or (False, False)
        if not allowed or not tracked:
            raise Unavailable(
                "track_activities is off (turn it on)"
                if allowed
                else "this user cannot see the waits of other sessions (grant pg_monitor to it)"
            )
        connection.leave_statements_alone()

    def read(self) -> Iterable[Sample]:
        """Totals since open; none when the server did not answer in time; raises Unavailable."""
        connection = self._open
        with answering():
            try:
                rows = connection.read(_QUERY).fetchall()
                locked = sum(count for kind, _, count in rows if kind == "Lock")
                if self._readings % _READINGS == 0 and 2 * locked > sum(count for *_, count in rows):
                    self._held.update(dict(connection.read(_HOLDERS).fetchall()))
            except psycopg.errors.QueryCanceled:
                return []
        self._readings += 1
        for kind, event, count in rows:
            self._samples[f"{kind}:{event}" if event else RUNNING] += count
        samples = [Sample(entity, "samples_total", n) for entity, n in self._samples.items()]
        samples += [Sample(holder, "held_total", n) for holder, n in self._held.items()]
        return [
            *samples,
            Sample("sessions", "active_samples_total", self._samples.total()),
            Sample("sessions", "readings_total", self._readings),
        ]
