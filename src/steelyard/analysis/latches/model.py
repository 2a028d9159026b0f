"""What a latch does with N workers, from how long it is held: nothing fitted.

Each worker thinks, gets the latch (waits where it is busy), holds it, releases. With exponential
think times and hold times of any form that is the queue M/G/1//N (Takacs 1962), solved exactly by
its chain at the moments of release: p0, the share of releases that leave no worker waiting, gives
misses a get, 1 - p0, and time a get, S + (1 - p0) hand-over + p0 think / N. A grant to a waiter
costs a hand-over (the latch's cache line moves); a sleep costs its wake-up, during which others may
get the latch (a post is not a grant). Children divide the gets evenly. Of more workers than CPUs as
many compete as there are CPUs; a holder that loses its CPU is a hold with a long tail: those measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.analysis.statistics.distributions import Floats

_linalg: Any = np.linalg  # its stubs leave types open
BASE_SLICE_NS = 3e6  # of the Linux scheduler since 6.6, on eight CPUs or more
_ROUNDS = 40  # to a fixed point; halving the step, they leave no difference that is printed


@dataclass(frozen=True)
class Holds:
    """Hold times as a distribution: ns and the share of holds that last so long."""

    ns: Floats
    share: Floats

    @classmethod
    def of(cls, ns: Sequence[float] | Floats, share: Sequence[float] | Floats) -> Holds:
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

    def without(self, share: float, longer_ns: float) -> Holds:
        """The same mean, but this share of the holds that exceed the median by longer_ns are as the others.

        Pauses that stop every CPU stop the waiting workers too: they are as good as spread over all holds.
        """
        order = np.argsort(self.ns)
        middle_ns = float(self.ns[order][np.searchsorted(np.cumsum(self.share[order]), 0.5)])
        long = self.ns > middle_ns + longer_ns
        others = Holds.of(self.ns, np.where(long, self.share * (1 - share), self.share))
        return others.scaled(self.mean_ns / others.mean_ns)

    def scaled(self, factor: float) -> Holds:
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
    """Means with so many workers. busy: share of the time in which a (child) latch is held.

    wait_mean_ns: of a get; of a simulation, the time asleep alone. *_half: half the 95 % interval of a
    simulation's own chance, 0 of a formula; that of gets_per_s in gets a second.
    """

    workers: int
    gets_per_s: float
    misses_per_get: float
    sleeps_per_miss: float
    wait_mean_ns: float
    busy: float
    gets_per_s_half: float = 0.0
    misses_per_get_half: float = 0.0
    sleeps_per_miss_half: float = 0.0
    wait_per_sleep_ns: float = 0.0
    post_per_sleep_ns: float = 0.0


def spin_success(holds: Holds, spin_ns: float) -> float:
    """Share of misses that a spin of spin_ns outlasts, with no other worker waiting.

    The rest of the hold in progress is residual life: (1/S) integral_0^spin (1 - F(t)) dt.
    """
    return float(np.minimum(holds.ns, spin_ns) @ holds.share) / holds.mean_ns


def sleeps_per_miss(holds: Holds, spin_ns: float, busy: float = 0.0) -> float:
    """Share of misses that sleep after spinning: others take the latch in `busy` of the time spun.

    With exponential holds this is exp(-(1 - busy) spin / S).
    """
    return 1.0 - spin_success(holds, (1.0 - busy) * spin_ns if spin_ns < math.inf else math.inf)


def predict(network: Network, workers: int) -> Prediction:
    """Raises ValueError for a negative think time, no child or no worker."""
    if network.think_ns < 0 or network.children < 1 or workers < 1:
        raise ValueError("think time must not be negative; children and workers are 1 or more")
    requested, workers = workers, network.at_once(workers)
    k, hold_ns = network.children, network.holds.mean_ns
    wait_ns = away_ns = 0.0
    idle, get_ns, asleep = 1.0, 0.0, 0.0
    # a child sees a worker that is at its sisters as one that thinks; so does a latch one that wakes
    for _ in range(_ROUNDS if k > 1 or network.wake_up_ns > 0 else 1):
        think = k * (network.think_ns + away_ns) + (k - 1) * (hold_ns + wait_ns)
        idle, get_ns = _solve(network, workers, think)
        busy = min(1.0, (hold_ns + (1 - idle) * network.hand_over_ns) / get_ns)
        in_vain = sleeps_per_miss(network.holds, network.spin_ns, busy)
        # woken, a worker competes again: it may miss and sleep again
        asleep = in_vain / (1 - min(in_vain * (1 - idle), 0.99))
        new_wait_ns = max(0.0, workers * get_ns - think - hold_ns)
        wait_ns += (new_wait_ns - wait_ns) / 2 if k > 1 else new_wait_ns - wait_ns
        away_ns += ((1 - idle) * asleep * network.wake_up_ns - away_ns) / 2
    return Prediction(
        requested, k / get_ns * 1e9, 1 - idle, asleep, wait_ns + away_ns, min(1.0, hold_ns / get_ns)
    )


def _solve(network: Network, workers: int, think_ns: float) -> tuple[float, float]:
    """Share of releases that leave no worker waiting, and time between releases."""
    hold_ns = network.holds.mean_ns
    if workers == 1:
        return 1.0, hold_ns + think_ns
    think_ns = max(think_ns, 1e-6 * hold_ns)
    chain = np.zeros((workers, workers))
    for left in range(workers):
        thinking = workers - max(left, 1)
        held_ns = network.holds.ns + (network.hand_over_ns if left else 0.0)
        come = _binomial(thinking, -held_ns / think_ns) @ network.holds.share
        first = max(left - 1, 0)
        chain[left, first : first + thinking + 1] = come
    # stationary: pi (P - I) = 0, one equation replaced by sum(pi) = 1
    equations = chain.T - np.eye(workers)
    equations[-1] = 1.0
    stationary: Floats = _linalg.solve(equations, np.eye(workers)[-1])
    idle = float(np.clip(stationary[0], 0.0, 1.0))
    return idle, hold_ns + (1 - idle) * network.hand_over_ns + idle * think_ns / workers


def _binomial(trials: int, log_miss: Floats) -> Floats:
    """P(j successes) [j, atom], where a trial fails with probability exp(log_miss)."""
    j = np.arange(trials + 1)[:, None]
    ways = [math.lgamma(trials + 1) - math.lgamma(i + 1) - math.lgamma(trials - i + 1) for i in j[:, 0]]
    log_hit = np.log(np.maximum(-np.expm1(log_miss), 1e-300))
    return np.exp(np.asarray(ways)[:, None] + j * log_hit + (trials - j) * log_miss)


def think_ns(gets_per_s: float, workers: int, holds: Holds) -> float:
    """Think time of workers that hardly wait: what a cycle leaves beside the hold, 0 at the least."""
    return max(0.0, workers / gets_per_s * 1e9 - holds.mean_ns)
