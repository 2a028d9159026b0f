"""What a transaction costs: each kind of cost, and the counter that it comes from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.analysis.judgement.results import Better, Metric

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
_US = 1e-3  # to them from ns


def time_cost(name: str, title: str, better: Better = "lower") -> Metric:
    """Time a transaction, of which less than a tenth of a microsecond is no reason."""
    return Metric(name, title, "us/txn", better, _TIME_US)


def _switches(kind: str) -> Metric:
    title = f"{kind} switches of the server"
    return Metric(f"server_switches_{kind}_per_txn", title, "1/txn", "lower", _SWITCHES)


SOURCES = (
    Source(SERVER_CPU, "processes", "server", "cpu_ns_total", _US),
    Source(
        time_cost("server_user_us_per_txn", "server CPU in user mode"),
        "processes",
        "server",
        "user_cpu_ns_total",
        _US,
    ),
    Source(
        time_cost("server_system_us_per_txn", "server CPU in system mode"),
        "processes",
        "server",
        "system_cpu_ns_total",
        _US,
    ),
    Source(
        time_cost("engine_cpu_us_per_txn", "load engine CPU", better="neither"),
        "processes",
        "engine",
        "cpu_ns_total",
        _US,
    ),
    # a pooler that is not there costs nothing
    Source(
        time_cost("front_cpu_us_per_txn", "CPU of the pooler"),
        "processes",
        "front",
        "cpu_ns_total",
        _US,
        absent=0.0,
    ),
    Source(_switches("voluntary"), "processes", "server", "voluntary_switches_total"),
    Source(_switches("involuntary"), "processes", "server", "involuntary_switches_total"),
    Source(
        time_cost("server_runqueue_wait_us_per_txn", "run-queue wait of the server"),
        "processes",
        "server",
        "runqueue_wait_ns_total",
        _US,
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
        time_cost("row_lock_wait_us_per_txn", "wait for row locks"),
        "mariadb",
        "row locks",
        "wait_ns_total",
        _US,
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
