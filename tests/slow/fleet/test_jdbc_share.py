"""Java engines of several hosts: late turns, the common start, and what cannot be divided."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from java_engine import PGJDBC, class_path, needs_java
from java_hosts import CONNECT, NEXT, WORK, Javas, drawn, now, share, share_server, turn
from servers import Server, plan

from steelyard.lab.engines.result import LoadFailed

pytestmark = needs_java


@pytest.fixture(scope="module")
def pgjdbc() -> list[str]:
    return class_path(PGJDBC)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with share_server() as running:
        yield running


def test_a_late_turn_is_repeated_and_counts_once(server: Server, pgjdbc: list[str]) -> None:
    own = plan(server.endpoint(), **WORK, points=[2], **share(0, 2))
    java = Javas(server, pgjdbc, own)
    result = java.result([CONNECT, turn(), turn(1), turn(again=True), turn(again=True), NEXT])
    turns = [event for event in java.events if event["event"] in ("turn", "late")]
    assert [event["event"] for event in turns] == ["turn", "late", "turn", "turn"]
    assert turns[1]["late_ms"] > 0
    first, _, discarded, last = turns
    assert min(first["transactions"], discarded["transactions"], last["transactions"]) > 0
    counted = first["transactions"] + last["transactions"]
    tables = result.tables
    assert sum(tables["transactions"]["count"]) == sum(tables["clients"]["transactions"]) == counted
    assert tables["latency"]["count"][-1] == counted
    whole = [
        count
        for count, name in zip(tables["throughput"]["count"], tables["throughput"]["statement"], strict=True)
        if name == "transaction"
    ]
    assert sum(whole) == counted
    drawn(server)


def test_times_are_of_the_hosts_monotonic_clock_and_load_begins_at_the_instant(
    server: Server, pgjdbc: list[str]
) -> None:
    """Arrivals at even distances: those of two hosts interleave into one schedule."""
    began_ns = time.monotonic_ns()
    arrival = {"kind": "open", "rate_per_s": 100.0, "spacing": "even"}
    own = plan(server.endpoint(), points=[2], measure_s=1.0, arrival=arrival, **share(1, 2))
    at: list[int] = []

    def begin() -> Mapping[str, Any]:
        at.append(now())
        return {"do": "start", "at_ns": at[-1]}

    java = Javas(server, pgjdbc, own)
    result = java.result([begin])
    for event in java.events:
        if "t_ns" in event:
            assert began_ns < event["t_ns"] <= event["heard_ns"]
    # the first is for host 0
    assert result.facts.began_ns == (at[-1] + 10_000_000,)
    assert sum(result.tables["clients"]["transactions"]) == 50
    measured = dict(zip(result.tables["phases"]["phase"], result.tables["phases"]["start_ns"], strict=True))
    assert measured["measure"] == at[-1]


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"points": [1]}, "1 clients cannot be divided among 2 hosts"),
        (share(2, 2), "needs host below hosts"),
    ],
)
def test_what_hosts_cannot_divide_is_refused(
    server: Server, pgjdbc: list[str], change: dict[str, Any], cause: str
) -> None:
    own = {**plan(server.endpoint(), points=[2]), **share(0, 2), **change}
    with pytest.raises(LoadFailed, match=cause):
        Javas(server, pgjdbc, own).result([])


def test_a_start_that_is_over_is_refused(server: Server, pgjdbc: list[str]) -> None:
    own = plan(server.endpoint(), points=[2], **share(0, 2))
    with pytest.raises(LoadFailed, match=r"came \d+\.\d ms after the common start"):
        Javas(server, pgjdbc, own).result([lambda: {"do": "start", "at_ns": 1}])
