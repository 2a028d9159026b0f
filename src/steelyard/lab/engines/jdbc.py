"""The load engine for JDBC drivers: Java takes this process's place, and the lab's pipes with it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from steelyard.subjects.drivers.connection import command


def run(plan: str, _say: Callable[[str], Any], lines: Any) -> str:
    """Runs the plan in Java. Does not return: the engine itself writes events and result.

    lines: the input of this process, of which a command may have been read with the plan.
    """
    jdbc = json.loads(plan)["jdbc"]
    # a plan may hold a password: it must not be a file that others can read
    descriptor = os.memfd_create("plan", 0)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(plan.encode() + b"\n" + lines.rest())
    os.set_inheritable(descriptor, True)
    arguments = [*command(jdbc), f"/proc/self/fd/{descriptor}"]
    os.execv(arguments[0], arguments)
