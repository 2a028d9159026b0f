"""Nothing that hangs hangs the lab: every wait has a limit in all, and an interrupt ends it at once."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from laboratory import Lab, small_study
from mariadb_server import needs_mariadb
from processes import halt
from steelyard.bundle.reader import Bundle
from steelyard.host.processes.limits import TimedOut, within
from steelyard.lab.engines.process import LoadProcess
from steelyard.lab.engines.registry import LoadFailed
from test_hardness import ENGINE, nothing_left, parent_is_not_postgres, under_load, with_dsn


def test_a_wait_without_end_has_a_limit_in_all() -> None:
    with pytest.raises(TimedOut, match=r"counting sheep took longer than 0\.2 s"):
        within(0.2, "counting sheep", threading.Event().wait)
    assert within(60, "adding", lambda: 1 + 1) == 2
    with pytest.raises(ZeroDivisionError):
        within(60, "dividing", lambda: 1 / 0)


def server_of(lab: Lab, subject: str) -> int:
    word = {"postgres": "postgres -D", "mariadb": "mariadbd --no-defaults"}[subject]
    return next(pid for pid in lab.ours(word) if parent_is_not_postgres(pid))


def start(lab: Lab, subject: str, measure_s: float = 2, deadline_ms: int = 3000) -> None:
    if subject == "mariadb":
        needs_mariadb()
    study = small_study(lab.folder, subject=subject, blocks=1, measure_s=measure_s)
    study.write_text(study.read_text().replace("rows = 1000", f"rows = 1000\ndeadline_ms = {deadline_ms}"))
    lab.start("run", study, "--bundle", lab.bundle)
    lab.wait_for(lambda: under_load(lab), "a run under load")


@pytest.mark.parametrize("subject", ["postgres", "mariadb"])
def test_a_server_stopped_under_load_gives_a_void_run_and_the_study_goes_on(lab: Lab, subject: str) -> None:
    start(lab, subject)
    halt(server_of(lab, subject))
    _, err = lab.processes[0].communicate(timeout=170)
    assert lab.processes[0].returncode == 0, err
    rows = Bundle(lab.bundle).columns("select status, cause from runs order by run")
    assert list(rows["status"]) == ["void", "done", "done"]
    assert rows["cause"][0]
    lab.wait_for(lambda: nothing_left(lab), "the end of everything")


def test_a_stopped_engine_gives_a_void_run_and_the_study_goes_on(lab: Lab) -> None:
    start(lab, "null")
    os.kill(lab.ours(ENGINE)[0], signal.SIGSTOP)
    _, err = lab.processes[0].communicate(timeout=150)
    assert lab.processes[0].returncode == 0, err
    rows = Bundle(lab.bundle).columns("select status, cause from runs order by run")
    assert list(rows["status"]) == ["void", "done", "done"]
    assert "was silent for 30 s" in rows["cause"][0]
    lab.wait_for(lambda: nothing_left(lab), "the end of everything")


def test_an_engine_that_takes_longer_than_its_plan_is_killed() -> None:
    engine = LoadProcess(
        "programs", {"instances": [[]], "scores": {}, "warm_up_s": 0, "cool_down_s": 600}, frozenset({0})
    )
    try:
        with pytest.raises(LoadFailed):
            engine.result(lambda _: None, limit_s=2)
    finally:
        engine.stop()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_server_is_ended_with_the_lab(lab: Lab, number: signal.Signals) -> None:
    """Backends of PostgreSQL overwrite their environment, and a stopped one does not see its parent die."""
    start(lab, "postgres", measure_s=60)
    stopped = halt(server_of(lab, "postgres"))
    lab.processes[0].send_signal(number)
    _, err = lab.processes[0].communicate(timeout=60)
    lab.wait_for(lambda: not any(map(alive, stopped)), "the end of the server")
    lab.wait_for(lambda: nothing_left(lab), "the end of everything")
    if number == signal.SIGINT:
        assert lab.processes[0].returncode == 3, err


def alive(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


GREETINGS = {
    "postgres": b"R\x00\x00\x00\x08\x00\x00\x00\x00",
    "mariadb": b"\x4a\x00\x00\x00\x0a5.5.5-10.11.14-MariaDB\x00",
}


@contextmanager
def peer(greeting: bytes, period_s: float) -> Iterator[int]:
    """A port of 127.0.0.1 that accepts, and sends one byte of a greeting per period, or nothing at all."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)

        def serve(client: socket.socket) -> None:
            with client, suppress(OSError):
                for byte in greeting:
                    if over.wait(period_s):
                        return
                    client.send(bytes([byte]))
                over.wait()

        def accept() -> None:
            while not over.is_set():
                with suppress(OSError):
                    client, _ = listener.accept()
                    threading.Thread(target=serve, args=(client,), daemon=True).start()

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            over.set()
            thread.join()


@pytest.mark.parametrize("subject", ["postgres", "mariadb"])
@pytest.mark.parametrize("period_s", [1.0, 1000.0], ids=["byte-by-byte", "silent"])
def test_an_address_that_accepts_and_does_not_answer_is_bad_input(
    lab: Lab, subject: str, period_s: float
) -> None:
    with peer(GREETINGS[subject], period_s) as port:
        scheme = {"postgres": "postgresql", "mariadb": "mysql"}[subject]
        study = with_dsn(lab.folder, f"{scheme}://a:${{P}}@127.0.0.1:{port}/d")
        study.write_text(study.read_text().replace('kind = "postgres"', f'kind = "{subject}"'))
        ended = lab.run("run", study, "--bundle", lab.bundle, P="hunter22")
    assert ended.returncode == 2, ended.stderr
    assert "subject.dsn" in ended.stderr
    assert "Traceback" not in ended.stderr and "hunter22" not in ended.stderr


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
