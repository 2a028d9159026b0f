"""A fleet whose hosts are addresses of this machine: load is divided and merged, and ends with the lab."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from fleet_hosts import LAB, Fleet, Loopback, brought_up, until

from steelyard import __version__, _core

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
        assert abs(host["offset_ms"]) <= host["bound_ms"] and host["version"] == __version__


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
