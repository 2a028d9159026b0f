"""Work of others on the study's CPUs: the rule, what the lab does about it, and what the verdict says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hogs import hogs, study_beside_hogs
from laboratory import Lab, small_study

from steelyard.analysis.validity.disturbance import disturbed
from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.read import run_facts
from steelyard.host.processes.process_mark import other_studies
from steelyard.lab.runner import disturbance_of
from steelyard.monitors import Target
from steelyard.monitors.system.disturbance import DisturbanceMonitor
from steelyard.study.host_settings import cpus_by_role
from steelyard.workflow.session import busy_machine


def test_a_disturbed_block_is_run_again_within_the_limit_and_both_attempts_are_kept(lab: Lab) -> None:
    with hogs():
        done = lab.run("run", study_beside_hogs(lab, "redo"), "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert "if disturbed blocks are run again" in done.stderr
    assert "disturbed" in done.stderr.partition("runs, block")[2]
    bundle = Bundle(lab.bundle)
    rows = bundle.columns("select status, attempt, cause from runs order by run")
    assert list(rows["attempt"]) == [1, 1, 2, 2]
    assert list(rows["status"])[2:] == ["done", "done"] and rows["status"][0] == "disturbed"
    assert " for a CPU that other processes used" in rows["cause"][0]
    assert "python" in rows["cause"][0]
    facts = run_facts(bundle)
    assert (facts["runs_done"], facts["runs_all"]) == (2, 4) and facts["runs_disturbed"] in (1, 2)
    page = (lab.bundle / "report.html").read_text()
    assert re.search("2 of 4 count: blocks with [12] disturbed runs? were run again", page)
    # the limit is used up: what is kept is said, and by the same rule as in the lab
    flat = " ".join(done.stdout.split())
    assert "Disturbed: in run" in flat and re.search(
        "block 1 was run again, as runs? 1 (was|and 2 were) disturbed", flat
    )
    same_in_lab_and_verdict(bundle)


def same_in_lab_and_verdict(bundle: Bundle) -> None:
    evidence = bundle.evidence()
    cpus = cpus_by_role({}, evidence.placement["server"], evidence.placement["engine"])
    found = disturbed(evidence).found
    shares = bundle.columns("select run, attempt, disturbed_share as share from runs order by run")
    worst = [max(shares["share"][shares["attempt"] == attempt]) for attempt in (1, 2)]
    assert set(found) <= ({1, 2} if worst[0] < worst[1] else {3, 4})
    assert len(found) == sum(shares["share"][run - 1] > 0 for run in evidence.view("runs")["run"].tolist())
    for run, one in found.items():
        tables = {
            name: {
                column: values.tolist()
                for column, values in bundle.columns(
                    f"select * from {name} where run = {run} order by 1"
                ).items()
            }
            for name in ("phases", "samples")
        }
        in_lab = disturbance_of(tables, cpus, {})
        assert in_lab is not None
        assert (in_lab.role, in_lab.share) == (one.role, pytest.approx(one.share, rel=0.02))


def test_other_processes_are_told_by_name_and_ours_are_not(tmp_path: Path) -> None:
    names = {"greedy": tmp_path / "greedy", "ours": tmp_path / "ours"}
    running: dict[str, subprocess.Popen[bytes]] = {}
    for name, link in names.items():
        link.symlink_to(sys.executable)
        environment = {**os.environ, "PYTHONHOME": sys.base_prefix}
        running[name] = subprocess.Popen([link, "-c", "while True: pass"], env=environment)
    files = len(list(Path("/proc/self/fd").iterdir()))
    monitor = DisturbanceMonitor()
    try:
        monitor.open(Target(pids={"server": running["ours"].pid}))
        lab = Lab(tmp_path)
        lab.wait_for(lambda: "other:greedy" in {sample.entity for sample in monitor.read()}, "greedy is seen")
        assert "other:ours" not in {sample.entity for sample in monitor.read()}
    finally:
        monitor.close()
        for process in running.values():
            process.kill()
            process.wait()
    assert len(list(Path("/proc/self/fd").iterdir())) == files


def test_another_study_is_seen_by_its_guard_and_named_before_a_study_begins(lab: Lab) -> None:
    process = lab.start("run", small_study(lab.folder, blocks=9, measure_s=9), "--bundle", lab.bundle)
    lab.wait_for(lambda: process.pid in other_studies(), "the other study")
    assert str(process.pid) in busy_machine() or "more" in busy_machine()
