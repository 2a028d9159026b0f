"""What a latch and its workers are to the model, from how long it is held: nothing fitted.

Each worker thinks, gets the latch (waits where it is busy), holds it, releases. A grant to a waiter
costs a hand-over (the latch's cache line moves); a sleep costs its wake-up, during which others may
get the latch (a post is not a grant). Children divide the gets evenly. Of more workers than CPUs as
many compete as there are CPUs; a holder that loses its CPU is a hold with a long tail: those measured.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.analysis.statistics.distributions import Floats

BASE_SLICE_NS = 3e6  # of the Linux scheduler since 6.6, on eight CPUs or more


@dataclass(frozen=True)
class Holds:
    """Hold times as a distribution: ns and the share of holds that last so long."""

    ns: Floats
    share: Floats

    @classmethod
    def of(cls, ns: Sequence[float] | Floats, share: Sequence[float] | Floats) -> "Holds":
        """Raises ValueError for no holds, negative ones, or shares that are not of a whole."""
        times, parts = np.asarray(ns, dtype=np.float64), np.asarray(share, dtype=np.float64)
        if not len(times) or len(times) != len(parts):
            raise ValueError("as many shares as hold times are needed, and one at least")
        if (times < 0).any() or (parts < 0).any() or times.max() <= 0 or parts.sum() <= 0:
            raise ValueError("hold times and shares must not be negative, nor all zero")
        return cls(times, parts / parts.sum())

    @property
    def mean_ns(self) -> float:
        """Mean hold S."""
        return float(self.ns @ self.share)

    def without(self, share: float, longer_ns: float) -> "Holds":
        """The same mean, but this share of the holds that exceed the median by longer_ns are as the others.

        Pauses that stop every CPU stop the waiting workers too: they are as good as spread over all holds.
        """
        order = np.argsort(self.ns)
        middle_ns = float(self.ns[order][np.searchsorted(np.cumsum(self.share[order]), 0.5)])
        long = self.ns > middle_ns + longer_ns
        others = Holds.of(self.ns, np.where(long, self.share * (1 - share), self.share))
        return others.scaled(self.mean_ns / others.mean_ns)

    def scaled(self, factor: float) -> "Holds":
        """Every hold longer by a factor."""
        return replace(self, ns=self.ns * factor)


@dataclass(frozen=True)
class Wake:
    """A release for a sleeper that missed so long ago: until it tries again, cost of the release.

    slept: how often it did sleep; else it was about to, and found the post.
    """

    asleep_ns: float
    wake_ns: float
    post_ns: float = 0.0
    slept: float = 1.0


@dataclass(frozen=True)
class Network:
    """A latch and its workers. think_ns: from the last release of a lookup to its next get, without waits.

    spin_ns: how long a miss spins before it sleeps. wake_up_ns: of a long sleep. children: latches that
    share the gets evenly. cpus: None where each worker has one. The rest only a simulation can use.
    wakes: wake-ups by time asleep. switch_ns: from one worker to the next on a CPU. slice_ns: CPU time until
    a worker loses its CPU to another, where they are more than CPUs. gets_per_lookup: gets of the same latch
    between two think times, between_ns apart. think_is_constant: else exponential. line_ns: what a get of a
    free latch costs whose line another worker had.
    """

    holds: Holds
    think_ns: float
    spin_ns: float = math.inf
    hand_over_ns: float = 0.0
    wake_up_ns: float = 0.0
    wakes: tuple[Wake, ...] = ()
    switch_ns: float = 0.0
    children: int = 1
    cpus: int | None = None
    slice_ns: float = BASE_SLICE_NS
    gets_per_lookup: int = 1
    between_ns: float = 0.0
    think_is_constant: bool = False
    line_ns: float = 0.0

    def at_once(self, workers: int) -> int:
        """How many of them can want the latch at the same time."""
        return workers if self.cpus is None else min(workers, self.cpus)


@dataclass(frozen=True)
class Prediction:
    """Means with this number of workers.

    wait_mean_ns: of a get; of a simulation, the time asleep alone. *_half: half the 95 % interval of a
    simulation's own chance; that of gets_per_s in gets a second.
    """

    workers: int
    gets_per_s: float
    misses_per_get: float
    sleeps_per_miss: float
    wait_mean_ns: float
    gets_per_s_half: float = 0.0
    misses_per_get_half: float = 0.0
    sleeps_per_miss_half: float = 0.0
    wait_per_sleep_ns: float = 0.0
    post_per_sleep_ns: float = 0.0


def think_ns(gets_per_s: float, workers: int, holds: Holds) -> float:
    """Think time of workers that hardly wait: what a cycle leaves beside the hold, 0 at the least."""
    return max(0.0, workers / gets_per_s * 1e9 - holds.mean_ns)
