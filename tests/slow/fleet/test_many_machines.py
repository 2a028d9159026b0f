"""Load from three hosts on a server of a fourth: what agrees, what is lost, and what is put back."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet_hosts import LAB, LOADS, Fleet, fleet, until
from namespaces import permitted

from steelyard import _core
from steelyard.analysis.judge import judge
from steelyard.bundle.reader import Bundle

pytestmark = [
    pytest.mark.skipif(not permitted(), reason="network namespaces need root"),
    pytest.mark.timeout(400),
]


@pytest.fixture
def doomed(tmp_path: Path) -> Iterator[Fleet]:
    with fleet(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def found(calm: Fleet) -> dict[str, dict[tuple[int, str], object]]:
    bundle = calm.run("calm", blocks=5)
    load = bundle.columns("select * from host_load order by run, host")
    hosts = bundle.columns("select * from hosts order by run, host")
    keys = list(zip(hosts["run"].tolist(), map(str, hosts["host"]), strict=True))
    tables = {"load": load, "hosts": hosts}
    return {
        f"{table}.{name}": dict(zip(keys, values.tolist(), strict=True))
        for table, columns in tables.items()
        for name, values in columns.items()
    }


def test_every_host_does_its_share_of_the_rate(found: dict[str, dict[tuple[int, str], int]]) -> None:
    clients, done = found["load.clients"], found["load.transactions"]
    assert set(clients.values()) == {2}
    for host in LOADS:
        assert sum(done[run, host] for run in range(1, 6)) == pytest.approx(400, rel=0.4)


def test_the_whole_is_the_sum_of_its_hosts_and_its_p99_that_of_all_samples(
    calm: Fleet, found: object
) -> None:
    bundle = calm.folder / "calm"
    own = Bundle(bundle).duckdb
    rows = own.execute(
        "select run, list(h.histogram), any_value(l.histogram), sum(h.transactions), any_value(l.count)"
        " from host_load h join latency l using (run, point) where statement = 'transaction' group by run"
    ).fetchall()
    assert len(rows) == 5
    for _, hosts, whole, transactions, count in rows:
        merged = _core.histogram_merge(hosts)
        at = [0.5, 0.99, 0.999]
        assert _core.histogram_quantiles(merged, at) == _core.histogram_quantiles(whole, at)
        assert transactions <= count


def test_a_clock_200_ms_ahead_is_found_and_does_not_move_the_start(
    found: dict[str, dict[tuple[int, str], int]],
) -> None:
    for (_, host), offset_ns in found["hosts.offset_ns"].items():
        truth_ns = 200_000_000 if host == "load2" else 0
        bound_ns = found["hosts.bound_ns"]
        assert abs(offset_ns - truth_ns) <= max(ns for (_, name), ns in bound_ns.items() if name == host)
    for run in range(1, 6):
        # the error of a start is that of its clock: here the truth is known
        errors_ns = [
            offset_ns - (200_000_000 if host == "load2" else 0)
            for (number, host), offset_ns in found["hosts.offset_ns"].items()
            if number == run and host != "load3"
        ]
        assert max(errors_ns) - min(errors_ns) <= 1_000_000


def test_the_bound_says_how_far_a_host_is(found: dict[str, dict[tuple[int, str], int]]) -> None:
    far = [ns for (_, host), ns in found["hosts.bound_ns"].items() if host == "load3"]
    near = [ns for (_, host), ns in found["hosts.bound_ns"].items() if host == "load1"]
    assert min(far) > 2_500_000 > max(near)


def test_a_host_further_away_is_a_finding(calm: Fleet, found: object) -> None:
    notices = {notice.code: notice.text for notice in judge(Bundle(calm.folder / "calm").evidence()).notices}
    assert "host load3: median latency" in notices["hosts-differ"]


def under_load(made: Fleet, bundle: str) -> None:
    until(lambda: all(map(made.engines, LOADS)), 60)
    time.sleep(3)


TURNS = """
name = "turns"
question = "Is a turn that is late on one host repeated?"
[subject]
kind = "null"
[workload]
kind = "lookup"
rows = 100
[factors.prepare]
scope = "client"
levels.U = {{ handle = "unnamed" }}
levels.P = {{ handle = "named" }}
[plan]
clients = [3]
warm_up_s = 0.2
measure_s = {measure_s}
cool_down_s = 0.1
blocks = {blocks}
disturbed = "keep"
"""


def test_a_turn_that_is_late_on_one_host_is_repeated_and_named(calm: Fleet) -> None:
    study = calm.begin("turns", measure_s=3, study=TURNS)
    until(lambda: len(calm.engines("load1")) == 2, 60)
    time.sleep(2)
    # an engine that stands still while the other option has its turn is late for its own
    for _ in range(5):
        for pid in calm.engines("load1")[:1]:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(1)
            os.kill(pid, signal.SIGCONT)
        time.sleep(0.5)
    out, error = study.communicate(timeout=120)
    assert study.returncode == 0, out + error
    bundle = Bundle(calm.folder / "turns")
    assert bundle.columns("select distinct status from runs")["status"].tolist() == ["done"]
    notices = bundle.columns("select distinct text from notices where code = 'turns-repeated'")["text"]
    assert any("load1 (by up to" in str(text) for text in notices), list(notices)


def test_a_killed_worker_voids_the_run_and_is_named(doomed: Fleet) -> None:
    study = doomed.begin("killed", measure_s=60)
    under_load(doomed, "killed")
    doomed.kill_worker("load2")
    out, error = study.communicate(timeout=90)
    assert study.returncode == 1, out + error
    assert "host load2" in error and "lost" in error, error
    until(lambda: not any(map(doomed.engines, LOADS)), 25)
    # the others end too: what is left of a fleet does not load
    doomed.up.wait(20)
    until(lambda: not any(map(doomed.net.processes, (LAB, *LOADS))), 20)


def test_a_killed_scheduler_voids_the_run_and_ends_the_hosts(doomed: Fleet) -> None:
    study = doomed.begin("headless", measure_s=60)
    under_load(doomed, "headless")
    doomed.kill_scheduler()
    out, error = study.communicate(timeout=90)
    assert study.returncode == 1, out + error
    assert "lost" in error, error
    until(lambda: not any(map(doomed.net.processes, (LAB, *LOADS))), 30)


def test_a_killed_lab_leaves_no_load_and_the_fleet_serves_the_next(calm: Fleet) -> None:
    study = calm.begin("orphan", measure_s=100)
    under_load(calm, "orphan")
    children = set(calm.net.processes(LAB))
    study.kill()
    study.communicate()
    assert children
    until(lambda: not any(map(calm.engines, LOADS)), 30)
    assert calm.run("next").columns("select count(*) as n from host_load")["n"] == [3]


def test_a_host_that_is_cut_off_voids_the_run_and_stops_loading(doomed: Fleet) -> None:
    study = doomed.begin("cut", measure_s=100)
    under_load(doomed, "cut")
    doomed.net.cut("load3")
    out, error = study.communicate(timeout=120)
    assert study.returncode == 1, out + error
    assert "host load3" in error and "lost" in error, error
    # also where the lab cannot reach it
    until(lambda: not any(map(doomed.engines, LOADS)), 40)


def test_a_fleet_that_is_not_up_is_refused_with_the_command(tmp_path: Path, calm: Fleet) -> None:
    text = calm.file.read_text()
    (calm.folder / "down.toml").write_text(
        text.replace("[fleet.hosts.lab]", '[fleet]\nfolder = "down"\n[fleet.hosts.lab]')
    )
    (calm.folder / "down-study.toml").write_text((calm.folder / "calm.toml").read_text())
    process = calm.steelyard("run", "down-study.toml", "--fleet", "down.toml", "--bundle", "down-bundle")
    _, error = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "the fleet is not up" in error and "steelyard fleet up" in error
