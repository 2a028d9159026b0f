"""Which counters give which costs of a transaction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.analysis.results import Better, Metric

SERVER_CPU = Metric("server_cpu_us_per_txn", "server CPU", "us/txn", "lower")


@dataclass(frozen=True)
class Source:
    """Where a metric per transaction comes from: a counter. scale: to the metric's unit.

    absent: its value in runs without that counter, where others have it.
    """

    metric: Metric
    monitor: str
    entity: str
    counter: str
    scale: float = 1.0
    absent: float = np.nan


# Floors: a smaller difference is never a reason, however surely it was measured. Each is about a
# tenth of a microsecond of somebody's time; differences of time must also matter beside the
# server's CPU (why.py).
_TIME_US = 0.1  # one system call entered and left: no smaller thing can be left undone
_SWITCHES = 0.1  # a switch costs 1 to 4 us (Li, Ding & Shen 2007): one transaction in ten has it
_WAL_BYTES = 24.0  # the header of a WAL record: less is not a record more, but housekeeping's
_STORAGE_BYTES = 82.0  # a page of 8 KiB in a hundred transactions


def time_metric(name: str, title: str, better: Better = "lower") -> Metric:
    """Of time a transaction: a difference below its floor is never a reason."""
    return Metric(name, title, "us/txn", better, _TIME_US)


US = 1e-3  # from ns

SOURCES = (
    Source(SERVER_CPU, "processes", "server", "cpu_ns_total", US),
    Source(
        time_metric("server_user_us_per_txn", "server CPU in user mode"),
        "processes",
        "server",
        "user_cpu_ns_total",
        US,
    ),
    Source(
        time_metric("server_system_us_per_txn", "server CPU in system mode"),
        "processes",
        "server",
        "system_cpu_ns_total",
        US,
    ),
    Source(
        time_metric("engine_cpu_us_per_txn", "load engine CPU", better="neither"),
        "processes",
        "engine",
        "cpu_ns_total",
        US,
    ),
    # a pooler that is not there costs nothing
    Source(
        time_metric("front_cpu_us_per_txn", "CPU of the pooler"),
        "processes",
        "front",
        "cpu_ns_total",
        US,
        absent=0.0,
    ),
    Source(
        Metric(
            "server_switches_voluntary_per_txn",
            "voluntary switches of the server",
            "1/txn",
            "lower",
            _SWITCHES,
        ),
        "processes",
        "server",
        "voluntary_switches_total",
    ),
    Source(
        Metric(
            "server_switches_involuntary_per_txn",
            "involuntary switches of the server",
            "1/txn",
            "lower",
            _SWITCHES,
        ),
        "processes",
        "server",
        "involuntary_switches_total",
    ),
    Source(
        time_metric("server_runqueue_wait_us_per_txn", "run-queue wait of the server"),
        "processes",
        "server",
        "runqueue_wait_ns_total",
        US,
    ),
    Source(
        Metric("wal_bytes_per_txn", "WAL", "B/txn", "lower", _WAL_BYTES), "postgres", "wal", "bytes_total"
    ),
    Source(
        Metric("redo_bytes_per_txn", "redo log", "B/txn", "lower", _WAL_BYTES),
        "mariadb",
        "redo",
        "bytes_total",
    ),
    Source(
        time_metric("row_lock_wait_us_per_txn", "wait for row locks"),
        "mariadb",
        "row locks",
        "wait_ns_total",
        US,
    ),
    Source(
        Metric("read_bytes_per_txn", "bytes read from storage", "B/txn", "lower", _STORAGE_BYTES),
        "processes",
        "server",
        "read_bytes_total",
    ),
    Source(
        Metric("written_bytes_per_txn", "bytes written to storage", "B/txn", "lower", _STORAGE_BYTES),
        "processes",
        "server",
        "written_bytes_total",
    ),
)
