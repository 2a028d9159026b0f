"""A metric is summarised in one way, wherever the page, the terminal or the JSON show it."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import builders
import pytest
from histograms import histogram
from rich.console import Console

from declared import METRICS
from steelyard import quantities as fmt
from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.read import Series
from steelyard.bundle.writer import BundleWriter
from steelyard.report.charts import figures
from steelyard.report.export import judgement_json, judgement_schema, to_markdown
from steelyard.report.page.html import render
from steelyard.report.presented import Presented
from steelyard.report.terminal.verdict import print_verdict
from steelyard.study.load_study import parse_study
from steelyard.study.plan import options

SECOND = 10**9
STUDY = """
name = "uneven"
question = "Which?"
subject.kind = "null"
workload.kind = "lookup"
factors.f = { scope = "client", setting = "handle", levels = { A = "none", B = "named" } }
plan = { clients = [2], blocks = 4, measure_s = 2 }
"""
# transactions a second by block: their median is far from their geometric mean; B was lost in block 4
PER_S = {"A": (1000, 1000, 8000, 90_000), "B": (2000, 500, 500)}


def run(option: str, block: int, per_s: int) -> dict[str, Mapping[str, Sequence[object]]]:
    names = ("transaction", "lookup")
    number = block * 2 - (option == "A")
    seconds = [(name, second) for name in names for second in (0, 1)]
    return {
        "runs": {
            "option": [option], "block": [block], "slot": [number], "attempt": [1], "status": ["done"],
            "cause": [""], "started_at": ["2026-01-01T00:00:00+00:00"], "seconds": [2.0],
        },
        "phases": {
            "point": [0], "clients": [2], "phase": ["measure"], "start_ns": [0], "end_ns": [2 * SECOND],
        },
        "throughput": {
            "point": [0] * 4, "second": [second for _, second in seconds],
            "statement": [name for name, _ in seconds], "count": [per_s] * 4, "errors": [0] * 4,
        },
        "latency": {
            "point": [0], "statement": ["transaction"], "count": [100],
            "histogram": [histogram({100_000 // per_s: 96, 900_000 // per_s: 4})],
        },
    }  # fmt: skip


@pytest.fixture(scope="module")
def uneven(tmp_path_factory: pytest.TempPathFactory) -> builders.Case:
    study = parse_study(STUDY, "uneven")
    writer = BundleWriter.create(tmp_path_factory.mktemp("one") / "b", STUDY, options(study), "A", METRICS)
    for number, (option, block, per_s) in enumerate(
        ((option, i + 1, per_s) for option, rates in PER_S.items() for i, per_s in enumerate(rates)), start=1
    ):
        writer.write_run(number, {"f": option}, run(option, block, per_s))
    bundle = Bundle(writer.path)
    return builders.of_bundle(bundle)


def estimate(case: builders.Case, metric: str, option: str) -> float:
    (found,) = [e for e in case[0].estimates if (e.metric, e.option, e.clients) == (metric, option, None)]
    return found.value


@pytest.mark.parametrize("option", ["A", "B"])
def test_the_tables_of_statements_and_latencies_agree_with_that_of_options(
    uneven: builders.Case, option: str
) -> None:
    tables = {figure.name: figure.table for figure in figures(Presented(*uneven))}
    (per_s,) = [row[2] for row in tables["statements"].rows if row[0] == option]
    assert per_s == fmt.significant(estimate(uneven, "throughput_per_s", option))
    (latency,) = [row for row in tables["latency"].rows if row[0] == option]
    cells = dict(zip(tables["latency"].head, latency, strict=True))
    for quantile in ("p50", "p95", "p99"):
        assert cells[quantile] == fmt.quantity(estimate(uneven, f"{quantile}_ns", option), "ns")


def test_the_estimate_is_the_geometric_mean_of_whole_blocks(uneven: builders.Case) -> None:
    assert estimate(uneven, "throughput_per_s", "A") == pytest.approx(2000)


def test_every_table_says_how_it_summarises(uneven: builders.Case) -> None:
    captions = {figure.name: figure.caption for figure in figures(Presented(*uneven))}
    assert "geometric mean over runs" in captions["statements"]
    assert "Geometric mean over runs of the runs' own percentiles" in captions["latency"]
    assert "Geometric means over 3 blocks" in render(Presented(*uneven))


def printed(case: builders.Case) -> str:
    out = io.StringIO()
    print_verdict(Presented(case[0], Series(), case[2]), Console(file=out, width=80))
    return out.getvalue()


def test_figures_over_several_points_are_called_what_they_are() -> None:
    ramp = builders.scaling()
    presented = Presented(*ramp)
    page, text, lines = render(presented), printed(ramp), to_markdown(presented)
    found = json.loads(json.dumps(judgement_json(presented)))
    assert found.keys() == judgement_schema()["properties"].keys()
    assert "geometric mean over 4 to 64 clients [95\u00a0% interval]" in page
    assert "geometric mean over 4 to 64 clients</small>" in page  # of the tiles
    assert "mean/s, 4–64 clients" in text and "geometric means over 4 to 64 clients" in " ".join(text.split())
    assert "geometric mean over 4 to 64 clients [95 % interval]" in lines
    assert found["all_points"] == "geometric mean over 4 to 64 clients"
    assert "TPS" not in page.partition('<section id="method">')[0].partition("<main>")[2] + text + lines


def test_figures_of_one_point_are_no_mean_over_points() -> None:
    two = builders.two()
    assert "TPS" in printed(two) and "8 clients" not in printed(two)
    assert judgement_json(Presented(two[0], Series(), two[2]))["all_points"] is None


def test_an_option_without_a_load_point_has_no_level_there() -> None:
    judgement, *_ = builders.scaling()
    metric, (option, *_) = judgement.metrics[0].name, judgement.options
    lost = [e for e in judgement.estimates if (e.option, e.clients) != (option, 64)]
    found = replace(judgement, estimates=tuple(lost))
    assert found.level(metric, option, 64) is None
    # no option was measured at this number
    assert found.level(metric, option, 7) == found.level(metric, option) is not None


def test_two_times_of_different_size_have_a_unit_each() -> None:
    judgement, series, about = builders.two()
    slow = tuple(replace(e, value=e.value * 1000) if e.metric == "p99_ns" else e for e in judgement.estimates)
    text = printed((replace(judgement, estimates=slow), series, about))
    assert "161 µs/402 ms" in text and "402,000" not in text
