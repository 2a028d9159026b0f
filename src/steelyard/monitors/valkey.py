"""Valkey's own counters: commands, CPU of its threads, keys, memory, I/O threads.

https://valkey.io/commands/info
The client is imported inside: each study reads the declarations of all monitors, and this import takes 0.1 s.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from steelyard.declared_metrics import Cost, Declaration, DeclaredMetric
from steelyard.monitors import Sample, Target, Unavailable, described

_TIMEOUT_S = 5
_Info = Mapping[str, Any]  # fields of INFO
_SECTIONS = ("server", "clients", "memory", "stats", "cpu")
_NS_PER_US = 1_000
_NS_PER_S = 1_000_000_000

_MAIN = Cost("main_thread_cpu_us_per_txn", "CPU of the main thread", "CPU")
# by field of INFO
_FIELDS = described("""
total_commands_processed = server commands_total | Commands executed, all clients'
total_error_replies = server errors_total | Error replies
eventloop_cycles = event loop cycles_total | Cycles of the event loop
eventloop_duration_sum = event loop busy_ns_total | Time of its cycles without waiting for events
eventloop_duration_cmd_sum = event loop command_ns_total | Time in which it executed commands
keyspace_hits = keys hits_total | Lookups of keys that exist
keyspace_misses = keys misses_total | Lookups of keys that do not exist
evicted_keys = keys evicted_total | Keys evicted for lack of memory
expired_keys = keys expired_total | Keys that expired
used_memory = memory used_bytes | Memory allocated; its limit is maxmemory, where set | limit fills
connected_clients = clients connected | Connections, without the monitor's own | limit fills
io_threads_active = I/O threads active | Above 0 while I/O threads are in use
total_reads_processed = I/O reads_total | Reads from clients, by all threads
total_writes_processed = I/O writes_total | Writes to clients, by all threads
io_threaded_reads_processed = I/O threads reads_total | Reads by I/O threads
io_threaded_writes_processed = I/O threads writes_total | Writes by I/O threads
used_active_time_main_thread = main thread active_ns_total | Time with work, without that of polling for it
""")
_IO_THREAD = DeclaredMetric(
    "active_ns_total", "I/O thread *", "Time with work, without that of polling for it; by number"
)
_CPU = {
    "process": ("used_cpu_user", "used_cpu_sys"),
    "main thread": ("used_cpu_user_main_thread", "used_cpu_sys_main_thread"),
}
_LIMITS = {"used_memory": "maxmemory", "connected_clients": "maxclients"}
_NS_PER_UNIT = {
    "eventloop_duration_sum": _NS_PER_US,
    "eventloop_duration_cmd_sum": _NS_PER_US,
    "used_active_time_main_thread": _NS_PER_S,
}
_BY_THREAD = "used_active_time_io_thread_"


def _cpu(entity: str, *costs: Cost) -> Iterator[DeclaredMetric]:
    yield DeclaredMetric("cpu_ns_total", entity, "CPU time, user and system", costs)
    yield DeclaredMetric("system_ns_total", entity, "CPU time in the kernel")


class ValkeyMonitor:
    """One connection, one command per reading. missing: fields that this server does not have."""

    declares = Declaration(
        (*_FIELDS.values(), _IO_THREAD, *_cpu("process"), *_cpu("main thread", _MAIN)),
        text="From `INFO`. The main thread of the server answers it: its cost counts as the server's."
        " I/O threads poll while they are in use: their CPU time exceeds the time with work.",
    )

    def __init__(self) -> None:
        self._client: Any = None
        self.missing: tuple[str, ...] = ()

    def open(self, target: Target) -> None:
        """Connects; raises Unavailable."""
        if not target.dsn.startswith("unix://"):
            raise Unavailable("the subject has no Valkey address (use subject.kind = 'valkey')")
        from valkey import Valkey as Client

        # its types are not complete
        self._client = Client.from_url(  # pyright: ignore[reportUnknownMemberType]
            target.dsn, decode_responses=True, socket_timeout=_TIMEOUT_S
        )
        lacking = sorted(_FIELDS.keys() - self._shown().keys())
        self.missing = (f"counters that this server does not have: {', '.join(lacking)}",) if lacking else ()

    def read(self) -> Iterable[Sample]:
        """All metrics now; raises Unavailable when the server is gone."""
        if self._client is None:
            raise Unavailable("the connection is closed")
        shown = self._shown()
        return [*_fields(shown), *_threads(shown)]

    def close(self) -> None:
        """Closes the connection."""
        if self._client is not None:
            self._client.close()
        self._client = None

    def _shown(self) -> _Info:
        from valkey import ValkeyError

        try:
            return self._client.info(*_SECTIONS)
        except ValkeyError as error:
            raise Unavailable(f"Valkey does not answer: {error}") from error


def _fields(shown: _Info) -> Iterator[Sample]:
    for field, metric in _FIELDS.items():
        if field in shown:
            # the monitor is a client too
            own = 1 if field == "connected_clients" else 0
            value = (float(shown[field]) - own) * _NS_PER_UNIT.get(field, 1)
            yield Sample(metric.entity, metric.name, value)
            if limit := float(shown.get(_LIMITS.get(field, ""), 0)):
                yield Sample(metric.entity, f"{metric.name}_limit", limit)


def _threads(shown: _Info) -> Iterator[Sample]:
    for entity, (user, system) in _CPU.items():
        if user in shown:
            yield Sample(entity, "cpu_ns_total", _ns(shown[user]) + _ns(shown[system]))
            yield Sample(entity, "system_ns_total", _ns(shown[system]))
    for field, value in shown.items():
        if field.startswith(_BY_THREAD):
            yield Sample(f"I/O thread {field.removeprefix(_BY_THREAD)}", _IO_THREAD.name, _ns(value))


def _ns(seconds: Any) -> float:
    return float(seconds) * _NS_PER_S
