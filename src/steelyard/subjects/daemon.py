"""A server process of ours: marked and promised to the guard, on the server's CPUs, its log kept."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from steelyard.host.guard import stop
from steelyard.host.marked import with_mark
from steelyard.host.placement import pin
from steelyard.study.errors import InputError
from steelyard.subjects import Bench, SubjectFailed
from steelyard.subjects.account import Account

_START_S = 60.0
_LOG_TAIL = 4000
# sun_path holds 108 bytes with the final zero (unix(7))
_SOCKET_MOST = 107


class Daemon:
    """One program at a time.

    name: as its users say it. log: the file that takes what it prints. ends_by: the signal that ends
    it at once. reason: finds in a log why it did not start.
    """

    def __init__(
        self,
        bench: Bench,
        account: Account,
        name: str,
        log: str,
        ends_by: signal.Signals = signal.SIGKILL,
        reason: Callable[[str], str] = str,
    ) -> None:
        self._bench = bench
        self._account = account
        self._name = name
        self._log = bench.folder / log
        self._ends_by = ends_by
        self._reason = reason
        self._process: subprocess.Popen[bytes] | None = None
        self._promise = 0

    def start(self, command: Sequence[str | Path], answers: Callable[[], bool]) -> int:
        """Starts it and waits until it answers; its pid. Raises SubjectFailed."""
        mark = uuid4().hex
        self._promise = self._bench.guard.stop_marked(mark, self._ends_by)
        with self._log.open("wb") as log:
            self._process = process = subprocess.Popen[bytes](
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
                env=with_mark(mark),
                **self._account.arguments,
            )
        pin(process.pid, self._bench.placement.server)
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise SubjectFailed(f"{self._name} did not start: {self._reason(self.stop())}")
            if answers():
                return process.pid
            time.sleep(0.02)
        raise SubjectFailed(f"{self._name} did not answer within {_START_S:.0f} s: {self.stop()}")

    def wait(self) -> None:
        """Until it has ended by itself."""
        if self._process is not None:
            self._process.wait()

    def stop(self) -> str:
        """Ends it at once; the tail of its log. Never raises."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                stop(self._process.pid, self._ends_by)
            self._process.wait()
            self._process = None
            self._bench.guard.forget(self._promise)
        try:
            with self._log.open("rb") as log:
                log.seek(max(0, self._log.stat().st_size - _LOG_TAIL))
                return log.read().decode(errors="replace").strip()
        except OSError:
            return ""


def check_socket(socket: Path) -> None:
    """A Unix socket can have this path. Raises InputError."""
    if len(str(socket).encode()) > _SOCKET_MOST:
        raise InputError(f"{socket}: too long a path for a Unix socket", "set TMPDIR to a shorter one")
