"""A server process of the lab: marked, confined, registered with the guard, on the server's CPUs, logged."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from steelyard.errors import InputError
from steelyard.host.cpus.scheduling import pin
from steelyard.host.processes.confinement import confined
from steelyard.host.processes.limits import TimedOut, within
from steelyard.host.processes.process_mark import Mark, end_marked, imprint, marked, with_mark
from steelyard.study.key_types import Settings
from steelyard.study.passwords import is_secret, variables
from steelyard.study.study import Option
from steelyard.subjects import Bench, SubjectFailed
from steelyard.subjects.servers.identity import (
    Account,
    Errors,
    Identity,
    account_of_servers,
    listening_elsewhere,
)
from steelyard.subjects.servers.network import listening

_START_S = 60.0
_END_S = 30.0
# longer than the kept part: secrets are removed before the end is cut out
_LOG_TAIL = 64_000
# sun_path holds 108 bytes with the final zero (unix(7))
_SOCKET_BYTES_MAX = 107


def requested(bench: Bench, defaults: Settings, option: Option) -> Settings:
    """Settings of a server of the lab: its defaults, those of `durability`, the option's own."""
    durability: Settings = bench.kind.durability_off if bench.study.subject.durability == "off" else {}
    return {**defaults, **durability, **option.server}


class Daemon:
    """A server program of the lab, one process at a time: its account, where it listens, its log.

    name: for messages. log: file for its output. socket: name of its Unix socket, for a port; port: where
    only this machine loads it. ends_by: the signal that ends it at once. reason: finds the cause of a failed
    start in a log.
    """

    def __init__(
        self,
        bench: Bench,
        name: str,
        log: str,
        socket: str,
        port: int,
        ends_by: signal.Signals = signal.SIGKILL,
        reason: Callable[[str], str] = str,
    ) -> None:
        self._bench = bench
        self._name = name
        self._log = bench.folder / log
        self._ends_by = ends_by
        self._reason = reason
        self._process: subprocess.Popen[bytes] | None = None
        self._mark = Mark()
        self._promise = 0
        self.account = account_of_servers()
        self.account.admit(bench.folder)
        self.folder = self.account.private(bench.folder / "sockets")
        self.network = listening(bench.study, port)
        self.socket = self.folder / socket.format(self.network.port)
        self.identity = Identity(name, bench.folder)
        self.limit_s = bench.study.plan.set_up_limit_s
        if len(str(self.socket).encode()) > _SOCKET_BYTES_MAX:
            hint = "set TMPDIR to a shorter one"
            raise InputError(f"{self.socket}: too long a path for a Unix socket", hint)

    def start(
        self,
        command: Sequence[str | Path],
        answer: Callable[[], object],
        errors: Errors,
        home: Path,
        folders: Iterable[str | Path] = (),
    ) -> int:
        """Starts it and waits until `answer` raises none of these errors; its pid. home: its working folder.

        It listens on its socket and on the network's address alone, and writes into home, the folder of the
        socket and `folders` alone. Raises SubjectFailed.
        """
        self._mark = Mark.of_server(home, Path(command[0]))
        self._promise = self._bench.guard.stop_marked(self._mark, self._ends_by)
        identity = Identity(self._name, home)
        identity.write(self.account)
        self._log.unlink(missing_ok=True)
        # other users cannot read it: it may contain clients' statements
        private = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(private, "wb") as log:
            self._process = process = confined(
                lambda: subprocess.Popen[bytes](
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    **_apart(self.account, self._mark, self.folder, variables(self._bench.study)),
                ),
                [home, self.folder, *map(Path, folders)],
                [self.network.port] if self.network.address else [],
            )
        self._mark = self._mark.started(process.pid)
        self.identity = replace(identity, pid=process.pid)
        self._bench.guard.started(self._promise, self._mark)
        pin(process.pid, self._bench.placement.server)
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise SubjectFailed(f"{self._name} did not start: {self._reason(self.stop())}")
            with suppress(*errors):
                answer()
                self.compare_listening(self.network.places)
                return process.pid
            time.sleep(0.02)
        raise SubjectFailed(f"{self._name} did not answer in {_START_S:.0f} s: {self._reason(self.stop())}")

    def compare_listening(self, meant: Iterable[str]) -> None:
        """Stops it if it listens anywhere but on its socket: SubjectFailed. meant: further `address:port`."""
        if elsewhere := listening_elsewhere(marked(self._mark), {str(self.socket), *meant}):
            self.stop()
            raise SubjectFailed(f"{self._name} listens where it should not, and was stopped: {elsewhere}")

    def wait(self, by: int = 0) -> None:
        """Waits until it has ended, by itself or asked by a signal. Raises SubjectFailed if it does not."""
        if self._process is not None:
            self._process.send_signal(by)
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                raise SubjectFailed(f"{self._name} did not end within {_END_S:.0f} s") from None

    def finish(
        self,
        command: Sequence[str | Path],
        home: Path | None = None,
        stdin: BinaryIO | None = None,
        folders: Iterable[Path] = (),
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program that creates a server's data to its end; its output.

        The guard ends it if the lab ends meanwhile. home: the working folder of its processes; default: the
        folder of the socket; stdin: its standard input. It writes into home and `folders` alone.
        Raises SubjectFailed when it takes longer than plan.set_up_limit_s.
        """
        # the server's own processes are to be distinguished from those of the program that fills it
        home = home or self.folder
        guard, mark = self._bench.guard, Mark.of_server(home, Path(command[0]))
        promise = guard.stop_marked(mark)
        try:
            process = confined(
                lambda: subprocess.Popen(
                    command,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    errors="replace",
                    stdin=subprocess.DEVNULL if stdin is None else stdin,
                    **_apart(self.account, mark, home),
                ),
                [home, *folders],
            )
            with process:
                try:
                    output, words = process.communicate(timeout=self.limit_s)
                except subprocess.TimeoutExpired:
                    name = Path(command[0]).name
                    raise SubjectFailed(
                        f"{name} took longer than {self.limit_s:g} s (plan.set_up_limit_s)"
                    ) from None
                finally:
                    process.kill()
        except BaseException:
            # it may start only now: the guard ends it at last
            end_marked(mark)
            raise
        guard.undo(promise)
        return subprocess.CompletedProcess(command, process.returncode, output, words)

    def filled(
        self,
        draft: Path,
        data: Path,
        load: Callable[[], None],
        errors: Errors,
        words: Callable[[Exception], str] = str,
        by: int = 0,
    ) -> None:
        """Fills the data directory `draft` of the server that runs, and calls it `data` when it has ended.

        errors: of the load, in words. by: ends it where the load does not. Raises SubjectFailed.
        """
        try:
            loaded(self.limit_s, load, errors, words)
            self.wait(by)
        finally:
            self.stop()
        draft.rename(data)

    def ended(self) -> str:
        """How it ended before it was stopped, as a sentence; '' while it runs."""
        code = None if self._process is None else self._process.poll()
        if code is None:
            return ""
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"{self._name} ended during the run with {how}"

    def stop(self) -> str:
        """Ends it at once, with all its processes; the tail of its log. Never raises."""
        if self._process is not None:
            self._bench.guard.undo(self._promise)
            self._process.wait()
            self._process = None
            with suppress(OSError):
                self.identity.forget()
        try:
            with self._log.open("rb") as log:
                log.seek(max(0, self._log.stat().st_size - _LOG_TAIL))
                return log.read().decode(errors="replace").strip()
        except OSError:
            return ""


def loaded(
    limit_s: float,
    load: Callable[[], None],
    errors: Errors,
    words: Callable[[Exception], str] = str,
) -> None:
    """Loads the data within plan.set_up_limit_s. Raises SubjectFailed."""
    try:
        within(limit_s, "loading the data", load)
    except TimedOut as error:
        raise SubjectFailed(f"{error} (plan.set_up_limit_s)") from None
    except errors as error:
        raise SubjectFailed(f"the data could not be loaded: {words(error)}") from error


def _apart(account: Account, mark: Mark, scratch: Path, named: Container[str] = ()) -> dict[str, Any]:
    """Arguments that start a server apart from the lab, as its account, marked. named: study's variables."""
    kept = with_mark(mark.value, without=lambda name: is_secret(name) or name.removesuffix("_FILE") in named)
    return {
        "cwd": "/",
        "start_new_session": True,
        # the study's SQL may read the server's environment
        "env": {**kept, "TMPDIR": str(scratch)},
        "preexec_fn": lambda: imprint(mark.value),
        **account.arguments,
    }


@dataclass(frozen=True)
class Running:
    """programs: the folder of its programs, or the program; data: the directory that its data come from."""

    pid: int
    programs: Path
    data: Path
    settings: Settings
