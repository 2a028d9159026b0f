"""A file of the kernel that holds one value of the machine: read, written, held against others."""

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
    """The value now, blanks as the kernel prints them made one. Raises OSError."""
    return chosen(" ".join(path.read_text(encoding="utf-8", errors="replace").split()))


def write(path: Path, value: str) -> None:
    """Writes in one call, as the kernel wants it. Raises OSError; whoever asks reads back."""
    # an existing file only: a mistyped name must not make one
    handle = os.open(path, os.O_WRONLY | os.O_TRUNC)
    try:
        os.write(handle, f"{value}\n".encode())
    finally:
        os.close(handle)


def hold(path: Path) -> int:
    """A descriptor that keeps other laboratories from this file until closed.

    Raises BlockingIOError when another holds it.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle
