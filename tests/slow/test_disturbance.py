"""Work of others on the study's CPUs: what the lab does about it, by policy."""

from __future__ import annotations

from hogs import hogs, study_beside_hogs
from laboratory import Lab

from steelyard.bundle.reader import Bundle


def test_a_study_that_is_to_stop_ends_with_its_reason(lab: Lab) -> None:
    with hogs():
        done = lab.run("run", study_beside_hogs(lab, "stop"), "--bundle", lab.bundle)
    assert done.returncode == 1
    assert "error: stopped (plan.disturbed): under" in done.stderr
    assert list(Bundle(lab.bundle).columns("select status from runs")["status"]) == ["disturbed"]


def test_a_study_that_is_to_keep_disturbed_runs_says_so_in_its_verdict(lab: Lab) -> None:
    with hogs():
        done = lab.run("run", study_beside_hogs(lab, "keep"), "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert "run again" not in done.stderr
    assert list(Bundle(lab.bundle).columns("select status from runs")["status"]) == ["done", "done"]
    assert "Disturbed: in run" in done.stdout
    assert "Disturbed: in run" in (lab.bundle / "report.html").read_text()
