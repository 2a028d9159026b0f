"""What is wrong, and how to mend it: on standard error, as text that steers no terminal."""

from __future__ import annotations

import click

from steelyard.printable import LINES, printable


def say(text: str) -> None:
    """A line or several on standard error, whatever stands in them."""
    click.echo(printable(text, keep=LINES), err=True)


def complain(text: str, hint: str = "") -> None:
    """An error and its hint."""
    say(f"error: {text}")
    if hint:
        say(f"hint: {hint}")
