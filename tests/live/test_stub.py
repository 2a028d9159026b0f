"""The load engine against the null server, whose answers are known."""

from __future__ import annotations

import base64
import json
import math
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from servers import free_port, plan, stub

from steelyard import _core

PORT = 5432


@pytest.fixture
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("s") / f".s.PGSQL.{PORT}")


@pytest.fixture
def endpoint(address: str) -> Iterator[dict[str, Any]]:
    with stub(address):
        yield at(address)


def at(address: str) -> dict[str, Any]:
    return {
        "host": str(Path(address).parent), "port": PORT, "user": "nobody", "password": None,
        "database": "null", "tls": "disable", "ca_file": None,
    }  # fmt: skip


def run(asked: dict[str, Any], events: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    kept = [] if events is None else events
    return json.loads(_core.load_run(json.dumps(asked), lambda line: kept.append(json.loads(line))))


def open_loop(rate_per_s: float) -> dict[str, Any]:
    return {"kind": "open", "rate_per_s": rate_per_s, "spacing": "even"}


def test_the_stub_answers_every_handle(endpoint: dict[str, Any]) -> None:
    for handle in ("none", "unnamed", "named", "per-use", "left"):
        result = run(plan(endpoint, handle=handle, measure_s=0.1))
        assert sum(result["clients"]["transactions"]) > 0 and result["errors"]["count"] == [], handle


def test_the_stub_serves_tcp() -> None:
    port = free_port()
    with stub(f"127.0.0.1:{port}"):
        result = run(plan({**at("/x/y"), "host": "127.0.0.1", "port": port}))
    assert sum(result["clients"]["transactions"]) > 0


def test_a_server_without_tls_is_told_so(endpoint: dict[str, Any]) -> None:
    with pytest.raises(_core.LoadError, match="TLS"):
        run(plan({**endpoint, "tls": "require"}))


def test_the_tables_agree_with_each_other(endpoint: dict[str, Any]) -> None:
    two = [{"name": "both", "weight": 1, "statements": ["lookup", "lookup"], "begin": False}]
    asked = plan(endpoint, transactions=two, points=[1, 3, 2], warm_up_s=0.5, measure_s=1, threads=2)
    result = run(asked)
    throughput, latency, clients = result["throughput"], result["latency"], result["clients"]
    for point, number in enumerate(asked["points"]):
        done = sum(c for p, c in zip(clients["point"], clients["transactions"], strict=True) if p == point)
        rows = [
            (statement, second, count)
            for p, statement, second, count in zip(
                *(throughput[name] for name in ("point", "statement", "second", "count")), strict=True
            )
            if p == point
        ]
        assert {second for _, second, _ in rows} == {-1, 0}
        assert sum(count for name, second, count in rows if name == "transaction" and second >= 0) == done > 0
        histograms = {
            statement: (count, base64.b64decode(text))
            for p, statement, count, text in zip(*(latency[name] for name in latency_names), strict=True)
            if p == point
        }
        assert histograms["transaction"][0] == done
        # a transaction at either edge of the measure phase has one of its statements outside
        assert abs(histograms["lookup"][0] - 2 * done) <= 2 * number
        count, lowest, mean, highest = _core.histogram_summary(histograms["transaction"][1])
        assert count == done and lowest <= mean <= highest
        assert clients["client"][-2:] == [0, 1]
    assert result["engine"]["connections_made"] == 3 and result["engine"]["reconnections"] == 0
    assert result["engine"]["backlog"] == [0, 0, 0]


latency_names = ("point", "statement", "count", "histogram_base64")


def test_events_tell_phases_in_order_and_counts_that_grow(endpoint: dict[str, Any]) -> None:
    events: list[dict[str, Any]] = []
    result = run(plan(endpoint, points=[1, 2], warm_up_s=0.2, measure_s=1.2, cool_down_s=0.1), events)
    point = ["connect", "warm-up", "measure"]
    phases = [event["phase"] for event in events if event["event"] == "phase"]
    assert phases == [*point, *point, "cool-down", "disconnect"] == result["phases"]["phase"]
    counts = [event["transactions"] for event in events if event["event"] == "tick"]
    assert counts == sorted(counts) and counts[-1] > 0
    starts, ends = result["phases"]["start_ns"], result["phases"]["end_ns"]
    assert all(start <= end for start, end in zip(starts, ends, strict=True))
    assert starts == sorted(starts)
    times = [event["t_ns"] for event in events]
    assert times == sorted(times)


def test_what_a_listener_raises_stops_the_run(endpoint: dict[str, Any]) -> None:
    def refuse(line: str) -> None:
        if json.loads(line)["phase"] == "measure":
            raise KeyError("enough")

    began = time.monotonic()
    with pytest.raises(KeyError, match="enough"):
        _core.load_run(json.dumps(plan(endpoint, measure_s=60)), refuse)
    assert time.monotonic() - began < 30


def test_an_open_loop_makes_what_its_rate_says(endpoint: dict[str, Any]) -> None:
    result = run(plan(endpoint, arrival=open_loop(500), measure_s=1, threads=2))
    made = sum(result["clients"]["transactions"]) + result["engine"]["backlog"][0]
    # arrivals at 0, 2, ... 998 ms; the last may still be under way at the end
    assert 498 <= made <= 500


def test_a_poisson_process_makes_what_its_rate_says_within_its_spread(endpoint: dict[str, Any]) -> None:
    arrival = {"kind": "open", "rate_per_s": 2000, "spacing": "poisson"}
    result = run(plan(endpoint, arrival=arrival, measure_s=1, threads=2, points=[8]))
    made = sum(result["clients"]["transactions"]) + result["engine"]["backlog"][0]
    # the standard deviation of a Poisson count is its square root
    assert abs(made - 2000) <= 5 * math.sqrt(2000) + 8
    assert min(result["clients"]["transactions"]) > 0


@pytest.mark.parametrize("io", ["epoll", "auto"])
def test_arrivals_between_two_ticks_are_not_kept_waiting(endpoint: dict[str, Any], io: str) -> None:
    result = run(plan(endpoint, arrival=open_loop(37), measure_s=1.5, io=io))
    row = result["latency"]["statement"].index("transaction")
    (middle,) = _core.histogram_quantiles(base64.b64decode(result["latency"]["histogram_base64"][row]), [0.5])
    # a wait that ends with the next tick (50 ms) and not with the arrival would give some 20 ms
    assert middle < 10e6


def test_a_stall_is_in_the_latency_of_all_who_came_in_it(address: str) -> None:
    # 200 arrivals a second for 2 s, no answer for 500 ms of them
    with stub(address, '{"stall": {"at_s": 0.5, "for_ms": 500}}'):
        result = run(plan(at(address), arrival=open_loop(200), measure_s=2, points=[1]))
    row = result["latency"]["statement"].index("transaction")
    histogram = base64.b64decode(result["latency"]["histogram_base64"][row])
    count, _, _, highest = _core.histogram_summary(histogram)
    # all but one that was under way
    assert 399 <= count <= 400
    assert highest >= 490e6
    # a quarter of all came in the stall: their waits fall evenly from 500 ms to 0
    (late,) = _core.histogram_quantiles(histogram, [1 - 0.25 / 2])
    assert late >= 240e6


def test_a_backlog_is_told(address: str) -> None:
    with stub(address, '{"delay_us": 100000}'):
        result = run(plan(at(address), arrival=open_loop(100), points=[1], measure_s=1))
    # one client makes at most ten answers a second out of a hundred
    assert result["engine"]["backlog"][0] >= 88


def test_arrivals_that_never_got_a_client_count_with_what_they_waited(address: str) -> None:
    # 200 arrivals in 1 s, no answer any more after half of them
    with stub(address, '{"stall": {"at_s": 0.5, "for_ms": 60000}}'):
        result = run(plan(at(address), arrival=open_loop(200), measure_s=1, points=[1], deadline_ms=1000))
    waited, done = result["engine"]["backlog"][0], sum(result["clients"]["transactions"])
    row = result["latency"]["statement"].index("transaction")
    histogram = base64.b64decode(result["latency"]["histogram_base64"][row])
    count, _, _, highest = _core.histogram_summary(histogram)
    assert count == result["latency"]["count"][row] == done + waited
    # one was under way
    assert 198 <= count <= 199
    # their waits fall evenly from half a second to nothing: a quarter of all waited longer than 250 ms
    assert highest == pytest.approx(495e6, abs=60e6)
    (quarter,) = _core.histogram_quantiles(histogram, [0.75])
    assert quarter == pytest.approx(250e6, abs=60e6)
    # what is counted as done, second by second, leaves them out
    throughput = result["throughput"]
    counts = zip(throughput["statement"], throughput["count"], strict=True)
    assert sum(n for statement, n in counts if statement == "transaction") == done


def test_think_time_is_kept(endpoint: dict[str, Any]) -> None:
    arrival = {"kind": "closed", "think_ms": 50, "think": "fixed"}
    result = run(plan(endpoint, arrival=arrival, measure_s=0.5))
    assert all(1 <= count <= 11 for count in result["clients"]["transactions"])


def test_a_missed_deadline_is_counted_and_its_connection_replaced(address: str) -> None:
    with stub(address, '{"stall": {"at_s": 0.2, "for_ms": 600}}'):
        result = run(plan(at(address), deadline_ms=100, measure_s=1.5))
    assert result["errors"]["code"] == ["deadline"]
    assert result["engine"]["reconnections"] >= 2
    assert result["throughput"]["errors"][0] > 0


def test_a_server_that_dies_ends_the_run(address: str) -> None:
    with stub(address) as server:
        timer = threading.Timer(0.5, server.kill)
        timer.start()
        with pytest.raises(_core.LoadError, match="lost"):
            run(plan(at(address), measure_s=60))


def test_a_merged_histogram_holds_all_values(endpoint: dict[str, Any]) -> None:
    result = run(plan(endpoint, points=[1, 2]))
    rows = [i for i, name in enumerate(result["latency"]["statement"]) if name == "transaction"]
    parts = [base64.b64decode(result["latency"]["histogram_base64"][i]) for i in rows]
    summaries = [_core.histogram_summary(part) for part in parts]
    count, lowest, mean, highest = _core.histogram_summary(_core.histogram_merge(parts))
    assert count == sum(s[0] for s in summaries)
    assert (lowest, highest) == (min(s[1] for s in summaries), max(s[3] for s in summaries))
    assert math.isclose(mean, sum(s[0] * s[2] for s in summaries) / count, rel_tol=1e-6)
    assert _core.histogram_quantiles(parts[0], [0.0, 1.0]) == [summaries[0][1], summaries[0][3]]


@pytest.mark.parametrize("io", ["epoll", "io_uring"])
def test_both_ways_to_the_kernel_do_the_same(endpoint: dict[str, Any], io: str) -> None:
    try:
        result = run(plan(endpoint, io=io, handle="named", points=[1, 40], threads=2, measure_s=0.2))
    except _core.LoadError as error:
        pytest.skip(str(error))
    assert result["engine"]["io"] == io
    assert all(count > 0 for count in result["clients"]["transactions"])
    assert result["errors"]["count"] == [] and result["engine"]["reconnections"] == 0


@pytest.mark.parametrize("io", ["epoll", "io_uring"])
def test_a_stalled_client_is_replaced_by_either_way(address: str, io: str) -> None:
    with stub(address, '{"stall": {"at_s": 0.2, "for_ms": 400}}'):
        try:
            result = run(plan(at(address), io=io, deadline_ms=100, measure_s=1.2, points=[20]))
        except _core.LoadError as error:
            if "io_uring" in str(error):
                pytest.skip(str(error))
            raise
    assert result["errors"]["code"] == ["deadline"]
    assert result["engine"]["reconnections"] >= 20
    assert all(count > 0 for count in result["clients"]["transactions"])


def test_io_uring_is_refused_where_it_cannot_be(endpoint: dict[str, Any]) -> None:
    with pytest.raises(_core.PlanError, match=r"io: .*TLS"):
        run(plan({**endpoint, "tls": "require"}, io="io_uring"))
    with pytest.raises(_core.PlanError, match="kqueue"):
        run(plan(endpoint, io="kqueue"))
