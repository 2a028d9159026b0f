"""One finished run of a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.run_tables.rows import Columns
from steelyard.study.plan import Slot


@dataclass(frozen=True)
class Run:
    """One finished run: its slot, its status, its rate, and its tables as columns.

    status: done, void or disturbed. A void run has tables only when its load ran to the end and no
    transaction succeeded. disturbed_share: of its busy time, lost to others; 0 where it was not disturbed.
    """

    slot: Slot
    attempt: int
    status: str
    cause: str
    started_at: str
    seconds: float
    tps: float = 0.0
    tables: Mapping[str, Columns] = field(default_factory=dict[str, Columns])
    server_log: str = ""
    disturbed_share: float = 0.0
    server_facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
