"""Errors and hints on standard error, without terminal control sequences."""

from __future__ import annotations

import errno
import os

import click

from steelyard.printable import LINES, printable
from steelyard.study.errors import InputError

_MEMORY = "raise the limits of this shell or container: memory (ulimit -v), processes (ulimit -u)"
# words in errors of a machine that has no more, and what to do
EXHAUSTED = {
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
