"""The kernel's probes beside the monitors: profile, locks, scheduling, latches and their gets."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from steelyard.study.key_types import Strict


class Probes(Strict):
    """Sources beside the monitors. Latches are on by default, all else is off.

    Scheduling and gets have diagnostic phases of their own after each load point, which are not measured:
    scheduling-trace and latch-count.
    """

    profile_hz: int = Field(
        default=0, ge=0, le=1000, description="samples of stacks per second and CPU; 0: no profile"
    )
    locks: bool = Field(default=False, description="waits for kernel locks, by call site")
    scheduling_trace_s: float = Field(
        default=0,
        ge=0,
        le=60,
        description="seconds of the phase scheduling-trace, which records scheduling events and is not"
        " measured: recording costs about 10 % of throughput; 0: none",
    )
    latches: bool = Field(
        default=True,
        description="sleeps for latches of a PostgreSQL that steelyard starts, by tranche, where permitted",
    )

    latch_count_s: float = Field(
        default=0,
        ge=0,
        le=60,
        description="seconds of the phase latch-count, which counts the gets of those latches and is not"
        " measured: counting costs 5 to 50 % of throughput; 0: none",
    )

    @property
    def of_the_kernel(self) -> dict[str, Any]:
        """The probes that need no server with known latches: all but latches and their gets."""
        return self.model_dump(exclude={"latches", "latch_count_s"})

    @property
    def requested(self) -> bool:
        """Whether the study names a probe, be it one that is on by default."""
        return self.any or (self.latches and "latches" in self.model_fields_set)

    @property
    def sources(self) -> set[str]:
        """The sources that are off by default and asked for, by their names in the core."""
        asked = {"profile": self.profile_hz, "locks": self.locks, "sched": self.scheduling_trace_s}
        return {name for name, value in {**asked, "latches": self.latch_count_s}.items() if value}

    @property
    def any(self) -> bool:
        """Whether a probe is on that is off by default."""
        return bool(self.sources)
