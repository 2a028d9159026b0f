"""Undoes the lab's changes to the machine when the lab itself no longer can.

The guard is a process in its own session that reads from a pipe. The lab writes each change into the pipe
before making it. When the pipe closes, for any reason (also kill -9 of the lab), the guard undoes, in
reverse order, all changes that the lab has not undone itself: it ends servers and programs, removes folders
and control groups, removes probes from the kernel, and restores kernel settings.

The lab replaces a guard that was killed: the new guard gets all promises.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any, Self, TextIO

from steelyard.host.cpus.control_group import dissolve
from steelyard.host.kernel import Saved, put_back, take_away
from steelyard.host.processes.process_mark import Mark, end_marked

_GUARDS_MAX = 20
_END_S = 60.0
_LATE_S = 5.0
_Change = dict[str, Any]


class GuardLost(Exception):
    """No guard stays alive on this machine: nothing would undo the lab's changes."""


class Guard:
    """The lab's end of the pipe. Use as a context: leaving it undoes the remaining changes, and waits."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._standing: dict[int, _Change] = {}
        self._numbers = count(1)
        self._guards = 0
        self._over = False
        self._process = self._begin()

    def stop_marked(self, mark: Mark, how: signal.Signals = signal.SIGKILL) -> int:
        """Promises that every process with this mark (see `process_mark.with_mark`) is ended.

        Call it before they start, so that no server outlives a killed lab: a child keeps the lab's end of
        the pipe open until it has become the server, with its mark, and the guard searches for marks only
        when all copies of that end are closed. how: signal sent before SIGKILL.
        """
        return self._promise({"marked": asdict(mark), "signal": int(how)})

    def started(self, number: int, mark: Mark) -> None:
        """Completes a promise of stop_marked with the mark of the started process."""
        self._send(number, {**self._standing[number], "marked": asdict(mark)})

    def remove_folder(self, folder: Path) -> int:
        """Promises that the folder is removed."""
        return self._promise({"remove": str(folder)})

    def write_back(self, saved: Mapping[Path, Saved]) -> int:
        """Promises that coupled files get their old values back, if no other program changed one by then."""
        return self._promise({"write": {str(path): asdict(its) for path, its in saved.items()}})

    def dissolve(self, group: Path) -> int:
        """Promises that the control group is removed, and its processes are moved to the parent group."""
        return self._promise({"dissolve": str(group)})

    def take_away(self, probes: str) -> int:
        """Promises that the probes of this group are removed from the kernel."""
        return self._promise({"probes": probes})

    def forget(self, number: int) -> None:
        """Withdraws a promise: the lab itself has undone the change."""
        self._send(number, None)

    def undo(self, number: int) -> None:
        """Undoes a change now, and withdraws its promise; nothing where it stands no longer."""
        if change := self._standing.get(number):
            _undo(change)
            self.forget(number)

    def check(self) -> None:
        """Raises GuardLost when no guard stays alive."""
        if self._guards > _GUARDS_MAX:
            raise GuardLost(f"the guard, which undoes changes of a dead lab, was killed {_GUARDS_MAX} times")

    def _promise(self, change: _Change) -> int:
        self._send(number := next(self._numbers), change)
        return number

    def _send(self, number: int, change: _Change | None) -> None:
        """change: None withdraws the promise."""
        with self._lock:
            if change is None:
                self._standing.pop(number, None)
            else:
                self._standing[number] = change
            # _keep_alive replaces a guard that has ended, and sends it the open promises
            with suppress(OSError):
                self._write(self._process, number, change)

    def _begin(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "steelyard.host.processes.guard"],
            stdin=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._guards += 1
        with suppress(OSError):
            for number, change in self._standing.items():
                self._write(process, number, change)
        threading.Thread(target=self._keep_alive, args=(process,), daemon=True).start()
        return process

    def _keep_alive(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        with self._lock:
            if self._over or self._guards > _GUARDS_MAX:
                return
            _warn("the guard process was killed; a new guard takes over")
            self._process = self._begin()

    @staticmethod
    def _write(process: subprocess.Popen[bytes], number: int, change: _Change | None) -> None:
        # in one call: an interrupt between two would leave half a line
        assert process.stdin is not None
        line = json.dumps({"number": number, "change": change})
        os.write(process.stdin.fileno(), f"{line}\n".encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._over = True
            process = self._process
        assert process.stdin is not None
        process.stdin.close()
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            _warn(f"the guard (process {process.pid}) still undoes changes after {_END_S:.0f} s")


def _warn(text: str) -> None:
    # the terminal may be gone with the lab
    with suppress(OSError):
        sys.stderr.write(f"warning: {text}\n")
        sys.stderr.flush()


def _undo(change: _Change) -> None:
    if "marked" in change:
        end_marked(Mark(**change["marked"]), signal.Signals(change["signal"]))
    elif "remove" in change:
        folder, deadline = Path(change["remove"]), time.monotonic() + _LATE_S
        # a program that ends only now may still write into it
        while folder.exists() and time.monotonic() < deadline:
            shutil.rmtree(folder, ignore_errors=True)
            time.sleep(0.02)
    elif "dissolve" in change:
        dissolve(Path(change["dissolve"]))
    elif "probes" in change:
        take_away(change["probes"])
    elif "write" in change:
        for problem in put_back({Path(path): Saved(**its) for path, its in change["write"].items()}):
            _warn(problem)


def main(pipe: TextIO = sys.stdin) -> None:
    """Waits for the pipe to close, then undoes."""
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(kind, signal.SIG_IGN)
    standing: dict[int, _Change | None] = {}
    for line in pipe:
        with suppress(ValueError):
            entry = json.loads(line)
            standing[entry["number"]] = entry["change"]
    for change in filter(None, reversed(standing.values())):
        _undo(change)


if __name__ == "__main__":
    main()
