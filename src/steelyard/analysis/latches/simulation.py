"""The closed loop event by event: constant think times, several gets a lookup, sleepers, few CPUs."""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from steelyard import _core
from steelyard.analysis.latches.model import BASE_SLICE_NS, Network, Prediction, Wake

# a simulation goes on until half its own 95 % interval is as small as this, or this many gets are played
GETS_HALF = 0.01  # of the gets a second
MISSES_HALF = 0.005  # misses a get: half a point
_GETS_FIRST, _GETS_MAX = 20_000, 1_000_000
# CPUs are lost thousands of gets apart: so many must be lost before chance is judged, within so many gets
_LOST_LEAST, _GETS_LONGEST = 400, 4_000_000
_LONGEST_NS = 1e12  # stands for a spin without end
# from calibrated wake-ups and posts to those of the run
_SCALE_STEPS, _SCALE_HALF, _SCALE_MAX = 12, 3.0, 64.0


@dataclass(frozen=True)
class Rules:
    """How the latch is given. in_turn: to the longest waiter, else to the first that comes (barging).

    shared_gets: readers do not exclude one another. read_share: lookups that only read. preempted: this
    share of holders loses its CPU for a time slice.
    """

    in_turn: bool = False
    shared_gets: bool = False
    read_share: float = 1.0
    preempted: float = 0.0


def simulate(
    network: Network, workers: int, rules: Rules | None = None, seed: int = 1, half: float = 1.0
) -> Prediction:
    """The network under these rules; deterministic for a seed, with its own intervals.

    half: how many times as wide as usual its own interval may be.
    """
    rules = rules or Rules()
    running, gets = network.at_once(workers), network.gets_per_lookup
    hold_ns = network.holds.mean_ns
    alone_ns = hold_ns + (network.think_ns + (gets - 1) * network.between_ns) / gets
    # where all queue, the latch itself sets the pace
    get_ns = max(alone_ns / running, hold_ns / network.children)
    duration_ns = _GETS_FIRST * get_ns
    if running < workers:
        lost_ns = _LOST_LEAST / half**2 * network.slice_ns / running
        duration_ns = max(duration_ns, min(lost_ns, _GETS_LONGEST * get_ns))
    think = {"ns": network.think_ns} if network.think_is_constant else {"mean_ns": network.think_ns}
    # a lookup that takes no time would never let time pass
    think = {name: max(ns, 1e-6 * hold_ns) for name, ns in think.items()}
    plan: dict[str, Any] = {
        "workers": workers,
        "hold": {"kind": "values", "ns": network.holds.ns.tolist(), "share": network.holds.share.tolist()},
        "think": {"kind": "constant" if network.think_is_constant else "exponential", **think},
        "between_ns": network.between_ns,
        "spin_ns": min(network.spin_ns, _LONGEST_NS),
        "order": "fifo" if rules.in_turn else "barging",
        "duration_ns": duration_ns,
        "warm_up_ns": _GETS_FIRST * get_ns / 10,
        "until": {"gets": half * GETS_HALF, "misses": half * MISSES_HALF, "gets_max": _GETS_MAX},
        "seed": seed,
        "children": network.children,
        "gets_per_lookup": gets,
        "hand_over_ns": network.hand_over_ns,
        "line_ns": network.line_ns,
        "wakes": [asdict(wake) for wake in network.wakes or (Wake(0.0, network.wake_up_ns),)],
        "shared_gets": rules.shared_gets,
        "read_share": rules.read_share,
        "preempted": {"probability": rules.preempted, "for_ns": BASE_SLICE_NS} if rules.preempted else None,
        "cpus": None
        if running == workers
        else {"count": running, "slice_ns": network.slice_ns, "switch_ns": network.switch_ns},
    }
    found = json.loads(_core.latch_simulate(json.dumps(plan)))
    gets, misses, sleeps = max(found["gets"], 1), found["misses"], found["sleeps"]
    gets_per_ns = gets / found["duration_ns"]
    return Prediction(
        workers,
        gets_per_ns * 1e9,
        misses / gets,
        sleeps / misses if misses else 0.0,
        found["wait_ns"] / gets,
        found["gets_half"] * gets_per_ns * 1e9,
        found["misses_half"],
        found["sleeps_half"] * gets / misses if misses else 0.0,
        found["wait_ns"] / sleeps if sleeps else 0.0,
        found["posted_ns"] / sleeps if sleeps else 0.0,
    )


def woken_as_measured(
    network: Network, workers: int, rules: Rules, wait_per_sleep_ns: float, post_per_sleep_ns: float
) -> Network:
    """The network whose wake-ups and posts make a simulated sleep last, and cost, what a measured one did.

    Calibrated by a pair of threads that does nothing else, both are off by some factor in a run, where idle
    CPUs rest more or less deeply; their form, by time asleep, stays. Where no worker would sleep: unchanged.
    """

    def scaled(wake: float, post: float) -> Network:
        wakes = tuple(replace(w, wake_ns=wake * w.wake_ns, post_ns=post * w.post_ns) for w in network.wakes)
        return replace(network, wakes=wakes)

    factors = np.ones(2)
    best, least = network, math.inf
    for _ in range(_SCALE_STEPS):
        now = scaled(*factors.tolist())
        found = simulate(now, workers, rules, half=_SCALE_HALF)
        if not (found.wait_per_sleep_ns and found.post_per_sleep_ns):
            break
        off = np.log(
            [wait_per_sleep_ns / found.wait_per_sleep_ns, post_per_sleep_ns / found.post_per_sleep_ns]
        )
        if (error := float(np.abs(off).max())) < least:
            best, least = now, error
        # one depends on the other: not the whole way at once
        factors = np.clip(factors * np.exp(0.7 * off), 1 / _SCALE_MAX, _SCALE_MAX)
    return best


def alternatives(network: Network, workers: int, rules: Rules) -> Iterator[tuple[str, Prediction]]:
    """What other spin budgets, children, shared gets, a queue, preempted holders, more CPUs would do."""

    def under(**changes: Any) -> Prediction:
        return simulate(network, workers, replace(rules, **changes))

    def of(**changes: Any) -> Prediction:
        return simulate(replace(network, **changes), workers, rules)

    yield "as measured", under()
    if 0 < network.spin_ns < math.inf:
        yield "no spinning", of(spin_ns=0.0)
        yield "twice the spin budget", of(spin_ns=2 * network.spin_ns)
        yield "ten times the spin budget", of(spin_ns=10 * network.spin_ns)
    for k in (2, 4, 8):
        yield f"{k} children", of(children=k * network.children)
    if not rules.shared_gets:
        yield "shared gets, all to read", under(shared_gets=True, read_share=1.0)
    yield "shared gets, one in ten to write", under(shared_gets=True, read_share=0.9)
    if not rules.in_turn:
        yield "granted in turn", under(in_turn=True)
    yield "a holder in 10,000 loses its CPU for 3 ms", under(preempted=1e-4)
    if network.at_once(workers) < workers:
        yield f"a CPU for each of the {workers}", of(cpus=None)
