"""A finding of the doctor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "missing"]


@dataclass(frozen=True)
class Finding:
    """One item checked. state: ok, warning (less accurate results), missing (a feature does not work).

    hint: the remedy, in one line.
    """

    name: str
    state: State
    text: str
    hint: str
