"""Uprobes (probes at functions of programs): they stay in the kernel until removed, found by their group.

`uprobe_events` of tracefs, one probe per line: `p:group/name /path/of/program:0x1234 ...`.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from uuid import uuid4

from steelyard.host.kernel.tracefs import FOLDERS, mount_tracefs

_FILES = tuple(folder / "uprobe_events" for folder in FOLDERS)
# the kernel closes the descriptors of a killed process a moment later
_GRACE_S = 5.0


def new_group() -> str:
    """A unique group name that contains the lab's process id."""
    return f"steelyard_{os.getpid()}_{uuid4().hex[:8]}"


def standing(group: str) -> list[str]:
    """Names of the group's probes, in the kernel's format; none where the list cannot be read."""
    mount_tracefs()
    for file in _FILES:
        with suppress(OSError):
            names = [line.partition(" ")[0].partition(":")[2] for line in file.read_text().splitlines()]
            return [name for name in names if name.startswith(f"{group}/")]
    return []


def take_away(group: str) -> None:
    """Removes the group's probes, and waits until none is left; never raises."""
    deadline = time.monotonic() + _GRACE_S
    while names := standing(group):
        for name in names:
            with suppress(OSError):
                _append(f"-:{name}\n")
        if time.monotonic() > deadline:
            return
        time.sleep(0.01)


def _append(line: str) -> None:
    # appended: truncating the file would remove the probes of all programs
    file = next(file for file in _FILES if file.exists())
    handle = os.open(file, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(handle, line.encode())
    finally:
        os.close(handle)
