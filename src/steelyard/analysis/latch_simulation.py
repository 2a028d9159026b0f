"""What the formulae cannot do, event by event: gets granted in turn, shared gets, preempted holders."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from steelyard import _core
from steelyard.analysis.latch_model import Network, Prediction, Wake, predict

_GETS = 20_000  # a run of this length has misses a get within half a point
_VALUES = 2_000  # equally likely holds that stand for the distribution
_LONGEST_NS = 1e12  # stands for a spin without end
_SLICE_NS = 3e6  # base slice of the Linux scheduler since 6.6


@dataclass(frozen=True)
class Rules:
    """How the latch is given. in_turn: to who waited longest, else to who comes first (barging).

    shared_gets: readers do not exclude one another. read_share: gets that only read. preempted: this
    share of holders loses its CPU for a time slice.
    """

    in_turn: bool = False
    shared_gets: bool = False
    read_share: float = 1.0
    preempted: float = 0.0


def simulate(network: Network, workers: int, rules: Rules | None = None, seed: int = 1) -> Prediction:
    """The network under these rules; a CPU for each worker that runs at once. Deterministic for a seed."""
    rules = rules or Rules()
    running = network.at_once(workers)
    hold_ns = network.holds.mean_ns
    # where all queue, the latch itself sets the pace
    cycle_ns = max((network.think_ns + hold_ns) / running, hold_ns / network.children)
    plan: dict[str, Any] = {
        "workers": running,
        "hold": {"kind": "values", "ns": _values(network)},
        "think": {"kind": "exponential", "mean_ns": max(network.think_ns, 1e-6 * hold_ns)},
        "spin_ns": min(network.spin_ns, _LONGEST_NS),
        "order": "fifo" if rules.in_turn else "barging",
        "duration_ns": _GETS * cycle_ns,
        "warm_up_ns": _GETS * cycle_ns / 10,
        "seed": seed,
        "children": network.children,
        "gets_per_lookup": 1,
        "hand_over_ns": network.hand_over_ns,
        "wakes": [asdict(wake) for wake in _wakes(network, workers)],
        "shared_gets": rules.shared_gets,
        "read_share": rules.read_share,
        "preempted": {"probability": rules.preempted, "for_ns": _SLICE_NS} if rules.preempted else None,
    }
    found = json.loads(_core.latch_simulate(json.dumps(plan)))
    gets, misses = max(found["gets"], 1), found["misses"]
    gets_per_ns = gets / plan["duration_ns"]
    return Prediction(
        workers,
        gets_per_ns * 1e9,
        misses / gets,
        found["sleeps"] / misses if misses else 0.0,
        found["wait_ns"] / gets,
        min(1.0, gets_per_ns * hold_ns / network.children),
    )


def _wakes(network: Network, workers: int) -> tuple[Wake, ...]:
    if not network.wakes:
        return (Wake(0.0, network.wake_up_ns),)
    if network.at_once(workers) < workers:
        # no CPU is at rest: another worker goes on where one sleeps, and a post wakes nobody at once
        return (Wake(0.0, network.switch_ns, network.wakes[0].post_ns),)
    return network.wakes


def _values(network: Network) -> list[float]:
    order = np.argsort(network.holds.ns)
    edges = np.cumsum(network.holds.share[order])
    middles = (np.arange(_VALUES) + 0.5) / _VALUES
    at = np.minimum(np.searchsorted(edges, middles), len(order) - 1)
    return network.holds.ns[order][at].tolist()


def expected(network: Network, workers: int, rules: Rules) -> Prediction:
    """By formula where that is exact: one latch, exclusive gets, nobody asleep; else event by event.

    Few workers that sleep depend on one another: while one wakes up the others are that much fewer to
    meet, which a formula of means misses by half.
    """
    nobody_sleeps = network.spin_ns == math.inf or network.wake_up_ns == 0
    exact = nobody_sleeps and network.children == 1 and not rules.shared_gets
    return predict(network, workers) if exact else simulate(network, workers, rules)


def alternatives(network: Network, workers: int, rules: Rules) -> tuple[tuple[str, Prediction], ...]:
    """What other spin budgets, children, shared gets, a queue, preempted holders, more CPUs would do."""

    def under(**changes: Any) -> Prediction:
        return simulate(network, workers, replace(rules, **changes))

    found = [("as measured", expected(network, workers, rules))]
    if 0 < network.spin_ns < math.inf:
        for title, factor in (
            ("no spinning", 0.0),
            ("twice the spin budget", 2.0),
            ("ten times the spin budget", 10.0),
        ):
            other = replace(network, spin_ns=factor * network.spin_ns)
            found.append((title, expected(other, workers, rules)))
    for k in (2, 4, 8):
        other = replace(network, children=k * network.children)
        found.append((f"{k} children", simulate(other, workers, rules)))
    if not rules.shared_gets:
        found.append(("shared gets, all to read", under(shared_gets=True, read_share=1.0)))
    found.append(("shared gets, one in ten to write", under(shared_gets=True, read_share=0.9)))
    found.append(("granted in turn", under(in_turn=True)))
    found.append(("a holder in 10,000 loses its CPU for 3 ms", under(preempted=1e-4)))
    if network.at_once(workers) < workers:
        found.append(
            (f"a CPU for each of the {workers}", expected(replace(network, cpus=None), workers, rules))
        )
    return tuple(found)
