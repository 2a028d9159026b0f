"""The workload of key-value servers: gets and sets of keys, one command each."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from steelyard.study.workloads.transactions import ClientWorkload


class KeyValueWorkload(ClientWorkload):
    """A mix of gets and sets over the keys 1 to `keys`, all of which are set before a run."""

    WORK = "command"
    CLIENT = f"{ClientWorkload.CLIENT} pipeline"
    SMALLEST: ClassVar[Mapping[str, float]] = {"keys": 1_000}

    kind: Literal["key-value"]
    keys: int = Field(default=100_000, ge=1, le=10**9)
    """number of keys"""
    value_bytes: int = Field(default=64, ge=1, le=1 << 20)
    """size of a value"""
    reads_percent: float = Field(default=90.0, ge=0, le=100)
    """share of gets among the commands; the rest are sets"""
    zipf_exponent: float = Field(default=0.99, ge=0, le=20)
    """Zipf exponent of the keys; 0: uniform"""
    pipeline: int = Field(default=1, ge=1, le=10_000)
    """commands that a client sends before it reads their replies"""

    def load_keys(self) -> dict[str, Any]:
        """Commands with their arguments, in batches."""
        return {**super().load_keys(), "handle": "none", "parameters": "client", "pipeline": self.pipeline}

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
