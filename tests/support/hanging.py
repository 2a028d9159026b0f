"""Servers stopped under load, and addresses that accept and do not answer: what the lab makes of them."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from laboratory import Lab, nothing_left, parent_is_not_postgres, small_study, under_load, with_dsn
from needs import needs
from processes import halt

from steelyard.bundle.reader import Bundle


def server_of(lab: Lab, subject: str) -> int:
    word = {"postgres": "postgres -D", "mariadb": "mariadbd --no-defaults"}[subject]
    return next(pid for pid in lab.ours(word) if parent_is_not_postgres(pid))


def start(lab: Lab, subject: str, measure_s: float = 2, deadline_ms: int = 3000) -> None:
    if subject == "mariadb":
        needs("MariaDB")
    study = small_study(lab.folder, subject=subject, blocks=1, measure_s=measure_s)
    study.write_text(study.read_text().replace("rows = 1000", f"rows = 1000\ndeadline_ms = {deadline_ms}"))
    lab.start("run", study, "--bundle", lab.bundle)
    lab.wait_for(lambda: under_load(lab), "a run under load")


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


def check_stopped_server(lab: Lab, subject: str) -> None:
    """A server that is stopped under load gives a void run, and the study goes on."""
    start(lab, subject)
    halt(server_of(lab, subject))
    _, err = lab.processes[0].communicate(timeout=170)
    assert lab.processes[0].returncode == 0, err
    rows = Bundle(lab.bundle).columns("select status, cause from runs order by run")
    assert list(rows["status"]) == ["void", "done", "done"]
    assert rows["cause"][0]
    lab.wait_for(lambda: nothing_left(lab), "the end of everything")


def check_end_with_the_lab(lab: Lab, number: signal.Signals) -> None:
    """Backends of PostgreSQL overwrite their environment, and a stopped one does not see its parent die."""
    start(lab, "postgres", measure_s=60)
    stopped = halt(server_of(lab, "postgres"))
    lab.processes[0].send_signal(number)
    _, err = lab.processes[0].communicate(timeout=60)
    lab.wait_for(lambda: not any(map(alive, stopped)), "the end of the server")
    lab.wait_for(lambda: nothing_left(lab), "the end of everything")
    if number == signal.SIGINT:
        assert lab.processes[0].returncode == 3, err


def check_silence(lab: Lab, subject: str, period_s: float) -> None:
    """An address that accepts and does not answer is bad input."""
    with peer(GREETINGS[subject], period_s) as port:
        scheme = {"postgres": "postgresql", "mariadb": "mysql"}[subject]
        study = with_dsn(lab.folder, f"{scheme}://a:${{P}}@127.0.0.1:{port}/d")
        study.write_text(study.read_text().replace('kind = "postgres"', f'kind = "{subject}"'))
        ended = lab.run("run", study, "--bundle", lab.bundle, P="hunter22")
    assert ended.returncode == 2, ended.stderr
    assert "subject.dsn" in ended.stderr
    assert "Traceback" not in ended.stderr and "hunter22" not in ended.stderr
