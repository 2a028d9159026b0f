"""Probes at functions of programs: they stay in the kernel until somebody takes them away, by their group.

`uprobe_events` of tracefs, one a line: `p:group/name /path/of/program:0x1234 ...`.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from uuid import uuid4

from steelyard.host.kernel.tracefs import FOLDERS, mount_tracefs

_FILES = tuple(folder / "uprobe_events" for folder in FOLDERS)
# what a killed process had open on them is closed a moment later
_GRACE_S = 5.0


def new_group() -> str:
    """A name that nobody else uses, with our process in it."""
    return f"steelyard_{os.getpid()}_{uuid4().hex[:8]}"


def standing(group: str) -> list[str]:
    """Names of the group's probes, as the kernel wants them; none where it may not be asked."""
    mount_tracefs()
    for file in _FILES:
        with suppress(OSError):
            names = [line.split()[0].partition(":")[2] for line in file.read_text().splitlines()]
            return [name for name in names if name.startswith(f"{group}/")]
    return []


def take_away(group: str) -> None:
    """Takes the group's probes away, and waits until none is left; never raises."""
    deadline = time.monotonic() + _GRACE_S
    while names := standing(group):
        for name in names:
            with suppress(OSError):
                _tell(f"-:{name}\n")
        if time.monotonic() > deadline:
            return
        time.sleep(0.01)


def _tell(line: str) -> None:
    # appended: to open it for writing anew would take everybody's probes away
    file = next(file for file in _FILES if file.exists())
    handle = os.open(file, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(handle, line.encode())
    finally:
        os.close(handle)
