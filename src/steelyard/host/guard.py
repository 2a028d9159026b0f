"""Undoes what the lab did to the machine when the lab itself can no longer do it.

The guard is a process in a session of its own that holds the reading end of a pipe. Each change is
told before it is made; when the pipe closes, for whatever reason (also kill -9 of the lab), what
has not been taken back is undone in reverse order: servers and programs stopped, folders and control
groups removed, probes taken out of the kernel, values of the machine written back.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from steelyard.host.control_group import dissolve
from steelyard.host.knob import value_of, write
from steelyard.host.marked import end_marked, marked
from steelyard.host.uprobes import take_away

# PostgreSQL itself kills children that linger for 5 s after SIGQUIT
_GRACE_S = 10.0


class Guard:
    """The lab's end of the pipe. Use as a context: leaving it undoes what is left, and waits."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "steelyard.host.guard"],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._number = 0

    def stop_marked(self, mark: str, how: signal.Signals = signal.SIGKILL) -> int:
        """Promises that every process started with this mark (see `marked.with_mark`) is stopped.

        Told before they are started, so that there is no moment in which a server of a killed lab would
        stay: a child holds our end of the pipe until it has become the server, mark and all, and the
        guard looks for marks only when the last holder is gone. how: asked first, before SIGKILL.
        """
        return self._tell({"marked": mark, "signal": int(how)})

    def remove_folder(self, folder: Path) -> int:
        """Promises that the folder is removed."""
        return self._tell({"remove": str(folder)})

    def write_back(self, path: Path, old: str, ours: str) -> int:
        """Promises that the file gets its old value back, unless by then it holds another than ours."""
        return self._tell({"write": str(path), "old": old, "ours": ours})

    def dissolve(self, group: Path) -> int:
        """Promises that the control group is removed, and what it still holds moved to the one around it."""
        return self._tell({"dissolve": str(group)})

    def take_away(self, probes: str) -> int:
        """Promises that probes of this group are taken out of the kernel."""
        return self._tell({"probes": probes})

    def forget(self, number: int) -> None:
        """The change has been undone by the lab itself."""
        self._send({"forget": number})

    def _tell(self, change: dict[str, Any]) -> int:
        self._number += 1
        self._send({"number": self._number, **change})
        return self._number

    def _send(self, line: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(line) + "\n")
            self._process.stdin.flush()

    def __enter__(self) -> Guard:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()


def stop(pid: int, how: signal.Signals) -> None:
    """Ends a process and its group: asks with `how`, kills what is left after ten seconds."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, how)
        deadline = time.monotonic() + _GRACE_S
        while _alive(pid) and time.monotonic() < deadline:
            time.sleep(0.02)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False


def _write_back(path: Path, old: str, ours: str) -> None:
    try:
        if (now := value_of(path)) == ours:
            write(path, old)
        elif now != old:
            _tell_user(f"{path}: left at {now}: somebody else changed it from ours ({ours}); it was {old}")
    except OSError as error:
        _tell_user(f"{path}: could not be set back to {old}: {error.strerror}")


def _tell_user(text: str) -> None:
    # the terminal may be gone with the lab
    with suppress(OSError):
        sys.stderr.write(f"warning: {text}\n")
        sys.stderr.flush()


def _keep(lines: Iterable[str]) -> list[dict[str, Any]]:
    """The changes still standing when the pipe closes, in the order made."""
    standing: dict[int, dict[str, Any]] = {}
    for line in lines:
        with suppress(ValueError):
            change = json.loads(line)
            if "forget" in change:
                standing.pop(change["forget"], None)
            else:
                standing[change["number"]] = change
    return list(standing.values())


def main(pipe: TextIO = sys.stdin) -> None:
    """Waits for the pipe to close, then undoes."""
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(kind, signal.SIG_IGN)
    for change in reversed(_keep(pipe)):
        if "marked" in change:
            for pid in marked(change["marked"]):
                stop(pid, signal.Signals(change["signal"]))
            end_marked(change["marked"])
        elif "remove" in change:
            shutil.rmtree(change["remove"], ignore_errors=True)
        elif "dissolve" in change:
            dissolve(Path(change["dissolve"]))
        elif "probes" in change:
            take_away(change["probes"])
        elif "write" in change:
            _write_back(Path(change["write"]), change["old"], change["ours"])


if __name__ == "__main__":
    main()
