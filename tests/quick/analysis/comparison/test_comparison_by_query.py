"""Query by query: the geometric mean, and how many of many queries may seem to differ by chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from evidence import Truth, changed, evidence_of, measures_of, study_of
from steelyard.analysis.comparison.compare import PairTests
from steelyard.analysis.judgement import QueryRow
from steelyard.analysis.load.statements import by_query
from steelyard.analysis.metrics.particular import GEOMEAN, PER_HOUR, time_of
from steelyard.analysis.metrics.run_metrics import RunMetrics, compute_run_metrics
from steelyard.study.workloads.queries import QueriesWorkload

BLOCKS = 5


def of_queries(times_ns: Mapping[str, Sequence[float]], round_s: float = 1.0) -> Mapping[str, np.ndarray]:
    """Run metrics of one option with these times of its queries, one per block; NaN: not executed."""
    found = evidence_of(study_of({"f": "AB"}), {"A": Truth()}, blocks=len(times_ns["transaction"]))
    rows = [(run, name, ns) for name, of_runs in times_ns.items() for run, ns in enumerate(of_runs, start=1)]
    run, statement, mean_ns = (list(column) for column in zip(*rows, strict=True))
    latency = {"run": run, "point": [0] * len(rows), "statement": statement, "mean_ns": mean_ns}
    kept = np.isfinite(mean_ns)
    ones = np.ones(len(found.view("points")["run"]))
    asked = changed(
        found,
        study=found.study.model_copy(update={"workload": QueriesWorkload(kind="queries")}),
        latency={name: np.asarray(values)[kept] for name, values in latency.items()},
        points={**found.view("points"), "transactions": ones, "seconds": round_s * ones},
    )
    return compute_run_metrics(asked).values


def test_the_geometric_mean_is_that_of_tpc_h_clause_5_4_1():
    # powers of two around 8 ms: their exponents have the mean 3
    times = {f"q{n:02}": [2.0**n * 1e6] for n in range(1, 6)} | {"transaction": [62e6]}
    found = of_queries(times, 62e-3)
    assert found[GEOMEAN.name] == pytest.approx(8.0)
    assert found["round_ns"] == 62e6
    assert found[PER_HOUR.name] == pytest.approx(5 * 3600 / 62e-3)


def test_a_run_that_lacks_a_query_has_no_geometric_mean():
    geomean = of_queries({"q01": [1e6, 1e6], "q02": [9e9, np.nan], "transaction": [9e9, 1e6]})[GEOMEAN.name]
    assert np.isfinite(geomean[0]) and np.isnan(geomean[1])


def measured(ratios: list[float], seed: int, noise: float = 0.02) -> RunMetrics:
    """Two options; ratios of B to A by query."""
    chance = np.random.default_rng(seed)
    columns: dict[str, np.ndarray] = {}
    for n, ratio in enumerate(ratios):
        table = {
            label: np.exp(chance.normal(np.log(level), noise, BLOCKS)).tolist()
            for label, level in (("A", 1e7 * (n + 1)), ("B", 1e7 * (n + 1) * ratio))
        }
        columns[time_of(f"q{n:02}").name] = measures_of(table, time_of(f"q{n:02}")).values[
            time_of(f"q{n:02}").name
        ]
    empty = measures_of({"A": [1.0] * BLOCKS, "B": [1.0] * BLOCKS})
    return RunMetrics(
        metrics=(), run=empty.run, option=empty.option, block=empty.block, slot=empty.slot, point=empty.point,
        clients=empty.clients, values=columns, queries=tuple(f"q{n:02}" for n in range(len(ratios))),
    )  # fmt: skip


AB = evidence_of(study_of({"f": "AB"}), {"A": Truth(), "B": Truth()}, blocks=1)


def judged(run_metrics: RunMetrics) -> list[QueryRow]:
    return [row for row in by_query(AB, run_metrics) if row.comparison]


def test_queries_that_differ_are_found_and_their_direction_is_told():
    rows = judged(measured([0.5, 2.0, *[1.0] * 20], seed=1))
    outcomes = {row.query: row.comparison.outcome for row in rows if row.comparison}
    assert outcomes["q00"] == "better" and outcomes["q01"] == "worse"


def test_an_interval_leaves_out_1_exactly_where_a_difference_was_found():
    for seed in range(6):
        for row in judged(measured([0.93, 0.95, 1.06, *[1.0] * 19], seed)):
            assert row.comparison is not None
            outside = not row.comparison.low <= 1 <= row.comparison.high
            assert outside == (row.comparison.p_value <= 0.05)


def test_among_equal_queries_studies_find_none_where_uncorrected_comparisons_would():
    corrected = uncorrected = 0
    studies = 12
    for seed in range(studies):
        run_metrics = measured([1.0] * 22, seed)
        corrected += any(row.comparison and row.comparison.p_value <= 0.05 for row in judged(run_metrics))
        alone = [
            PairTests(run_metrics, time_of(q), ("A", "B"), 0.03, 0).against("A")[0]
            for q in run_metrics.queries
        ]
        uncorrected += any(c.p_value <= 0.05 for c in alone)
    # more than 3 of 12 studies would err in one of 500; uncorrected 1 - 0.95^22 = 68 %
    assert corrected <= 3 and uncorrected > studies / 2
