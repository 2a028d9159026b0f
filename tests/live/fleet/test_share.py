"""Engines that share a plan do the work of one: the same clients, each once, at the same rate."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from servers import plan, postgres, stub

from steelyard import _core
from steelyard.fleet.connection import SAME
from steelyard.fleet.merge import Part, merged
from steelyard.fleet.on_host import HostResult
from steelyard.lab.engines.result import EngineResult

NO_SAMPLES: dict[str, list[Any]] = {name: [] for name in ("t_ns", "monitor", "entity", "metric", "value")}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("stub")
    with stub(str(folder / ".s.PGSQL.5432")):
        yield {
            "host": str(folder), "port": 5432, "user": "nobody", "password": None, "database": "null",
            "tls": "disable", "ca_file": None,
        }  # fmt: skip


def shares(asked: dict[str, Any], hosts: int, start_in_s: float = 0.2) -> list[EngineResult]:
    """The results of engines that begin together, on threads of this process."""
    found: dict[int, EngineResult] = {}
    start = threading.Barrier(hosts)
    at_ns: dict[int, int] = {}

    def run(host: int) -> None:
        points = iter(range(100))

        def command(_: float) -> str:
            point = next(points)
            start.wait()
            instant = at_ns.setdefault(point, time.monotonic_ns() + int(start_in_s * 1e9))
            return json.dumps({"do": "start", "at_ns": instant})

        own = json.dumps({**asked, "share": {"host": host, "hosts": hosts}})
        found[host] = EngineResult.of("load", json.loads(_core.load_run(own, lambda _: None, command)))

    threads = [threading.Thread(target=run, args=(host,)) for host in range(hosts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[host] for host in range(hosts)]


def together(results: list[EngineResult]) -> EngineResult:
    return merged([Part(f"h{n}", SAME, HostResult(own, NO_SAMPLES, ())) for n, own in enumerate(results)])


def test_all_clients_exist_once_and_each_host_has_its_share(server: dict[str, Any]) -> None:
    results = shares(plan(server, points=[3, 7], measure_s=0.2), 3)
    own = [
        set(zip(r.tables["clients"]["point"], r.tables["clients"]["client"], strict=True)) for r in results
    ]
    assert own[0] == {(0, 0), (1, 0), (1, 3), (1, 6)}
    assert sorted(set().union(*own)) == [(0, n) for n in range(3)] + [(1, n) for n in range(7)]
    assert sum(map(len, own)) == 10
    whole = together(results)
    assert whole.tables["clients"]["client"] == [*range(3), *range(7)]
    measured = [
        clients
        for clients, phase in zip(
            whole.tables["phases"]["clients"], whole.tables["phases"]["phase"], strict=True
        )
        if phase == "measure"
    ]
    assert measured == [3, 7]


def test_arrivals_of_all_hosts_come_at_the_rate_of_one(server: dict[str, Any]) -> None:
    arrival = {"kind": "open", "rate_per_s": 1000.0, "spacing": "even"}
    results = shares(plan(server, points=[8], measure_s=1.0, arrival=arrival), 4)
    counts = [sum(r.tables["clients"]["transactions"]) for r in results]
    assert sum(counts) == pytest.approx(1000, rel=0.02)
    assert counts == pytest.approx([250] * 4, rel=0.05)


def test_hosts_begin_at_the_common_instant(server: dict[str, Any]) -> None:
    results = shares(plan(server, points=[3], measure_s=0.2), 3)
    starts = [
        start
        for result in results
        for start, phase in zip(
            result.tables["phases"]["start_ns"], result.tables["phases"]["phase"], strict=True
        )
        if phase in ("warm-up", "measure")
    ]
    assert len(set(starts[:: len(starts) // 3])) == 1


def test_an_engine_that_learns_of_the_start_too_late_refuses(server: dict[str, Any]) -> None:
    with pytest.raises(_core.LoadError, match=r"came \d+\.\d ms after the common start"):
        own = {**plan(server, points=[2]), "share": {"host": 0, "hosts": 2}}
        _core.load_run(json.dumps(own), lambda _: None, lambda _: '{"do": "start", "at_ns": 1}')


def test_a_turn_that_an_engine_learns_of_too_late_is_repeated_and_counts_once(server: dict[str, Any]) -> None:
    turn = {"do": "turn", "settle_ms": 20.0, "measure_ms": 100.0}
    events: list[dict[str, Any]] = []

    def hear(line: str) -> bool:
        events.append(json.loads(line))
        return True

    # as one host of two: the second turn is late here, the third was late elsewhere
    commands = iter(
        [
            lambda: {"do": "connect"},
            lambda: {**turn, "at_ns": time.monotonic_ns() + 10**8},
            lambda: {**turn, "at_ns": 1},
            lambda: {**turn, "at_ns": time.monotonic_ns() + 10**8, "again": True},
            lambda: {**turn, "at_ns": time.monotonic_ns() + 10**8, "again": True},
            lambda: {"do": "next"},
        ]
    )
    own = {**plan(server, points=[2]), "turns": True, "share": {"host": 0, "hosts": 2}}
    result = EngineResult.of(
        "load", json.loads(_core.load_run(json.dumps(own), hear, lambda _: json.dumps(next(commands)())))
    )
    turns = [event for event in events if event["event"] in ("turn", "late")]
    assert [event["event"] for event in turns] == ["turn", "late", "turn", "turn"]
    assert turns[1]["late_ms"] > 0
    first, _, discarded, last = turns
    assert min(first["transactions"], discarded["transactions"], last["transactions"]) > 0
    counted = first["transactions"] + last["transactions"]
    assert sum(result.tables["transactions"]["count"]) == counted
    assert sum(result.tables["clients"]["transactions"]) == counted
    assert result.tables["latency"]["count"][-1] == counted


def test_hosts_insert_keys_that_no_other_host_has() -> None:
    numbers = {"a": {"kind": "unique"}, "b": {"kind": "sequence", "start": 10, "step": -3}}
    insert = {"name": "insert", "sql": "insert into ids values (:a, :b, :c)", "parameters": numbers}
    asked = {
        "statements": [insert],
        "transactions": [
            {"name": "insert", "weight": 1.0, "begin": False, "statements": [], "values": {},
             "steps": [{"do": "draw", "value": "c", "from": {"kind": "unique"}},
                       {"do": "statement", "name": "insert"}]}
        ],
        "points": [4],
    }  # fmt: skip
    with postgres() as real:
        real.ask("create table ids (a bigint unique, b bigint unique, c bigint unique)")
        whole = together(shares(plan(real.endpoint(), **asked), 3))
        assert whole.tables["errors"]["code"] == []
        # each counts where it begins: a client's last may begin after the end
        counted = sum(whole.tables["transactions"]["count"])
        assert 10 < counted <= real.ask("select count(*) from ids") <= counted + 4


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"points": [2]}, "2 clients cannot be divided among 3 hosts"),
        ({"transactions_max": 10, "threads": 1}, "is counted by one host"),
        ({"share": {"host": 3, "hosts": 3}}, "needs host below hosts"),
    ],
)
def test_what_hosts_cannot_divide_is_refused(
    server: dict[str, Any], change: dict[str, Any], cause: str
) -> None:
    with pytest.raises(_core.PlanError, match=cause):
        asked = {**plan(server, points=[3]), "share": {"host": 0, "hosts": 3}, **change}
        _core.load_check(json.dumps(asked))
