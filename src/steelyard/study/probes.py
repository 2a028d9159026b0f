"""What to ask the kernel beside the measurements: profile, locks, scheduling."""

from __future__ import annotations

from pydantic import Field

from steelyard.study.model import Strict


class Probes(Strict):
    """Sources that are off until asked for. Profile and locks ride along in the measure phase."""

    profile_hz: int = Field(
        default=0, ge=0, le=1000, description="stacks sampled a second of each CPU; 0: no profile"
    )
    locks: bool = Field(default=False, description="waits for kernel locks, by call site")
    sched_s: float = Field(
        default=0,
        ge=0,
        le=60,
        description="seconds of load after each point, not measured, in which scheduling events are recorded:"
        " they cost about 10 % of throughput; 0: none",
    )

    @property
    def any(self) -> bool:
        """Whether there is something to ask."""
        return bool(self.profile_hz or self.locks or self.sched_s)
