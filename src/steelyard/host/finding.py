"""What the doctor says of one thing that it looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "missing"]


@dataclass(frozen=True)
class Finding:
    """One thing looked at. state: ok, warning (results suffer), missing (something will not work).

    hint: what to do about it, in one line.
    """

    name: str
    state: State
    text: str
    hint: str
