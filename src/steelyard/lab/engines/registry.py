"""The lab's engines by name: what drives a server, or does the measured work in process."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

Engine = Callable[[str, Callable[[str], None]], str]


class LoadFailed(Exception):
    """The engine could not continue: the text gives the cause."""


# a function of the plan (JSON) and a listener (lines of JSON) that returns the result (JSON)
ENGINES: dict[str, str] = {
    "load": "steelyard._core:load_run",
    "latch": "steelyard._core:latch_run",
    "dispatch": "steelyard.lab.engines.dispatcher:run",
    "command": "steelyard.lab.engines.programs:run",
    "guest": "steelyard.lab.engines.guests:run",
}
# engines that report at least once per second, in every phase, that they work
REPORT_THEMSELVES = ("load", "latch")


def engine(name: str) -> Engine:
    """The engine of this name. Raises KeyError."""
    module, _, function = ENGINES[name].partition(":")
    return getattr(import_module(module), function)
