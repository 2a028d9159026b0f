"""Each named quantity has one value and one outcome on a page: verdict, cards, tables, charts, JSON."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import builders
import pytest
from histograms import histogram

from declared import METRICS
from steelyard.bundle.reader import Bundle
from steelyard.bundle.writer import BundleWriter
from steelyard.report.charts import figures
from steelyard.report.charts.figure import Figure
from steelyard.report.export import judgement_json
from steelyard.report.page.html import tiles
from steelyard.report.presented import Presented
from steelyard.report.presented.words import MARKS, WORDS
from steelyard.report.table import Table
from steelyard.report.tables.options import full_table, short_table
from steelyard.study.load_study import parse_study
from steelyard.study.plan import options

SECOND = 10**9
STUDY = """
name = "pages"
question = "Which?"
subject.kind = "postgres"
workload.kind = "lookup"
factors.f = { scope = "client", setting = "handle", levels = { A = "none", B = "named", C = "unnamed" } }
plan = { clients = [1, 8], blocks = 6, measure_s = 2 }
"""
# of the seventh block only A is whole: its means over all blocks are far from those of whole blocks
FACTOR = {1: 1.0, 2: 1.4, 3: 0.8, 4: 1.1, 5: 0.9, 6: 1.2, 7: 6.0}
SPEED = {"A": 1.0, "B": 1.6, "C": 0.97}
KEYS = ("throughput_per_s", "server_cpu_us_per_txn", "p50_ns", "p99_ns")

Key = tuple[str, str, str]  # quantity, option, `over 1 to 8 clients` or a number of clients


def run(option: str, block: int, number: int) -> dict[str, Mapping[str, Sequence[object]]]:
    """Two load points of 2 s; a transaction takes 300 us of the server's CPU under A."""
    jitter = 1 + 0.02 * ((block * 7 + ord(option) * 3) % 5 - 2)
    speed = SPEED[option] * FACTOR[block] * jitter
    per_s = [round(1000 * speed), round(3000 * speed)]
    cpu = [round(600_000_000 * (0.3 + jitter)), round(1_500_000_000 * (0.3 + jitter))]
    names = ("transaction", "lookup")
    rows = [(point, second, name) for point in (0, 1) for second in (0, 1) for name in names]
    at = [0, 2 * SECOND, 2 * SECOND + 1000, 4 * SECOND + 1000]
    grown = [0, cpu[0], cpu[0], cpu[0] + cpu[1]]
    return {
        "runs": {
            "option": [option], "block": [block], "slot": [number], "attempt": [1], "status": ["done"],
            "cause": [""], "started_at": ["2026-01-01T00:00:00+00:00"], "seconds": [4.0],
        },
        "phases": {
            "point": [0, 1], "clients": [1, 8], "phase": ["measure"] * 2, "start_ns": [at[0], at[2]],
            "end_ns": [at[1], at[3]],
        },
        "throughput": {
            "point": [point for point, *_ in rows], "second": [second for _, second, _ in rows],
            "statement": [name for *_, name in rows], "count": [per_s[point] for point, *_ in rows],
            "errors": [0] * len(rows),
        },
        "latency": {
            "point": [0, 1], "statement": ["transaction"] * 2, "count": [100] * 2,
            "histogram": [
                histogram({round(300 * (point + 1) / speed): 96, round(900 * (point + 1) / speed): 4})
                for point in (0, 1)
            ],
        },
        "samples": {
            "t_ns": at, "monitor": ["processes"] * 4, "entity": ["server"] * 4,
            "metric": ["cpu_ns_total"] * 4, "value": [float(ns) for ns in grown],
        },
    }  # fmt: skip


@pytest.fixture(scope="module")
def presented(tmp_path_factory: pytest.TempPathFactory) -> Presented:
    study = parse_study(STUDY, "pages")
    writer = BundleWriter.create(tmp_path_factory.mktemp("one") / "b", STUDY, options(study), "A", METRICS)
    runs = [(option, block) for block in FACTOR for option in SPEED if block < 7 or option == "A"]
    for number, (option, block) in enumerate(runs, start=1):
        writer.write_run(number, {"f": option}, run(option, block, number))
    return Presented(*builders.of_bundle(Bundle(writer.path)))


def number(text: str) -> float:
    """The first number of a cell in ns, 1/s or as it is: `2,000/s [...]`, `1.20 ms`."""
    found = re.match(r"([−\d.,]+)([kM]?)\s*(ns|µs|ms|s\b)?", text)
    assert found, text
    scale = {"k": 1e3, "M": 1e6, "": 1.0}[found[2]]
    scale *= {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}.get(found[3] or "", 1.0)
    return float(found[1].replace(",", "").replace("−", "-")) * scale


def in_base(metric: str, value: float) -> float:
    """A value of the analysis in the units of `number`."""
    return value * 1000 if metric.endswith("us_per_txn") else value


def rows_of(table: Table) -> Iterator[dict[str, str]]:
    return (dict(zip(table.head, row, strict=True)) for row in table.rows)


def values(presented: Presented) -> dict[Key, dict[str, float]]:
    """Value by quantity, and within it by the place that shows it."""
    found: dict[Key, dict[str, float]] = defaultdict(dict)
    data: dict[str, Any] = json.loads(json.dumps(judgement_json(presented)))["judgement"]
    for e in data["estimates"]:
        found[e["metric"], e["option"], str(e["clients"] or "over")]["json"] = in_base(
            e["metric"], e["value"]
        )
    for place, table in (("table", full_table(presented)), ("terminal", short_table(presented))):
        for row in rows_of(table):
            for head, cell in row.items():
                if metric := _metric(head):
                    found[metric, row["option"], "over"][place] = number(cell)
    for scaling in data["scaling"]:
        for point in scaling["points"]:
            key = "throughput_per_s", scaling["option"], str(point["clients"])
            found[key]["scaling model"] = point["throughput_per_s"]
        most = re.search(r"The measured maximum is ([\d,]+)/s, at (\d+) client", scaling["sentence"])
        if most:
            found["throughput_per_s", scaling["option"], most[2]]["sentence"] = number(most[1])
    drawn = {figure.name: figure for figure in figures(presented)}
    _of_charts(drawn, found)
    for reason in presented.judgement.verdict.reasons:
        told = re.match(
            r"(.*?) over 1 to 8 clients: (.*?)(?: per transaction)? under (\w), (.*?) under (\w)", reason
        )
        if told and (metric := _metric(told[1])):
            found[metric, told[3], "over"]["reason"] = number(told[2])
            found[metric, told[5], "over"]["reason"] = number(told[4])
    saved = re.search(
        r"against A over 1 to 8 clients \(.*? from (.*?) to (.*?);", presented.judgement.verdict.reasons[0]
    )
    assert saved
    found["server_cpu_us_per_txn", "A", "over"]["reason"] = number(saved[1])
    return found


def _of_charts(drawn: Mapping[str, Figure], found: dict[Key, dict[str, float]]) -> None:
    for row in rows_of(drawn["scaling"].table):
        for head, cell in row.items():
            if metric := _metric(head):
                found[metric, row["option"], row["clients"]]["scaling"] = number(cell)
    for panel in drawn["scaling"].panels:
        metric = _metric(panel.title)
        for drawn_row in panel.spec["data"]["values"] if metric else ():
            key = metric, drawn_row["option"], str(drawn_row["clients"])
            found[key]["scaling chart"] = number(drawn_row[f"{metric}_text"])
    for row in rows_of(drawn["latency"].table):
        for name in ("p50", "p99"):
            found[f"{name}_ns", row["option"], row["clients"]]["latency"] = number(row[name])
    for row in rows_of(drawn["statements"].table):
        found["throughput_per_s", row["option"], "over"]["statements"] = number(row["per second"])
    for row in rows_of(drawn["costs"].table):
        if metric := _metric(row["cost per transaction"]):
            found[metric, row["option"], "over"]["costs"] = number(row["under the option"])
            found[metric, "A", "over"]["costs"] = number(row["under the baseline"])


def _metric(head: str) -> str | None:
    """The metric that a heading names; None for what is not one of the four."""
    title = head.lower().replace(" [95 % interval]", "")
    names = {
        "throughput": "throughput_per_s", "geometric mean over 1 to 8 clients": "throughput_per_s",
        "mean/s, 1–8 clients": "throughput_per_s", "server cpu per transaction": "server_cpu_us_per_txn",
        "server cpu per transaction, 1 to 8 clients": "server_cpu_us_per_txn",
        "cpu/txn": "server_cpu_us_per_txn", "server cpu": "server_cpu_us_per_txn",
        "p50, 1 to 8 clients": "p50_ns", "p99, 1 to 8 clients": "p99_ns",
        "latency p50": "p50_ns", "latency p99": "p99_ns",
    }  # fmt: skip
    return names.get(title)


def test_a_named_quantity_has_one_value_on_the_page(presented: Presented) -> None:
    found = values(presented)
    for key, places in found.items():
        shown = list(places.values())
        assert shown == pytest.approx([shown[0]] * len(shown), rel=0.006), (key, places)
    for metric in KEYS:
        assert len(found[metric, "B", "over"]) > 1, metric
        assert len(found[metric, "B", "8"]) > 1, metric
    # whole blocks alone count, wherever A is shown
    assert found["throughput_per_s", "A", "8"]["scaling model"] < 4000


def _outcome(word: str) -> str:
    (outcome,) = [name for name, shown in WORDS.items() if shown == word]
    return outcome


def outcomes(presented: Presented) -> dict[Key, set[str]]:
    found: dict[Key, set[str]] = defaultdict(set)
    judgement = presented.judgement
    for c in judgement.comparisons:
        found[c.metric, c.option, str(c.clients or "over")].add(c.outcome)
    drawn = {figure.name: figure for figure in figures(presented)}
    for row in rows_of(drawn["ratios"].table):
        metric = _metric(row["metric"])
        assert metric
        found[metric, row["option"], "over"].add(_outcome(row["outcome"]))
    for row in presented.ranking:
        if row.comparison:
            (outcome,) = [name for name, mark in MARKS.items() if mark == row.mark]
            found["throughput_per_s", row.label, "over"].add(outcome)
    for tile in tiles(presented):
        metric = _metric(tile["title"])
        assert metric
        found[metric, str(presented.leading), "over"].add(tile["outcome"])
    words = {"saves": "better", "costs": "worse", "no difference is shown": "inconclusive"}
    (cpu,) = [outcome for word, outcome in words.items() if f" {word}" in judgement.verdict.reasons[0]]
    found["server_cpu_us_per_txn", str(presented.leading), "over"].add(cpu)
    return found


def test_a_named_quantity_has_one_outcome_on_the_page(presented: Presented) -> None:
    assert presented.judgement.verdict.winner == "B"
    for key, found in outcomes(presented).items():
        assert len(found) == 1, (key, found)


def test_a_change_is_the_same_in_per_cent_and_as_a_ratio(presented: Presented) -> None:
    """Sentence, reason, card and table: none gives 33.3 % where another gives 32.0 %."""
    (ratio,) = [c.ratio for c in presented.comparisons["server_cpu_us_per_txn"] if c.option == "B"]
    change = f"{100 * (1 - ratio):.3g} %"
    (tile,) = [tile for tile in tiles(presented) if tile["title"].startswith("Server CPU")]
    assert number(tile["value"]) == pytest.approx(100 * (ratio - 1), abs=0.06)
    assert f"{change} less server CPU per transaction" in presented.judgement.verdict.consequence
    assert any(f"(−{change}, from" in reason for reason in presented.judgement.verdict.reasons)


def test_figures_over_load_points_say_so(presented: Presented) -> None:
    verdict = presented.judgement.verdict
    assert verdict.interval.endswith("%, geometric mean over 1 to 8 clients, 6 blocks.")
    assert all(" over 1 to 8 clients" in reason for reason in verdict.reasons if " under " in reason)
    assert {"p50, 1 to 8 clients", "p99, 1 to 8 clients"} <= set(full_table(presented).head)
