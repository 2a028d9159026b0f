"""The order of turns: deals of connections, rounds within a deal, options within a round.

The order within a round is random, so what neighbours of the machine do weighs on all options alike; rounds
come in pairs, an order and its reverse, so that each option has each place equally often and a steady drift
cancels. Two sets of connections to one server differ for as long as they live, and no number of rounds
averages that out: each deal gives every option new connections.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from steelyard.study.study import Plan

# a pair and its continuation: with turns of 250 ms new connections after one second of each option's load
_ROUNDS_PER_DEAL = 4
# on two cores: readings of the monitors and the settling; new connections and their first load
_TURN_OVERHEAD_S = 0.03
_DEAL_OVERHEAD_S = 0.15


@dataclass(frozen=True)
class Deal:
    """Rounds between two changes of connections.

    connects: options by number, in the order in which they connect; rounds: the order of turns of each.
    """

    connects: tuple[int, ...]
    rounds: tuple[tuple[int, ...], ...]


def rounds_of(plan: Plan) -> int:
    """Rounds of one load point: as many turns as measure_s holds, an even number."""
    return max(2, 2 * math.ceil(plan.measure_s * 1000 / plan.turn_ms / 2))


def overhead_s(plan: Plan) -> float:
    """Typical time of one option at one load point beside warm-up and turns: to settle and to connect."""
    rounds = rounds_of(plan)
    return rounds * _TURN_OVERHEAD_S + math.ceil(rounds / _ROUNDS_PER_DEAL) * _DEAL_OVERHEAD_S


def deals(options: int, rounds: int, chance: Random) -> Iterator[Deal]:
    """The deals of one load point. rounds: an even number."""
    for first in range(0, rounds, _ROUNDS_PER_DEAL):
        orders: list[tuple[int, ...]] = []
        for _ in range(min(_ROUNDS_PER_DEAL, rounds - first) // 2):
            order = _shuffled(options, chance)
            orders += [order, order[::-1]]
        yield Deal(_shuffled(options, chance), tuple(orders))


def _shuffled(options: int, chance: Random) -> tuple[int, ...]:
    order = list(range(options))
    chance.shuffle(order)
    return tuple(order)
