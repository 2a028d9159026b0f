"""Offsets between CLOCK_MONOTONIC of the lab and of each host, by exchanges of readings.

Of several exchanges the one with the shortest round trip counts: its offset is off by at most half of that
(Mills 1991, "Internet time synchronization: the Network Time Protocol").
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Offset:
    """A host's clock. offset_ns: its reading less the lab's; bound_ns: largest error; at_ns: lab's clock."""

    offset_ns: int
    bound_ns: int
    at_ns: int

    def to_host(self, lab_ns: int) -> int:
        """The time on the host's clock."""
        return lab_ns + self.offset_ns

    def to_lab(self, host_ns: int) -> int:
        """The time on the lab's clock."""
        return host_ns - self.offset_ns


# the offset of the lab itself
SAME = Offset(0, 0, 0)


def offset_of(exchanges: Iterable[tuple[int, int, int]]) -> Offset:
    """The offset by exchanges: sent (lab), read (host), received (lab), ns. Raises ValueError without any."""
    sent, read, received = min(exchanges, key=lambda exchange: exchange[2] - exchange[0])
    # the host read its clock somewhere between sent and received
    bound_ns = (received - sent + 1) // 2
    return Offset(read - (sent + bound_ns), bound_ns, received)


def drift_ns(before: Offset, after: Offset) -> int:
    """How far the host's clock went from the lab's between two exchanges."""
    return after.offset_ns - before.offset_ns
