"""A finding of the doctor."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "optional", "missing"]


@dataclass(frozen=True)
class Finding:
    """One item checked.

    state: ok, warning (less accurate results), optional (not available, and most studies do without),
    missing (studies cannot run).

    hint: the remedy, in one line.
    """

    name: str
    state: State
    text: str
    hint: str


def privileged(capability: str = "the capability") -> str:
    """Remedy for a missing permission: be root; for root itself, a container or kernel that permits it."""
    if os.geteuid() == 0:
        return f"run where {capability} is permitted, such as docker run --privileged"
    return "run as root"
