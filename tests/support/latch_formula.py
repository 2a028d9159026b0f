"""The known answer for tests of the simulation: a latch and N workers, by formula.

With exponential think times and hold times of any form this is the queue M/G/1//N (Takacs 1962), solved
exactly by its chain at the moments of release. p0 is the share of releases that leave no worker waiting.
Misses per get are 1 - p0; the time per get is S + (1 - p0) hand-over + p0 think / N. It is exact for one
exclusive latch that is spun for without end, one get per lookup, a CPU for each worker, and no hand-over
during which others may get the latch. It does not know that a few workers that sleep, or think for equal
times, depend on one another: its sleeps per miss are up to eight times wrong, even without a wake-up time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steelyard.analysis.latches.model import Holds, Network, Prediction
from steelyard.analysis.statistics.distributions import Floats

_linalg: Any = np.linalg  # its stubs leave types open
_ROUNDS = 40  # to a fixed point; halving the step, they leave no difference that is printed


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
    return Prediction(requested, k / get_ns * 1e9, 1 - idle, asleep, wait_ns + away_ns)


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
