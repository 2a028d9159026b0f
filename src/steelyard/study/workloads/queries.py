"""The workload of decision support: long queries in sequence, in one or several concurrent streams."""

import os
import random
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from steelyard.study.key_types import Toml
from steelyard.study.workloads.workload import Workload


class QueriesWorkload(Workload):
    """The 22 queries derived from TPC-H. One stream is a power run, several are a throughput run.

    A stream executes every query once, in its own order: a round. Rounds are never cut off: all rounds
    that begin within plan.measure_s are measured, at least one; those that begin within warm_up_s warm up.
    """

    POINT = "stream"
    POINTS = "streams"
    WORK = "round"
    steady = False
    in_rounds = True
    CLIENT = "deadline_s"

    SMALLEST = {"scale_factor": 0.01}

    kind: Literal["queries"]
    scale_factor: float = Field(default=0.1, ge=0.01, le=300)
    """size of the data: 1 is 8.7 million rows, about 1 GB of text"""
    deadline_s: float = Field(default=1800, ge=0.001, le=3600)
    """deadline of a round and its current query"""
    message_mib_max: int = Field(default=64, ge=1, le=1024)
    """MiB; a larger message of the server ends the connection"""

    @property
    def rate_unit(self) -> str:
        """In rounds."""
        return " rounds/s"

    @property
    def longest_s(self) -> float:
        """The deadline of a round."""
        return self.deadline_s

    def point_s(self, clients: int, warm_up_s: float, measure_s: float, round_s: float) -> float | None:
        """Whole rounds: at least one warms up and one is measured."""
        round_s *= self.scale_factor * max(1.0, clients / (os.cpu_count() or 1))
        warming = max(warm_up_s, round_s) if warm_up_s else 0.0
        return warming + max(measure_s, round_s)

    def load_keys(self) -> Toml:
        """Plain texts, in rounds."""
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
        """The order of each stream: by number in the first, shuffled in the others."""
        chance = random.Random(seed)
        return [list(statements), *(chance.sample(statements, len(statements)) for _ in range(clients - 1))]

    def summary(self) -> dict[str, str]:
        """Origin and size."""
        return {
            "workload": f"22 queries derived from TPC-H at scale factor {self.scale_factor:g};"
            " not comparable with published TPC-H results",
            "a transaction": "a round: every query once, in the stream's own order",
            "arrival": "each query starts when the previous one has ended",
        }
