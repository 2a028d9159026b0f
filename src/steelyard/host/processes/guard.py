"""Undoes what the lab did to the machine when the lab itself can no longer do it.

The guard is a process in a session of its own that holds the reading end of a pipe. The lab writes each
change into it before it makes the change. When the pipe closes, for whatever reason (also kill -9 of the
lab), the guard undoes in reverse order what the lab has not taken back: servers and programs ended, folders
and control groups removed, probes taken out of the kernel, values of the machine written back.

The lab notices when its guard is gone: another one takes over with all promises.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from steelyard.host.cpus.control_group import dissolve
from steelyard.host.kernel.setting import value_of, write
from steelyard.host.kernel.uprobes import take_away
from steelyard.host.processes.process_mark import Mark, end_marked

_GUARDS_MAX = 20
_END_S = 60.0


class GuardLost(Exception):
    """No guard stays alive on this machine: nothing would undo what the lab does."""


class Guard:
    """The lab's end of the pipe. Use as a context: leaving it undoes what is left, and waits."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._standing: dict[int, dict[str, Any]] = {}
        self._number = 0
        self._guards = 0
        self._over = False
        self._process = self._begin()

    def stop_marked(self, mark: Mark, how: signal.Signals = signal.SIGKILL) -> int:
        """Promises that every process with this mark (see `marked.with_mark`) is ended.

        To be called before they are started, so that there is no moment in which a server of a killed lab
        would stay: a child holds our end of the pipe until it has become the server, mark and all, and the
        guard looks for marks only when the last holder is gone. how: sent first, before SIGKILL.
        """
        return self._promise({"marked": asdict(mark), "signal": int(how)})

    def started(self, number: int, mark: Mark) -> None:
        """Adds to a promise of stop_marked what is known now that the process was started."""
        self._send(number, {**self._standing[number], "marked": asdict(mark)})

    def remove_folder(self, folder: Path) -> int:
        """Promises that the folder is removed."""
        return self._promise({"remove": str(folder)})

    def write_back(self, path: Path, old: str, ours: str) -> int:
        """Promises that the file gets its old value back, unless by then it holds another than ours."""
        return self._promise({"write": str(path), "old": old, "ours": ours})

    def dissolve(self, group: Path) -> int:
        """Promises that the control group is removed, and what it still holds moved to the one around it."""
        return self._promise({"dissolve": str(group)})

    def take_away(self, probes: str) -> int:
        """Promises that probes of this group are taken out of the kernel."""
        return self._promise({"probes": probes})

    def forget(self, number: int) -> None:
        """The change has been undone by the lab itself."""
        self._send(number, None)

    def check(self) -> None:
        """Raises GuardLost when no guard stays alive."""
        if self._guards > _GUARDS_MAX:
            raise GuardLost(
                f"the guard, which undoes changes when the lab dies, was killed {_GUARDS_MAX} times"
            )

    def _promise(self, change: dict[str, Any]) -> int:
        self._number += 1
        self._send(self._number, change)
        return self._number

    def _send(self, number: int, change: dict[str, Any] | None) -> None:
        """change: None takes the promise back."""
        with self._lock:
            if change is None:
                self._standing.pop(number, None)
            else:
                self._standing[number] = change
            # a guard that is gone is replaced by _keep_alive, which knows what is standing
            with suppress(OSError):
                self._write(self._process, {"number": number, "change": change})

    def _begin(self) -> subprocess.Popen[bytes]:
        """Another guard, with the promises that stand."""
        process = subprocess.Popen(
            [sys.executable, "-m", "steelyard.host.processes.guard"],
            stdin=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._guards += 1
        with suppress(OSError):
            for number, change in self._standing.items():
                self._write(process, {"number": number, "change": change})
        threading.Thread(target=self._keep_alive, args=(process,), daemon=True).start()
        return process

    def _keep_alive(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        with self._lock:
            if self._over or self._guards > _GUARDS_MAX:
                return
            _warn("the guard process was killed; another one takes over its promises")
            self._process = self._begin()

    @staticmethod
    def _write(process: subprocess.Popen[bytes], line: dict[str, Any]) -> None:
        # in one piece: an interrupt between two would leave half a line
        assert process.stdin is not None
        os.write(process.stdin.fileno(), (json.dumps(line) + "\n").encode())

    def __enter__(self) -> Guard:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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


def _write_back(path: Path, old: str, ours: str) -> None:
    try:
        if (now := value_of(path)) == ours:
            write(path, old)
        elif now != old:
            _warn(f"{path}: left at {now}: somebody else changed it from ours ({ours}); it was {old}")
    except OSError as error:
        _warn(f"{path}: could not be set back to {old}: {error.strerror}")


def _warn(text: str) -> None:
    # the terminal may be gone with the lab
    with suppress(OSError):
        sys.stderr.write(f"warning: {text}\n")
        sys.stderr.flush()


def _keep(lines: Iterable[str]) -> list[dict[str, Any]]:
    """The changes still standing when the pipe closes, in the order made."""
    standing: dict[int, dict[str, Any]] = {}
    for line in lines:
        with suppress(ValueError):
            entry = json.loads(line)
            if entry["change"] is None:
                standing.pop(entry["number"], None)
            else:
                standing[entry["number"]] = entry["change"]
    return list(standing.values())


def _undo(change: dict[str, Any]) -> None:
    if "marked" in change:
        end_marked(Mark(**change["marked"]), signal.Signals(change["signal"]))
    elif "remove" in change:
        shutil.rmtree(change["remove"], ignore_errors=True)
    elif "dissolve" in change:
        dissolve(Path(change["dissolve"]))
    elif "probes" in change:
        take_away(change["probes"])
    elif "write" in change:
        _write_back(Path(change["write"]), change["old"], change["ours"])


def main(pipe: TextIO = sys.stdin) -> None:
    """Waits for the pipe to close, then undoes."""
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(kind, signal.SIG_IGN)
    for change in reversed(_keep(pipe)):
        _undo(change)


if __name__ == "__main__":
    main()
