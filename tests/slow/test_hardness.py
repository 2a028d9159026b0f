"""Whatever ends a study, finished runs stay readable and nothing of ours stays behind."""

from __future__ import annotations

import os
import signal

import pytest
from laboratory import ENGINE, Lab, nothing_left, parent_is_not_postgres, small_study, under_load

from steelyard.bundle.reader import Bundle


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_keeps_finished_runs_and_leaves_nothing(lab: Lab, kind: signal.Signals) -> None:
    process = lab.start("run", small_study(lab.folder, blocks=20, measure_s=1), "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.runs() >= 2 and lab.ours(ENGINE), "a third run under load")
    process.send_signal(kind)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert 0 <= err.index("interrupted: ending the run") < err.index(f"resume {lab.bundle}")
    assert err.count("interrupted") == 1
    lab.wait_for(lambda: nothing_left(lab), f"the end of {lab.ours()} {lab.traces()}")
    assert len(Bundle(lab.bundle).evidence().view("runs")["run"]) == lab.runs() >= 2


def test_a_run_that_was_announced_is_kept_after_ctrl_c(lab: Lab) -> None:
    process = lab.start("run", small_study(lab.folder, blocks=50), "--bundle", lab.bundle)
    assert process.stderr is not None
    while "2 of 100 runs" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert len(Bundle(lab.bundle).evidence().view("runs")["run"]) >= 2


def test_a_crashed_server_voids_its_run_and_its_last_words_are_kept(lab: Lab) -> None:
    study = small_study(lab.folder, subject="postgres", blocks=1, measure_s=3)
    process = lab.start("run", study, "--bundle", lab.bundle)
    lab.wait_for(lambda: under_load(lab), "a run under load")
    postmaster = next(pid for pid in lab.ours("postgres -D") if parent_is_not_postgres(pid))
    os.kill(postmaster, signal.SIGKILL)
    _, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    rows = Bundle(lab.bundle).columns("select status, cause from runs order by run")
    assert list(rows["status"]) == ["void", "done", "done"]
    assert "connections were lost" in rows["cause"][0]
    assert "ready to accept connections" in (lab.bundle / "logs" / "0001.log").read_text()
    lab.wait_for(lambda: nothing_left(lab), "the end of everything")
