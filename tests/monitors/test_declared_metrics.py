"""Each metric is declared once, in its monitor; all that uses it follows from there."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from live_postgres import Server

from mariadb_server import mariadb
from small import SMALL
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement.results import Metric
from steelyard.analysis.metrics.costs import sources
from steelyard.analysis.metrics.run_metrics import compute_run_metrics
from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.gauges import gauges as gauge_series
from steelyard.bundle.writer import BundleWriter
from steelyard.declared_metrics import Cost, DeclaredMetric, as_json, built_in, parsed
from steelyard.host.processes.signals import Interrupts
from steelyard.monitors import MONITORS, Sample, Target, declared, make
from steelyard.study.errors import InputError
from steelyard.study.load_study import parse_study
from steelyard.study.plan import options
from steelyard.workflow.measure import start
from steelyard.workflow.prepare import PreparedStudy
from steelyard.workflow.site import Here

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


class Quiet:
    """Nobody watches the study."""

    def run_started(self, label: str, block: int, slot: int) -> None: ...

    def tick(self, tps: float) -> None: ...

    def turned(self, share: float) -> None: ...

    def run_ended(self, label: str, block: int, tps: float, status: str) -> None: ...


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


@pytest.mark.server
@pytest.mark.parametrize("name", ["postgres", "postgres-waits"])
def test_what_is_read_of_every_postgresql_is_declared(server: Server, name: str) -> None:
    with server.connect() as connection, connection.pipeline():
        # a session that is seen while it waits
        connection.execute("select pg_sleep(0.5)")
        connection.execute("select 1")
        assert_declared(name, server.target())


@pytest.mark.server
def test_what_is_read_of_mariadb_is_declared() -> None:
    with mariadb("--performance-schema=on", "--performance-schema-instrument=wait/%=on") as server:
        dsn = f"mysql://root@localhost/lab?socket={server.socket}"
        for name in ("mariadb", "mariadb-latches"):
            assert_declared(name, Target(dsn=dsn))


@pytest.mark.parametrize("name", MONITORS)
def test_every_declaration_is_whole(name: str) -> None:
    metrics = declared(name).metrics
    assert declared(name).default_hz > 0
    assert len({(m.entity, m.name) for m in metrics}) == len(metrics)
    for metric in metrics:
        assert (metric.kind == "counter") == metric.name.endswith("_total")
        assert metric.meaning and metric.meaning[0].isupper() and not metric.meaning.endswith(".")
        # the unit stands last, where it is found
        assert metric.unit or not {"ns", "bytes", "us", "ms"} & set(metric.name.split("_"))
    assert parsed({name: as_json(metrics)}) == {name: metrics}


def test_a_cost_has_one_name_and_the_unit_that_its_name_says() -> None:
    found = [source.metric for source in sources(built_in())]
    assert len({metric.name for metric in found}) == len(found)
    words = {"us/txn": "_us_per_txn", "B/txn": "_bytes_per_txn", "1/txn": "_per_txn"}
    assert [m.name for m in found if not m.name.endswith(words[m.unit])] == []


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("entries", {"costs": (Cost("x_per_txn", "x", "events"),)}),
        ("entries", {"latch": "gets"}),
        ("entries_total", {"limit": True}),
        ("entries_total", {"chart": "x"}),
        ("entries_limit", {}),
    ],
)
def test_a_declaration_that_contradicts_itself_is_refused(name: str, more: dict) -> None:
    with pytest.raises(ValueError, match="entries"):
        DeclaredMetric(name, "x", "Entries", **more)


def test_rates_are_those_that_the_monitors_declare() -> None:
    assert {name: declared(name).default_hz for name in MONITORS} == {
        **dict.fromkeys(MONITORS, 1.0),
        "postgres-waits": 10.0,
        "disturbance": 0.2,
    }


def test_a_monitor_is_one_file_and_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny_monitor.py").write_text(TINY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(MONITORS, "tiny", "tiny_monitor:TinyMonitor")
    text = SMALL.format(subject="null", blocks=3, measure_s=0.3) + "tiny = 20\n"
    start(Here(PreparedStudy.of(text, "tiny")), tmp_path / "b", Quiet(), Interrupts())
    # who reads the bundle need not have the monitor
    monkeypatch.delitem(MONITORS, "tiny")

    bundle = Bundle(tmp_path / "b")
    evidence = bundle.evidence()
    assert [m.unit for m in evidence.declared["tiny"]] == ["", "ns", "bytes", ""]
    run_metrics = compute_run_metrics(evidence)
    assert run_metrics.metric("retries_per_txn") == Metric(
        "retries_per_txn", "retries", "1/txn", "lower", 0.1
    )
    assert run_metrics.metric("lost_us_per_txn") == Metric(
        "lost_us_per_txn", "time lost", "us/txn", "lower", 0.1
    )
    assert {"retries_per_txn", "lost_us_per_txn"} <= {cost.metric for cost in judge(evidence).costs}
    gauges = gauge_series(bundle)
    drawn = set(zip(*(gauges[key] for key in ("monitor", "metric", "unit", "limit")), strict=True))
    assert ("tiny", "heap_bytes", "bytes", 8192.0) in drawn
    assert bundle.duckdb.execute("select distinct latch from latches where gets > 0").fetchall() == [("row",)]


STUDY = SMALL.format(subject="null", blocks=2, measure_s=0.3)


def with_environment(folder: Path, environment: dict) -> Bundle:
    found = options(parse_study(STUDY, "small"))
    return Bundle(BundleWriter.create(folder / "b", STUDY, found, found[0].label, environment).path)


def test_a_bundle_written_before_has_the_built_in_declarations(tmp_path: Path) -> None:
    assert with_environment(tmp_path, {}).declared == built_in()


def test_what_a_bundle_says_of_its_monitors_counts(tmp_path: Path) -> None:
    mine = DeclaredMetric("threads", "server", "Threads as they were counted then")
    bundle = with_environment(tmp_path, {"metrics": {"processes": as_json([mine])}})
    assert bundle.declared == {**built_in(), "processes": (mine,)}


@pytest.mark.parametrize(
    "damage",
    [
        {"entity": "x", "meaning": "no name"},
        {"name": "x", "entity": 7, "meaning": ""},
        {"name": "x_limit"},
        7,
    ],
)
def test_damaged_declarations_are_named(tmp_path: Path, damage: object) -> None:
    with pytest.raises(InputError, match=r"environment\.json: metrics\.processes\.0"):
        with_environment(tmp_path, {"metrics": {"processes": [damage]}})
