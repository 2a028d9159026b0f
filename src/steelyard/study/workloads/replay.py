"""The workload of captured traffic: sessions of statements, at the original pace or without pauses."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from steelyard.study.key_types import KeyPath, only_if
from steelyard.study.workloads.transactions import SqlWorkload


class ReplayWorkload(SqlWorkload):
    """A capture, executed once at each load point. Each client plays one session after another.

    Its unit of work is the statement. At the original pace latency counts from the moment at which the
    statement was executed in the capture, so it contains what the server is late by.
    """

    WORK = "statement"
    steady = False
    counts_transactions = False
    CLIENT = "handle threads deadline_ms pace speed"
    ONLY_IF = only_if(speed="pace = original")

    kind: Literal["replay"]
    capture: str = Field(min_length=1)
    """file of a capture by `steelyard capture-load`, from the folder of the study file"""
    pace: Literal["original", "asap"] = "original"
    """original: each statement when it was executed in the capture, or as soon as those before it in its
    session have ended; asap: a session without pauses"""
    speed: float = Field(default=1.0, ge=1e-3, le=1e6)
    """pace = 'original': 2 plays an hour in half an hour"""
    handle: Literal["none", "unnamed", "named", "per-use", "left"] = "named"
    """of statements that were captured with bound values, as of statements; others are sent as they were; not
    none"""

    @model_validator(mode="after")
    def _binds_values(self) -> Self:
        if self.handle == "none":
            raise ValueError("handle: 'none' binds no values: use unnamed, named, per-use or left")
        return self

    def idle(self) -> Iterator[tuple[KeyPath, str]]:
        """Keys of workloads that draw their transactions."""
        for key in ("mix", "retries", "arrival"):
            yield (key,), "a replay executes what was captured, in its order"
        yield from super().idle()

    def load_keys(self) -> dict[str, Any]:
        """Handle, capture and pace, limits."""
        return {
            **super().load_keys(),
            "capture": self.capture,
            "arrival": {"kind": "replay", "speed": None if self.pace == "asap" else self.speed},
        }

    @property
    def open_loop(self) -> bool:
        """Whether statements are due at given times."""
        return self.pace == "original"

    def summary(self) -> dict[str, str]:
        """The capture and its pace, threads."""
        pace = "as fast as each session allows" if self.pace == "asap" else f"{self.speed:g} x original"
        return {
            "workload": f"{self.kind} of {Path(self.capture).name}",
            "pace": pace,
            "threads": str(self.threads),
        }
