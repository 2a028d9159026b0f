"""Workloads of lookups by key: in a shared cache, each of which holds a latch; at key-value servers."""

from typing import Annotated, Literal

from pydantic import Field

from steelyard.study.key_types import Toml
from steelyard.study.workloads.transactions import ClientWorkload
from steelyard.study.workloads.workload import Workload

_Ns = Annotated[int, Field(ge=0, le=10_000_000_000)]
_Share = Annotated[float, Field(ge=0, le=1)]


class CacheWorkload(Workload):
    """Workers look up keys in one shared cache, with or without think time."""

    POINT = "worker"
    POINTS = "workers"
    WORK = "lookup"
    WHO = "workers"
    CLIENT = (
        "keys skew payload_bytes read_share gets_per_lookup hold_ns think_ns hold_tail_share hold_tail_ns"
        " affinity"
    )
    ONLY_IF = {"hold_tail_ns": "hold_tail_share", "hold_tail_share": "hold_tail_ns"}

    kind: Literal["cache"]
    keys: int = Field(default=1000, ge=1, le=10_000_000)
    """entries in the cache"""
    skew: float = Field(default=0.0, ge=0, le=4)
    """Zipf exponent of the keys; 0: uniform"""
    payload_bytes: int = Field(default=48, ge=8, le=1 << 20)
    """bytes that a lookup copies"""
    read_share: _Share = 1.0
    """share of lookups that only read; others replace"""
    gets_per_lookup: int = Field(default=2, ge=1, le=16)
    """latch gets per lookup; two in the published study"""
    hold_ns: _Ns = 0
    """time added while the latch is held"""
    think_ns: _Ns = 0
    """time between two lookups"""
    hold_tail_share: _Share = 0.0
    """share of long holds"""
    hold_tail_ns: _Ns = 0
    """length of a long hold"""
    affinity: Literal["uniform", "own"] = "uniform"
    """uniform: all workers use all keys; own: each uses the keys of its own child latches"""

    def summary(self) -> dict[str, str]:
        """Size, mix and times."""
        return {
            "workload": f"cache of {self.keys:,} keys, {self.payload_bytes:,} bytes each",
            "lookups": f"{self.read_share:.0%} read, {self.gets_per_lookup} latch gets each,"
            f" Zipf {self.skew:g}, keys of a worker: {self.affinity}",
            "times": f"hold {self.hold_ns:g} ns, think {self.think_ns:g} ns",
        }


class KeyValueWorkload(ClientWorkload):
    """A mix of gets and sets over the keys 1 to `keys`, all of which are set before a run."""

    WORK = "command"
    CLIENT = f"{ClientWorkload.CLIENT} pipeline"
    SMALLEST = {"keys": 1_000}

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

    def load_keys(self) -> Toml:
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
