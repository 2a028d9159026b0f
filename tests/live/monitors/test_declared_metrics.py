"""Each metric is declared once, in its monitor; all that uses it follows from there."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from in_process import measured
from live_postgres import Server
from mariadb_server import mariadb

from small import SMALL
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement import Metric
from steelyard.analysis.metrics.run_metrics import compute_run_metrics
from steelyard.bundle.series.read import gauges as gauge_series
from steelyard.monitors import MONITORS, Sample, Target, declared, make

TINY = """
from steelyard.declared_metrics import Cost, Declaration, DeclaredMetric
from steelyard.monitors import Sample

RETRIES = Cost("retries_per_txn", "retries", "events")
LOST = Cost("lost_us_per_txn", "time lost", "CPU")


class TinyMonitor:
    declares = Declaration(
        (
            DeclaredMetric("retries_total", "tiny", "Retries", (RETRIES,)),
            DeclaredMetric("lost_ns_total", "tiny", "Time lost", (LOST,)),
            DeclaredMetric("heap_bytes", "tiny", "The heap", chart="tiny", limit=True),
            DeclaredMetric("gets_total", "row", "Acquisitions", latch="gets"),
        ),
        default_hz=7.0,
    )

    def __init__(self):
        self.readings = 0

    def open(self, target):
        pass

    def read(self):
        self.readings += 1
        yield Sample("tiny", "retries_total", 1e6 * self.readings)
        yield Sample("tiny", "lost_ns_total", 1e9 * self.readings)
        yield Sample("tiny", "heap_bytes", 4096)
        yield Sample("tiny", "heap_bytes_limit", 8192)
        yield Sample("row", "gets_total", 10 * self.readings)

    def close(self):
        pass
"""


def undeclared(name: str, samples: Iterable[Sample]) -> list[tuple[str, str]]:
    metrics = declared(name).metrics
    return [
        (entity, metric)
        for entity, metric, _ in samples
        if not any(m.covers(entity, metric) for m in metrics)
    ]


def read_twice(name: str, target: Target) -> Iterator[list[Sample]]:
    monitor = make(name)
    monitor.open(target)
    try:
        yield list(monitor.read())
        time.sleep(0.1)
        yield list(monitor.read())
    finally:
        monitor.close()


def assert_declared(name: str, target: Target) -> None:
    """What the monitor reads is declared, and what is declared as a counter does not fall."""
    before, after = read_twice(name, target)
    assert before
    assert not undeclared(name, [*before, *after])
    known = {(entity, metric): value for entity, metric, value in before}
    fallen = [
        (entity, metric)
        for entity, metric, value in after
        if metric.endswith("_total") and value < known.get((entity, metric), 0.0)
    ]
    assert not fallen


@pytest.mark.parametrize("name", ["host", "processes", "disturbance"])
def test_what_is_read_of_a_machine_is_declared(name: str) -> None:
    assert_declared(name, Target(pids={"server": os.getpid()}))


@pytest.mark.parametrize("name", ["postgres", "postgres-waits"])
def test_what_is_read_of_every_postgresql_is_declared(server: Server, name: str) -> None:
    with server.connect() as connection, connection.pipeline():
        # a session that is seen while it waits
        connection.execute("select pg_sleep(0.5)")
        connection.execute("select 1")
        assert_declared(name, server.target())


def test_what_is_read_of_mariadb_is_declared() -> None:
    with mariadb("--performance-schema=on", "--performance-schema-instrument=wait/%=on") as server:
        dsn = f"mysql://root@localhost/lab?socket={server.socket}"
        for name in ("mariadb", "mariadb-latches"):
            assert_declared(name, Target(dsn=dsn))


def test_a_monitor_is_one_file_and_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny_monitor.py").write_text(TINY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(MONITORS, "tiny", "tiny_monitor:TinyMonitor")
    text = SMALL.format(subject="null", blocks=2, measure_s=0.3) + "tiny = 20\n"
    bundle = measured(text, "tiny", tmp_path)
    # who reads the bundle need not have the monitor
    monkeypatch.delitem(MONITORS, "tiny")
    evidence = bundle.evidence()
    assert [m.unit for m in evidence.declared["tiny"]] == ["", "ns", "bytes", ""]
    run_metrics = compute_run_metrics(evidence)
    assert run_metrics.metric("retries_per_txn") == Metric(
        "retries_per_txn", "retries", "1/txn", "lower", 0.1, kind="events"
    )
    assert run_metrics.metric("lost_us_per_txn") == Metric(
        "lost_us_per_txn", "time lost", "us/txn", "lower", 0.1, kind="CPU"
    )
    assert {"retries_per_txn", "lost_us_per_txn"} <= {cost.metric for cost in judge(evidence).costs}
    keys = ("monitor", "metric", "unit", "limit")
    drawn = {tuple(row[key] for key in keys) for row in gauge_series(bundle)}
    assert ("tiny", "heap_bytes", "bytes", 8192.0) in drawn
    assert bundle.duckdb.execute("select distinct latch from latches where gets > 0").fetchall() == [("row",)]
