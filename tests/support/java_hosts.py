"""A Java engine as one of several hosts, and the commands that the lab sends it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from java_engine import PGJDBC, jdbc
from servers import Server, postgres

from steelyard.lab.engines.process import LoadProcess
from steelyard.lab.engines.result import EngineResult

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


@contextmanager
def share_server() -> Generator[Server]:
    """A server with the table of this work."""
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
