"""The keys of every workload that the load engine drives: arrival, threads, deadline."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from steelyard.study.key_types import Strict, only_if
from steelyard.study.workloads.workload import Workload

_CLOSED = ("think_ms", "think")
_OPEN = ("rate_per_s", "spacing")


class Arrival(Strict):
    """How clients arrive: closed loop with think time, or open loop at a rate."""

    ONLY_IF = only_if(think_ms="kind = closed", think="think_ms", spacing="kind = open")

    kind: Literal["closed", "open"] = "closed"
    think_ms: float = Field(default=0.0, ge=0, le=8.64e7)
    """closed loop: pause after each transaction"""
    think: Literal["fixed", "exponential"] = "fixed"
    rate_per_s: float | None = Field(default=None, ge=0.001, le=1e9)
    """open loop: transactions started per second"""
    spacing: Literal["poisson", "even"] = "poisson"

    @model_validator(mode="after")
    def _rate_when_open(self) -> Arrival:
        if (self.kind == "open") != (self.rate_per_s is not None):
            raise ValueError("rate_per_s is required with kind = 'open', and only allowed there")
        return self

    def load_keys(self) -> dict[str, Any]:
        """The keys of the load engine's plan."""
        closed = self.kind == "closed"
        return self.model_dump(include={"kind", *(_CLOSED if closed else _OPEN)})

    def summary(self) -> str:
        """As text, for the report."""
        if self.kind == "open":
            return f"open loop, {self.rate_per_s:g}/s, {self.spacing}"
        return f"closed loop, think time {self.think_ms:g} ms"


class ClientWorkload(Workload):
    """Work that clients send over connections."""

    counts_transactions = True
    CLIENT = "threads deadline_ms arrival.think_ms arrival.rate_per_s"

    arrival: Arrival = Arrival()
    threads: int = Field(default=1, ge=1, le=256)
    """event-loop threads of the load engine"""
    deadline_ms: float = Field(default=10_000, ge=0.001, le=6e8)
    """deadline of a transaction; a later one is an error"""
    message_mib_max: int = Field(default=64, ge=1, le=1024)
    """MiB; a larger message of the server ends the connection"""

    def load_keys(self) -> dict[str, Any]:
        """Arrival, threads, limits; one text per statement."""
        return {
            "arrival": self.arrival.load_keys(),
            "text": "identical",
            "distinct_texts": 1,
            **self.model_dump(include={"threads", "deadline_ms", "message_mib_max"}),
        }

    @property
    def open_loop(self) -> bool:
        """Whether transactions arrive at a rate."""
        return self.arrival.kind == "open"

    @property
    def thinks(self) -> bool:
        """Whether there is think time."""
        return self.arrival.think_ms > 0

    @property
    def engine_threads(self) -> int:
        """Event-loop threads."""
        return self.threads

    @property
    def longest_s(self) -> float:
        """The deadline."""
        return self.deadline_ms / 1e3
