"""Access to the kernel's tracepoints and uprobes: root mounts tracefs privately for the run.

The mount is in a mount namespace of the calling thread and its children, and ends with them: nothing has
to be undone. Mounts made outside meanwhile remain visible (MS_SLAVE).
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

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
        (
            f"mount {FOLDERS[0]}",
            lambda: libc.mount(b"nodev", os.fsencode(FOLDERS[0]), b"tracefs", 0, None),
        ),
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
