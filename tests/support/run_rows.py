"""Rows of a run in a bundle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SECOND = 10**9


def head(option: str, block: int, attempt: int = 1, status: str = "done") -> dict[str, list[Any]]:
    return {
        "option": [option],
        "block": [block],
        "slot": [1],
        "attempt": [attempt],
        "status": [status],
        "cause": [""],
        "started_at": ["2026-01-01T00:00:00+00:00"],
        "seconds": [10.0],
    }


def phases() -> dict[str, Sequence[Any]]:
    """Warm-up 0-1 s, measure 1-5 s, cool-down 5-6 s, after from 6 s."""
    return {
        "point": [0, 0, 0, 0],
        "clients": [2, 2, 2, 0],
        "phase": ["warm-up", "measure", "cool-down", "after"],
        "start_ns": [0, SECOND, 5 * SECOND, 6 * SECOND],
        "end_ns": [SECOND, 5 * SECOND, 6 * SECOND, 7 * SECOND],
    }
