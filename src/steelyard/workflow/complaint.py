"""Errors and hints on standard error, without terminal control sequences."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.errors import InputError, typed
from steelyard.printable import LINES, printable

if TYPE_CHECKING:
    from steelyard.bundle.reader import Bundle


def program(folder: Path | None = None) -> str:
    """`steelyard` where that is on the PATH, else this call as it is typed in the folder (default: here)."""
    if shutil.which("steelyard"):
        return "steelyard"
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{typed(Path(sys.executable))} -m steelyard.cli"
    place = os.path.relpath(called, folder)
    # without a folder a shell looks for it on the path alone
    return typed(Path(place)) if os.sep in place else f"./{typed(Path(place))}"


def opened(path: Path) -> Bundle:
    """The bundle; damaged runs that it leaves out are listed on standard error. Raises InputError."""
    from steelyard.bundle.reader import Bundle

    bundle = Bundle(path)
    for _, text in bundle.inventory.notices:
        say(f"warning: {path}: {text}")
    return bundle


_MEMORY = "raise the limits of this shell or container: memory (ulimit -v), processes (ulimit -u)"
GONE = "the current folder was deleted"
# words in errors of a machine that has no more, and what to do
EXHAUSTED = {
    GONE: "change to a folder that exists",
    os.strerror(
        errno.ENOSPC
    ): "free space there, or name another folder: --bundle, -o, --html, or TMPDIR for temporary files",
    os.strerror(errno.EMFILE): "raise the limit of open files of this shell: ulimit -n 1024",
    os.strerror(errno.ENOMEM): _MEMORY,
    "MemoryError": _MEMORY,
    "OutOfMemory": _MEMORY,  # of DuckDB
    "can't start new thread": _MEMORY,
}


def say(text: str) -> None:
    """Prints lines on standard error; control characters are escaped."""
    click.echo(printable(text, keep=LINES), err=True)


def complain(text: str, hint: str = "") -> None:
    """An error and its hint."""
    say(f"error: {text}")
    if hint := "; ".join((*(way for words, way in EXHAUSTED.items() if words in text), *[hint] * bool(hint))):
        say(f"hint: {hint}")


def complain_of(error: InputError) -> None:
    """Each of several errors with its hint."""
    for one in error.errors:
        complain(str(one), one.hint)
