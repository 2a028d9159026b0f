"""Nothing that hangs hangs the lab: every wait has a limit in all, and an interrupt ends it at once."""

from __future__ import annotations

import os
import re
import signal
import threading
import time

import pytest
from hanging import check_end_with_the_lab, check_silence, check_stopped_server, peer, start
from laboratory import ENGINE, Lab, nothing_left, small_study, under_load, with_dsn

from steelyard.bundle.reader import Bundle
from steelyard.host.processes import limits
from steelyard.host.processes.limits import TimedOut, within
from steelyard.lab.engines.process import LoadProcess
from steelyard.lab.engines.result import LoadFailed


def test_a_wait_without_end_has_a_limit_in_all(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(TimedOut, match=r"counting sheep took longer than 0\.2 s"):
        within(0.2, "counting sheep", threading.Event().wait)
    monkeypatch.setattr(limits, "_SILENT_S", 0.1)
    with pytest.raises(TimedOut):
        within(0.3, "counting goats", threading.Event().wait)
    assert "counting goats: 0.1 s so far, at most 0.3 s" in caplog.text and "sheep" not in caplog.text
    assert within(60, "adding", lambda: 1 + 1) == 2
    with pytest.raises(ZeroDivisionError):
        within(60, "dividing", lambda: 1 / 0)


def test_a_server_stopped_under_load_gives_a_void_run_and_the_study_goes_on(lab: Lab) -> None:
    check_stopped_server(lab, "postgres")


def test_a_stopped_server_is_ended_with_the_lab(lab: Lab) -> None:
    check_end_with_the_lab(lab, signal.SIGKILL)


def test_an_address_that_accepts_and_does_not_answer_is_bad_input(lab: Lab) -> None:
    check_silence(lab, "postgres", period_s=1)


def test_a_stopped_engine_gives_a_void_run_and_the_study_goes_on(lab: Lab) -> None:
    start(lab, "null")
    os.kill(lab.ours(ENGINE)[0], signal.SIGSTOP)
    _, err = lab.processes[0].communicate(timeout=150)
    assert lab.processes[0].returncode == 0, err
    rows = Bundle(lab.bundle).columns("select status, cause from runs order by run")
    assert list(rows["status"]) == ["void", "done", "done"]
    assert "was silent for 30 s" in rows["cause"][0]
    lab.wait_for(lambda: nothing_left(lab), "the end of everything")


@pytest.mark.parametrize("turns", ["false", "true"])
def test_a_study_that_stood_still_gives_a_void_run_that_names_the_gap(lab: Lab, turns: str) -> None:
    study = small_study(lab.folder, blocks=1, measure_s=4)
    study.write_text(study.read_text().replace("[plan]", f"[plan]\nturns = {turns}"))
    process = lab.start("run", study, "--bundle", lab.bundle)
    lab.wait_for(lambda: under_load(lab), "a run under load")
    everything = [process.pid, *lab.ours()]
    for stop in (signal.SIGSTOP, signal.SIGCONT):
        for pid in everything:
            os.kill(pid, stop)
        time.sleep(1.5)
    _, err = process.communicate(timeout=150)
    assert process.returncode == 0, err
    rows = Bundle(lab.bundle).columns("select status, cause from runs order by run")
    assert list(rows["status"]) == ["void", "done", "done"]
    said = re.search(r"stood still for (\d\.\d+) s under load", rows["cause"][0])
    assert said and float(said[1]) >= 1.2, rows["cause"][0]


def test_an_engine_that_takes_longer_than_its_plan_is_killed() -> None:
    engine = LoadProcess(
        "programs", {"instances": [[]], "scores": {}, "warm_up_s": 0, "cool_down_s": 600}, frozenset({0})
    )
    try:
        with pytest.raises(LoadFailed):
            engine.result(lambda _: None, limit_s=2)
    finally:
        engine.stop()


def test_ctrl_c_ends_a_wait_for_a_server_that_says_nothing(lab: Lab) -> None:
    with peer(b"", 1000) as port:
        study = with_dsn(lab.folder, f"mysql://a@127.0.0.1:{port}/d")
        study.write_text(study.read_text().replace('kind = "postgres"', 'kind = "mariadb"'))
        process = lab.start("run", study, "--bundle", lab.bundle)
        lab.wait_for(lambda: lab.traces(), "the beginning of the study")
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        # the wait itself is limited to 30 s: an end before that is the interrupt's
        _, err = process.communicate(timeout=20)
    assert process.returncode == 3, err
    lab.wait_for(lambda: nothing_left(lab), "the end of everything")
