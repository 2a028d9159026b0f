"""Java engines that share a plan do the work of one, as the native engine's do."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from java_engine import PGJDBC, class_path, jdbc, needs_java
from servers import Server, plan, postgres
from steelyard import _core
from steelyard.fleet.check import refuse_without_drivers
from steelyard.fleet.on_host import driver
from steelyard.lab.engines.process import LoadProcess
from steelyard.lab.engines.registry import LoadFailed
from steelyard.lab.engines.result import EngineResult
from steelyard.study.errors import InputError

pytestmark = needs_java
INSERT = {
    "name": "one",
    "sql": "insert into drawn (a, b, tag) values (:a, :b, {tag})",
    "parameters": {
        "a": {"kind": "uniform", "low": -5, "high": 10**15},
        "b": {"kind": "sequence", "start": 7, "step": 3},
    },
}
WORK = {
    "statements": [INSERT],
    "transactions": [{"name": "one", "weight": 1, "statements": ["one"], "begin": False}],
    "text": "unique",
    "turns": True,
}
START_NS = 10**8


@pytest.fixture(scope="module")
def pgjdbc() -> list[str]:
    return class_path(PGJDBC)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres() as running:
        running.ask("create table drawn (nth serial, a bigint, b bigint, tag bigint)")
        yield running


def share(host: int, hosts: int) -> dict[str, Any]:
    return {"share": {"host": host, "hosts": hosts}}


def now() -> int:
    return time.monotonic_ns() + START_NS


class Javas:
    """A Java engine and its events; a command is sent on each event that the lab answers."""

    def __init__(self, server: Server, jars: list[str], of: Mapping[str, Any]) -> None:
        connection = {**jdbc(server, jars), "driver": PGJDBC}
        self._engine = LoadProcess("jdbc", {**of, "jdbc": connection}, frozenset(os.sched_getaffinity(0)))
        self.events: list[Mapping[str, Any]] = []

    def result(self, commands: Sequence[Callable[[], Mapping[str, Any]]]) -> EngineResult:
        """One command after another; those of turns follow an event, those to start follow `ready`."""
        left = iter(commands)

        def hear(event: Mapping[str, Any]) -> None:
            self.events.append({**event, "heard_ns": time.monotonic_ns()})
            if event["event"] in ("ready", "connected", "turn", "late"):
                self._engine.command(next(left)())

        first = threading.Thread(target=lambda: self._engine.command(next(left)()))
        if commands and commands[0]()["do"] == "connect":
            first.start()
        try:
            return self._engine.result(hear, 60)
        finally:
            self._engine.stop()


def turn(at_ns: int | None = None, **more: Any) -> Callable[[], Mapping[str, Any]]:
    return lambda: {
        "do": "turn",
        "settle_ms": 0.0,
        "measure_ms": 300.0,
        "at_ns": now() if at_ns is None else at_ns,
        **more,
    }


CONNECT, NEXT = (lambda: {"do": "connect"}), (lambda: {"do": "next"})


def start() -> Mapping[str, Any]:
    return {"do": "start", "at_ns": now()}


def drawn(server: Server) -> list[tuple[Any, ...]]:
    with server.connect() as connection:
        rows = connection.execute(b"select a, b, tag from drawn order by nth limit 300").fetchall()
        connection.execute("truncate drawn restart identity")
        return rows


def test_a_host_sends_what_the_native_engine_sends_with_the_same_share(
    server: Server, pgjdbc: list[str]
) -> None:
    own = plan(server.endpoint(), **WORK, points=[2], **share(1, 2))
    commands = iter([CONNECT, turn(), NEXT])
    native = json.loads(
        _core.load_run(json.dumps(own), lambda _: None, lambda _: json.dumps(next(commands)()))
    )
    expected = drawn(server)
    java = Javas(server, pgjdbc, own).result([CONNECT, turn(), NEXT])
    found = drawn(server)
    assert java.tables["clients"]["client"] == native["clients"]["client"] == [1]
    both = min(len(found), len(expected))
    assert both >= 50 and found[:both] == expected[:both]
    # numbers that host 0 does not use
    assert found[:2] == [(found[0][0], 10, 1), (found[1][0], 16, 3)]


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


class _Hosts:
    """Two hosts; the second lacks the jar."""

    hosts = ("load1", "load2")

    def call(self, operation: str, calls: Mapping[str, Mapping[str, Any]], _limit_s: float) -> dict[str, Any]:
        assert operation == "driver"
        there = {"load1": PGJDBC, "load2": "/nowhere/driver.jar"}
        return {host: asyncio.run(driver(there[host])) for host in calls}


def test_a_host_without_the_driver_is_named() -> None:
    hosts: Any = _Hosts()
    with pytest.raises(InputError, match=r"host load2: .*there is no file /nowhere/driver\.jar") as refused:
        refuse_without_drivers(hosts, {"driver.jar"})
    assert refused.value.hint.startswith("on load2: ")
