"""A kernel setting file, with one value of the machine: read, write, lock."""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path


def chosen(text: str) -> str:
    """`always [madvise] never` -> madvise; `none (voluntary) full` -> voluntary."""
    found = re.search(r"\[([\w+-]+)\]", text) or re.fullmatch(r"(?:\w+ )*\((\w+)\)(?: \w+)*", text)
    return found[1] if found else text


def value_of(path: Path) -> str:
    """The current value, each run of blanks as a single blank. Raises OSError."""
    return chosen(" ".join(path.read_text(encoding="utf-8", errors="replace").split()))


def write(path: Path, value: str) -> None:
    """Writes the value in one call, as the kernel requires. Raises OSError; the caller reads back."""
    # an existing file only: a mistyped name must not create a file
    handle = os.open(path, os.O_WRONLY | os.O_TRUNC)
    try:
        os.write(handle, f"{value}\n".encode())
    finally:
        os.close(handle)


def hold(path: Path) -> int:
    """A descriptor that locks this file against other studies until closed.

    Raises BlockingIOError when another study has locked it.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle
