"""A fleet whose hosts are addresses of this machine: load is divided and merged, and ends with the lab."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import pytest
from fleet_hosts import LAB, Fleet, Loopback, brought_up, until

from steelyard import _core
from steelyard.version import VERSION

LOADS = ("load1", "load2")
# it makes the fleet's certificate
pytestmark = pytest.mark.needs("openssl")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("fleet")
    with brought_up(Loopback(folder, [LAB, *LOADS]), folder, {}) as up:
        yield up


def test_check_finds_the_hosts_alike(made: Fleet) -> None:
    process = made.steelyard("fleet", "check", "hosts.toml", "--json")
    out, error = process.communicate(timeout=90)
    assert process.returncode == 0, error
    found = json.loads(out)["hosts"]
    assert list(found) == list(LOADS)
    for host in found.values():
        # they have the lab's own clock
        assert abs(host["offset_ms"]) <= host["bound_ms"] and host["version"] == VERSION


def test_no_http_server_of_the_fleet_listens_beyond_this_machine(made: Fleet) -> None:
    pids = {made.up.pid, *map(made.worker, LOADS)}
    inodes = {str(handle.readlink()) for pid in pids for handle in Path(f"/proc/{pid}/fd").iterdir()}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes]
    # each of the three has its TLS server and an HTTP server
    assert len(listening) == 6
    for place in listening:
        address, port = place.split(":")
        # bytes of the address in the machine's order
        assert address.endswith("7F"), place
        own = ".".join(str(int(address[at : at + 2], 16)) for at in (6, 4, 2, 0))
        with suppress(OSError), urlopen(f"http://{own}:{int(port, 16)}/health", timeout=5) as answer:
            raise AssertionError(answer.read())


def test_the_scratch_of_a_fleet_lies_in_its_own_folder(made: Fleet) -> None:
    (own,) = Path(tempfile.gettempdir()).glob(f"steelyard-fleet-{made.up.pid}-*/dask-scratch-space")
    # the session looks for what it leaves
    assert any(own.iterdir())
    assert not Path(tempfile.gettempdir(), "dask-scratch-space").exists()


def test_a_study_is_divided_among_the_hosts_and_merged(made: Fleet) -> None:
    own = made.run("merged").duckdb
    rows = own.execute(
        "select host, clients, transactions, errors from host_load join used_runs using (run) order by host"
    ).fetchall()
    assert [(host, clients, errors) for host, clients, _, errors in rows] == [
        ("load1", 3, 0), ("load2", 3, 0)
    ]  # fmt: skip
    done = [transactions for _, _, transactions, _ in rows]
    assert min(done) > 0
    assert own.execute("select count(distinct client), sum(transactions) from clients").fetchall() == [
        (6, sum(done))
    ]
    ((hosts, whole),) = own.execute(
        "select list(h.histogram), any_value(l.histogram)"
        " from host_load h join latency l using (run, point) where statement = 'transaction'"
    ).fetchall()
    at = [0.5, 0.99]
    assert _core.histogram_quantiles(_core.histogram_merge(hosts), at) == _core.histogram_quantiles(whole, at)


def test_a_killed_lab_leaves_no_load(made: Fleet) -> None:
    study = made.begin("orphan", measure_s=100)
    until(lambda: all(map(made.engines, LOADS)), 60)
    study.kill()
    study.communicate()
    until(lambda: not any(map(made.engines, LOADS)), 30)


def test_a_killed_worker_ends_the_study_and_is_named(made: Fleet) -> None:
    study = made.begin("killed", measure_s=100)
    until(lambda: all(map(made.engines, LOADS)), 60)
    made.kill_worker("load2")
    out, error = study.communicate(timeout=90)
    assert study.returncode == 1, out + error
    assert "host load2" in error and "lost" in error, error
    until(lambda: not any(map(made.engines, LOADS)), 30)
