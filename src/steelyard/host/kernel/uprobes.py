"""Uprobes (probes at functions of programs): they stay in the kernel until removed, found by their group.

`uprobe_events` of tracefs, one probe per line: `p:group/name /path/of/program:0x1234 ...`.
"""

import ctypes
import os
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

FOLDERS = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))

_CLONE_NEWNS = 0x0002_0000
_MS_REC, _MS_SLAVE = 0x4000, 0x8_0000


def tracefs_folder() -> Path | None:
    """The folder of a readable tracefs; None if there is none."""
    return next((folder for folder in FOLDERS if os.access(folder / "events", os.R_OK)), None)


def mount_tracefs() -> str:
    """Mounts tracefs for this thread and its children, if run by root and not mounted; '' or the failure."""
    if tracefs_folder() is not None:
        return ""
    if os.geteuid() != 0:
        return "not mounted, or not readable by this user"
    libc = ctypes.CDLL(None, use_errno=True)
    steps = (
        ("unshare", lambda: libc.unshare(_CLONE_NEWNS)),
        ("mount --make-rslave /", lambda: libc.mount(b"none", b"/", None, _MS_REC | _MS_SLAVE, None)),
        (f"mount {FOLDERS[0]}", lambda: libc.mount(b"nodev", os.fsencode(FOLDERS[0]), b"tracefs", 0, None)),
    )
    for name, step in steps:
        if step() != 0:
            return f"{name}: {os.strerror(ctypes.get_errno())}"
    return ""


def with_cause(refusal: str, cause: str) -> str:
    """A probe's refusal; for root, the cause of the failed mount instead of the advice to be root."""
    if cause and refusal.startswith("tracefs") and os.geteuid() == 0:
        return f"tracefs cannot be mounted: {cause} (needs CAP_SYS_ADMIN and a kernel with CONFIG_FTRACE)"
    return refusal


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
