"""The kernel's setting files, read, written, locked, put back; and its uprobes, placed and removed.

Uprobes (probes at functions of programs) stay in the kernel until removed, found by their group:
`uprobe_events` of tracefs, one probe per line: `p:group/name /path/of/program:0x1234 ...`.
"""

import ctypes
import fcntl
import os
import re
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4


@dataclass(frozen=True)
class Saved:
    """A file's value before a study. ours: the values that it may have by the study; (): any."""

    old: str
    ours: Collection[str] = ()


def chosen(text: str) -> str:
    """`always [madvise] never` -> madvise; `none (voluntary) full` -> voluntary."""
    found = re.search(r"\[([\w+-]+)\]", text) or re.fullmatch(r"(?:\w+ )*\((\w+)\)(?: \w+)*", text)
    return found[1] if found else text


def value_of(path: Path) -> str:
    """The current value, each run of blanks as a single blank. Raises OSError."""
    return chosen(" ".join(path.read_text(encoding="utf-8", errors="replace").split()))


def values_of(paths: Collection[Path]) -> dict[Path, str]:
    """The current values of the files that are still there: those of a network device go with it."""
    return {path: value_of(path) for path in paths if path.exists()}


def write(path: Path, value: str, how: int = os.O_TRUNC) -> None:
    """Writes the value in one call, as the kernel requires. Raises OSError; the caller reads back.

    how: O_APPEND for a file that keeps its other lines.
    """
    # an existing file only: a mistyped name must not create a file
    handle = os.open(path, os.O_WRONLY | how)
    try:
        os.write(handle, f"{value}\n".encode())
    finally:
        os.close(handle)


def settle(values: Mapping[Path, str], passes: int = 3) -> dict[Path, str]:
    """Writes files that the kernel couples until each has its value. The problem by file."""
    refused: dict[Path, str] = {}
    # the kernel sets the idle one of a pair to 0 when the other is written, and may refuse 0 itself
    for path, value in sorted(values.items(), key=lambda item: item[1] == "0"):
        try:
            if value_of(path) != value:
                write(path, value)
        except OSError as error:
            refused[path] = str(error.strerror)
    problems = {
        path: refused.get(path) or f"the machine did not take it, it has {found}"
        for path, found in values_of(values).items()
        if found != values[path]
    }
    return settle(values, passes - 1) if problems and passes > 1 else problems


def put_back(saved: Mapping[Path, Saved]) -> list[str]:
    """Restores coupled files, unless another program changed one of them. The problems, as sentences."""
    found = values_of(saved)
    if any(its.ours and found.get(path, its.old) not in its.ours for path, its in saved.items()):
        return [
            f"another program changed {path} to {value}: left unchanged; before the run it was {old}"
            for path, value in found.items()
            if value != (old := saved[path].old)
        ]
    return [
        f"{path} could not be set back to {saved[path].old}: {problem}"
        for path, problem in settle({path: its.old for path, its in saved.items()}).items()
    ]


def hold(path: Path) -> int:
    """A descriptor that locks a file against other studies until closed. Raises OSError, also if locked."""
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise OSError(error.errno, "another study on this machine is changing it") from None
    return handle


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
                # appended: truncating the file would remove the probes of all programs
                write(next(file for file in _FILES if file.exists()), f"-:{name}", os.O_APPEND)
        if time.monotonic() > deadline:
            return
        time.sleep(0.01)
