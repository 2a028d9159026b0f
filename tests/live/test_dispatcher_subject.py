"""Studies of a simulated machine: from threads and tables to a verdict."""

from __future__ import annotations

import signal
from itertools import pairwise
from pathlib import Path

import pytest
from in_process import measured
from laboratory import Lab

from steelyard.analysis.judge import judge
from steelyard.analysis.judgement import Judgement
from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.queries import THROUGHPUT

STUDY = """\
name = "mine"
question = "Which table?"

[subject]
kind = "dispatcher"

[subject.settings]
cpus = 4
cpus_per_chip = 2
clock_ghz = 2.28
memory_latency_ns = 550
cache_kib = 5120
trace_s = 0.5

[workload]
kind = "threads"
scaled = "worker"

[workload.groups.worker]
cpu = { kind = "lognormal", mean_us = 500, cv = 1 }
working_set_kib = 4096

[factors.table]
scope = "server"
levels = { STD = "standard", EXT = "extended" }

[plan]
clients = [4, 16]
warm_up_s = 1
measure_s = 5
cool_down_s = 0
blocks = 5
"""


@pytest.fixture(scope="module")
def bundle(lab_of_module: Lab) -> Bundle:
    (lab_of_module.folder / "mine.toml").write_text(STUDY)
    done = lab_of_module.run("run", "mine.toml", "--bundle", lab_of_module.bundle)
    assert done.returncode == 0, done.stderr
    return Bundle(lab_of_module.bundle)


def judged_with(folder: Path, threads: str, blocks: int = 2) -> Judgement:
    text = STUDY.replace("[4, 16]", threads).replace("blocks = 5", f"blocks = {blocks}")
    return judge(measured(text, "mine.toml", folder).evidence())


def test_a_study_of_two_tables_ends_in_a_verdict_with_reasons(bundle: Bundle) -> None:
    judged = judge(bundle.evidence())
    assert (judged.verdict.outcome, judged.verdict.winner) == ("winner", "EXT")
    assert any(reason.startswith("Reloading of caches") for reason in judged.verdict.reasons), judged.verdict
    (quanta,) = [cost for cost in judged.costs if cost.metric == "switches_quantum_per_txn"]
    assert 0 < quanta.after < quanta.before / 2 and quanta.high < 0
    assert any(
        "in 1 of 2 cells" in r and "at 16 threads" in r
        for r in (*judged.verdict.lines, *judged.verdict.reasons)
    )
    assert {n.code for n in judged.notices} >= {"simulation", "table-cannot-matter"}
    names = {metric.name for metric in judged.metrics}
    assert names >= {"server_cpu_us_per_txn", "reload_us_per_txn", "longest_wait_ns", "p99_ns"}
    # all CPUs are busy: what they do in a second is what the transactions cost
    cpu = {(e.option, e.clients): e.value for e in judged.estimates if e.metric == "server_cpu_us_per_txn"}
    rate = {(e.option, e.clients): e.value for e in judged.estimates if e.metric == "throughput_per_s"}
    for option in ("STD", "EXT"):
        assert cpu[option, 16] * rate[option, 16] == pytest.approx(4e6, rel=0.01)
    traced = bundle.duckdb.execute(
        "select option, count(distinct run), max(end_ns) - min(start_ns) <= 500000000, count(distinct thread)"
        " from trace join runs using (run) group by option order by option"
    ).fetchall()
    assert traced == [("EXT", 1, True, 4), ("STD", 1, True, 4)]


def test_runs_follow_one_another_on_the_axis_of_time_by_the_clock_of_the_machine(bundle: Bundle) -> None:
    times: dict[int, list[float]] = {}
    for row in bundle.records(THROUGHPUT):
        times.setdefault(row["run"], []).append(row["t_s"])
    assert len(times) == 10
    for before, after in pairwise(times.values()):
        # seven seconds of the machine and more, not the part of a second that they take
        assert min(after) > max(before) + 1


def test_with_no_more_threads_than_cpus_the_tables_are_equivalent_and_it_says_why(tmp_path: Path) -> None:
    judged = judged_with(tmp_path, "[2, 4]", blocks=5)
    assert judged.verdict.outcome == "tie"
    assert "equivalent" in judged.verdict.headline
    (notice,) = [n for n in judged.notices if n.code == "table-cannot-matter"]
    assert "with 2 and 4 threads of worker" in notice.text
    assert "2 to 4 threads at most were runnable on 4 CPUs" in notice.text


def test_one_thread_is_one(tmp_path: Path) -> None:
    judged = judged_with(tmp_path, "[1]")
    (notice,) = [n for n in judged.notices if n.code == "table-cannot-matter"]
    assert "with 1 thread of worker" in notice.text
    assert "1 thread at most was runnable on 4 CPUs" in notice.text


def test_a_table_is_not_said_to_be_idle_where_it_is_at_work(tmp_path: Path) -> None:
    judged = judged_with(tmp_path, "[8]")
    assert "table-cannot-matter" not in {n.code for n in judged.notices}


def test_ctrl_c_ends_a_simulation_at_once_and_keeps_what_was_finished(lab: Lab) -> None:
    (lab.folder / "mine.toml").write_text(
        STUDY.replace("measure_s = 5", "measure_s = 3000").replace("[4, 16]", "[512]")
    )
    process = lab.start("run", "mine.toml", "--bundle", lab.bundle)
    lab.wait_for(
        lambda: lab.ours("steelyard.lab.engines.process") or process.poll() is not None, "the simulation"
    )
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 3
    lab.wait_for(lambda: not lab.ours(), "the end of the engine")
