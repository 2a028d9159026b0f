"""Errors and hints on standard error, without terminal control sequences."""

from __future__ import annotations

import click

from steelyard.printable import LINES, printable
from steelyard.study.errors import InputError


def say(text: str) -> None:
    """Prints lines on standard error; control characters are escaped."""
    click.echo(printable(text, keep=LINES), err=True)


def complain(text: str, hint: str = "") -> None:
    """An error and its hint."""
    say(f"error: {text}")
    if hint:
        say(f"hint: {hint}")


def complain_of(error: InputError) -> None:
    """Each of several errors with its hint."""
    for one in error.errors:
        complain(str(one), one.hint)
