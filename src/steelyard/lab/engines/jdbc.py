"""The load engine for JDBC drivers: Java takes this process's place, and the lab's pipes with it."""

import json
import os
from collections.abc import Callable
from typing import Any

from steelyard.errors import InputError
from steelyard.lab.engines.result import LoadFailed
from steelyard.subjects.drivers.connection import command, with_own_programs, with_pieces


def run(plan: str, _say: Callable[[str], Any], lines: Any) -> str:
    """Runs the plan in Java. Does not return: the engine itself writes events and result.

    lines: the input of this process, of which a command may have been read with the plan. On a host of a
    fleet, Java and the jars are its own. Raises LoadFailed where they are missing.
    """
    given = json.loads(plan)
    jdbc = given["jdbc"]
    if "share" in given:
        try:
            jdbc = with_own_programs(jdbc)
        except InputError as missing:
            raise LoadFailed(str(missing)) from None
    # a plan may hold a password: it must not be a file that others can read
    descriptor = os.memfd_create("plan", 0)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(with_pieces(given).encode() + b"\n" + lines.rest())
    os.set_inheritable(descriptor, True)
    arguments = [*command(jdbc), f"/proc/self/fd/{descriptor}"]
    os.execv(arguments[0], arguments)


def missing(driver: str) -> tuple[str, str] | None:
    """What this machine lacks for a driver, and the remedy. driver: coordinates (fetched) or a jar's path."""
    try:
        with_own_programs({"driver": driver})
    except InputError as refusal:
        return str(refusal), refusal.hint
    return None
