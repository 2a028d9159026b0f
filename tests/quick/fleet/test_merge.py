"""The results of several hosts as one: percentiles are those of all samples together."""

from __future__ import annotations

import json
import random

import numpy as np
from histograms import histogram
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import _core
from steelyard.fleet.connection import SAME, Offset
from steelyard.fleet.engine import host_tables
from steelyard.fleet.merge import Part, merged
from steelyard.fleet.on_host import HostResult
from steelyard.lab.engines.result import ENGINES, EngineResult, Facts

EMPTY = {
    "t_ns": [], "monitor": [], "entity": [], "metric": [], "value": [],
}  # fmt: skip


def part(host: str, values: list[int], clock: Offset = SAME, seconds: int = 1) -> Part:
    """A host's result with transactions of these latencies (ns, below 2048)."""
    counts = {value: values.count(value) for value in set(values)}
    tables = {
        "phases": {
            "point": [0], "clients": [2], "phase": ["measure"],
            "start_ns": [clock.to_host(1000)], "end_ns": [clock.to_host(2000)],
        },
        "throughput": {
            "point": [0] * seconds, "second": list(range(seconds)), "statement": ["transaction"] * seconds,
            "count": [len(values)] * seconds, "errors": [1] * seconds,
        },
        "latency": {
            "point": [0], "statement": ["transaction"], "count": [len(values)],
            "histogram": [histogram(counts)],
        },
        "clients": {
            "point": [0, 0], "client": [int(host[1:]), int(host[1:]) + 3], "transactions": [len(values), 0],
            "errors": [1, 0], "mean_ns": [1.0, 0.0], "p99_ns": [1.0, 0.0],
        },
        "transactions": {
            "point": [0], "transaction": ["t"], "count": [len(values)], "errors": [1], "retries": [2],
            "rolled_back": [0], "code": [""] if host == "h0" else ["40001"],
            "message": [""] if host == "h0" else ["serialization"],
        },
        "executions": {
            "point": [0, 0], "statement": ["s", "x"], "executions": [len(values), 1],
            "rows": [2 * len(values), None], "empty": [1, None], "bytes": [10, 10],
        },
        "marks": {"statement": ["s"], "execution": [1], "clients": [2], "rows": [5], "empty": [1]},
        "errors": {"point": [0], "code": ["40001"], "count": [1], "message": ["serialization"]},
        "samples": EMPTY,
        "notices": {"code": ["io"], "text": ["slow"]},
        "inspect": {"client": [], "name": [], "metric": [], "value": []},
        "asides": {"point": [], "phase": [], "transactions": []},
    }  # fmt: skip
    facts = Facts("epoll", 2, 4, 0, 0, 0, None, 10.0, (1,), (clock.to_host(1000 + int(host[1:])),))
    return Part(host, clock, HostResult(EngineResult("load", tables, facts), EMPTY, ()))


@settings(max_examples=12)
@given(st.lists(st.lists(st.integers(0, 2047), min_size=1, max_size=80), min_size=1, max_size=6))
def test_merged_percentiles_are_those_of_all_samples_together(hosts: list[list[int]]) -> None:
    whole = merged([part(f"h{n}", values) for n, values in enumerate(hosts)])
    everything = sorted(value for values in hosts for value in values)
    (encoded,) = whole.tables["latency"]["histogram"]
    for quantile in (0.5, 0.9, 0.99, 1.0):
        (found,) = _core.histogram_quantiles(encoded, [quantile])
        assert found == everything[max(0, int(np.ceil(quantile * len(everything))) - 1)]


def test_percentiles_of_percentiles_would_be_wrong() -> None:
    # one slow host of three: its slowest tenth is 3 % of all
    chance = random.Random(1)
    fast = [[chance.randrange(100, 120) for _ in range(1000)] for _ in range(2)]
    slow = [2000 if n < 100 else 110 for n in range(1000)]
    whole = merged([part(f"h{n}", values) for n, values in enumerate([*fast, slow])])
    (p99,) = _core.histogram_quantiles(whole.tables["latency"]["histogram"][0], [0.99])
    assert p99 == 2000


def test_counts_are_added_and_times_are_on_the_clock_of_the_lab() -> None:
    ahead = Offset(200_000_000, 50, 0)
    whole = merged([part("h0", [5, 5]), part("h1", [7], ahead), part("h2", [9] * 4)])
    tables, facts = whole.tables, whole.facts
    assert tables["phases"] == {
        "point": [0], "phase": ["measure"], "clients": [6], "start_ns": [1000], "end_ns": [2000],
    }  # fmt: skip
    assert (tables["throughput"]["count"], tables["throughput"]["errors"]) == ([7], [3])
    assert tables["clients"]["client"] == [0, 1, 2, 3, 4, 5]
    assert tables["transactions"]["retries"] == [6]
    assert tables["transactions"]["code"] == ["40001"]
    assert tables["errors"]["count"] == [3]
    assert tables["notices"]["text"] == [f"host h{n}: slow" for n in range(3)]
    assert (facts.threads, facts.connections_made, facts.backlog, facts.began_ns) == (6, 12, (3,), (1000,))


def test_each_host_is_kept_beside_the_whole() -> None:
    ahead = Offset(200_000_000, 50, 0)
    parts = [part("h0", [5, 5]), part("h1", [7], ahead)]
    after = {"h0": SAME, "h1": Offset(200_000_300, 60, 10**9)}
    tables = host_tables(parts, after)
    assert tables["hosts"]["offset_ns"] == [0, 200_000_000]
    assert tables["hosts"]["drift_ns"] == [0, 300]
    assert tables["hosts"]["drift_bound_ns"] == [0, 110]
    assert tables["host_load"]["transactions"] == [2, 1]
    assert tables["host_load"]["began_ns"] == [1000, 1001]


def test_the_merged_result_passes_as_one_of_an_engine() -> None:
    whole = merged([part("h0", [5]), part("h1", [6])])
    assert set(whole.tables) == ENGINES["load"].tables
    assert EngineResult.of("load", json.loads(whole.to_json())) == whole
