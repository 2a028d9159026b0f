"""What to ask the kernel beside the measurements: profile, locks, scheduling, latches and their gets."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from steelyard.study.settings import Strict


class Probes(Strict):
    """Sources beside the monitors. Latches alone are on by themselves.

    sched and gets record apart, in stretches of load that are not measured: the phases watch and count.
    """

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
    latches: bool = Field(
        default=True,
        description="sleeps for latches of a PostgreSQL of ours, by tranche: where the machine permits",
    )

    gets_s: float = Field(
        default=0,
        ge=0,
        le=60,
        description="seconds of load after each point, not measured, in which the gets of those latches are"
        " counted: that costs 5 to 50 % of throughput; 0: none",
    )

    @property
    def of_the_kernel(self) -> dict[str, Any]:
        """What is asked of the kernel alone, on any subject: all but latches and their gets."""
        return self.model_dump(exclude={"latches", "gets_s"})

    @property
    def any(self) -> bool:
        """Whether something is asked for that is off by itself."""
        return any(self.model_dump(exclude={"latches"}).values())
