"""The workload of key-value servers: gets and sets of keys, each a command of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from steelyard.study.workloads.arrival import Arrival
from steelyard.study.workloads.workload import KeyPath, Workload


class KeyValueWorkload(Workload):
    """A mix of gets and sets over the keys 1 to `keys`, all of which are set before a run."""

    WORK: ClassVar[str] = "command"
    CLIENT_SETTINGS: ClassVar[Mapping[str, KeyPath]] = {
        **{key: (key,) for key in ("pipeline", "threads", "deadline_ms")},
        **{key: ("arrival", key) for key in ("think_ms", "rate_per_s")},
    }

    kind: Literal["key-value"]
    keys: int = Field(default=100_000, ge=1, le=10**9, description="number of keys")
    value_bytes: int = Field(default=64, ge=1, le=1 << 20, description="size of a value")
    reads_percent: float = Field(
        default=90.0, ge=0, le=100, description="share of gets among the commands; the rest are sets"
    )
    zipf_exponent: float = Field(
        default=0.99, ge=0, le=20, description="how unevenly keys are requested; 0: each as often as any"
    )
    pipeline: int = Field(
        default=1, ge=1, le=10_000, description="commands that a client sends before it reads their replies"
    )
    arrival: Arrival = Arrival()
    threads: int = Field(default=1, ge=1, le=256, description="event-loop threads of the load engine")
    deadline_ms: float = Field(default=10_000, ge=0.001, le=6e8, description="a command over it is an error")

    def idle(self) -> Iterator[tuple[KeyPath, str]]:
        """Keys of another arrival."""
        yield from self.arrival.idle()

    def load_keys(self) -> dict[str, Any]:
        """Commands with their arguments, in batches."""
        return {
            "handle": "none",
            "text": "identical",
            "distinct_texts": 1,
            "parameters": "client",
            "pipeline": self.pipeline,
            "arrival": self.arrival.load_keys(),
            "deadline_ms": self.deadline_ms,
            "message_mib_max": 64,
            "threads": self.threads,
        }

    @property
    def open_loop(self) -> bool:
        """Whether commands arrive at a rate."""
        return self.arrival.kind == "open"

    @property
    def counts_transactions(self) -> bool:
        """Yes, where one thread sends them."""
        return True

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

    def summary(self) -> dict[str, str]:
        """Mix and data, arrival, batches, threads."""
        return {
            "workload": f"{self.kind}, {self.reads_percent:g} % gets, {self.keys:,} keys of"
            f" {self.value_bytes:,} bytes, Zipf exponent {self.zipf_exponent:g}",
            "a transaction": "a command: one get or one set",
            "arrival": self.arrival.summary(),
            "pipeline": f"{self.pipeline} commands per batch",
            "threads": str(self.threads),
        }
