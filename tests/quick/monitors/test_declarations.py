"""Declarations of metrics: whole, without contradiction, and kept in each bundle."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter

from declared import DECLARED
from small import SMALL
from steelyard.analysis.metrics.measured import sources
from steelyard.bundle.reader import Bundle
from steelyard.bundle.writer import BundleWriter
from steelyard.declared_metrics import Cost, Declared, DeclaredMetric, as_json
from steelyard.errors import InputError
from steelyard.monitors import MONITORS, declared
from steelyard.study.load_study import parse_study
from steelyard.study.plan import options

STUDY = SMALL.format(subject="null", blocks=2, measure_s=0.3)


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
    of_another_version = [{**metric, "from_another_version": 1} for metric in as_json(metrics)]
    assert (
        TypeAdapter(Declared).validate_python({name: as_json(metrics)})
        == TypeAdapter(Declared).validate_python({name: of_another_version})
        == {name: metrics}
    )


def test_a_cost_has_one_name_and_the_unit_that_its_name_says() -> None:
    found = [source.metric for source in sources(DECLARED)]
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


def with_environment(folder: Path, environment: dict) -> Bundle:
    found = options(parse_study(STUDY, "small"))
    return Bundle(BundleWriter.create(folder / "b", STUDY, found, found[0].label, environment).path)


def test_what_a_bundle_says_of_its_monitors_counts(tmp_path: Path) -> None:
    mine = DeclaredMetric("threads", "server", "Threads as they were counted then")
    bundle = with_environment(tmp_path, {"metrics": {"processes": as_json([mine])}})
    assert bundle.declared == {"processes": (mine,)}


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
