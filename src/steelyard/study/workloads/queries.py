"""The workload of decision support: long queries one after another, in one stream or several at once."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from steelyard.study.workloads.workload import KeyPath, Workload


class QueriesWorkload(Workload):
    """The 22 queries derived from TPC-H. With one stream a power run, with more a throughput run.

    A stream executes every query once, in an order of its own: a round. A round is never cut off: as many
    are measured as begin within plan.measure_s, at least one; so many warm up as begin within warm_up_s.
    """

    POINT: ClassVar[str] = "stream"
    POINTS: ClassVar[str] = "streams"
    WORK: ClassVar[str] = "round"
    CLIENT_SETTINGS: ClassVar[Mapping[str, KeyPath]] = {"deadline_s": ("deadline_s",)}

    kind: Literal["queries"]
    scale_factor: float = Field(
        default=0.1,
        ge=0.01,
        le=300,
        description="size of the data: 1 is 8.7 million rows, about 1 GB of text",
    )
    deadline_s: float = Field(
        default=1800, ge=0.001, le=3600, description="a round over it fails, with the query under way"
    )
    message_mib_max: int = Field(
        default=64, ge=1, le=1024, description="MiB; a server whose message is larger loses the connection"
    )

    @property
    def steady(self) -> bool:
        """No: one query after another."""
        return False

    @property
    def rate_unit(self) -> str:
        """Of rounds."""
        return " rounds/s"

    @property
    def longest_s(self) -> float:
        """The deadline of a round."""
        return self.deadline_s

    def load_keys(self) -> dict[str, Any]:
        """Plain texts, round after round."""
        return {
            "handle": "none",
            "text": "identical",
            "distinct_texts": 1,
            "parameters": "none",
            "arrival": {"kind": "rounds"},
            "deadline_ms": self.deadline_s * 1e3,
            "message_mib_max": self.message_mib_max,
            "threads": self.engine_threads,
        }

    def orders(self, statements: Sequence[str], clients: int, seed: int) -> list[list[str]]:
        """Of each stream: as the queries are numbered in the first, shuffled in the others."""
        chance = random.Random(seed)
        return [list(statements), *(chance.sample(statements, len(statements)) for _ in range(clients - 1))]

    def summary(self) -> dict[str, str]:
        """What it derives from, and its size."""
        return {
            "workload": f"22 queries derived from TPC-H at scale factor {self.scale_factor:g};"
            " not comparable with published TPC-H results",
            "a transaction": "a round: every query once, in the stream's own order",
            "arrival": "each query as the one before has ended",
        }
