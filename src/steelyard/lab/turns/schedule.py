"""The order of turns: deals of connections, rounds within a deal, options within a round.

The order within a round is random, so what neighbours of the machine do weighs on all options alike; rounds
come in pairs, an order and its reverse, so that each option has each place equally often and a steady drift
cancels. Two sets of connections to one server differ for as long as they live, and no number of rounds
averages that out: each deal gives every option new connections.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from steelyard.lab.engines.plan import LIFE_PER_PRIMING
from steelyard.study.study import Plan

# what differs between sets of connections weighs more than a round's scatter; to connect costs about 100 ms
_DEAL_MS = 600
# on two cores: readings of the monitors; new connections and their first load
_TURN_OVERHEAD_S = 0.012
_DEAL_OVERHEAD_S = 0.15
# of a turn, the typical head that settles
_SETTLE_SHARE = 0.3


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
    settle_s = _SETTLE_SHARE * plan.turn_ms / 1000
    return (
        rounds * (_TURN_OVERHEAD_S + settle_s) + math.ceil(rounds / _rounds_of_deal(plan)) * _DEAL_OVERHEAD_S
    )


def deals(options: int, plan: Plan, chance: Random, primed_ms: float = 0.0) -> Iterator[Deal]:
    """The deals of one load point, each of about 0.6 s of load per option, at least a pair of rounds.

    primed_ms: what new connections take before their load; a deal lasts at least four times as long.
    """
    rounds = rounds_of(plan)
    least_ms = LIFE_PER_PRIMING * primed_ms
    of_deal = max(_rounds_of_deal(plan), 2 * math.ceil(least_ms / plan.turn_ms / 2))
    for first in range(0, rounds, of_deal):
        orders: list[tuple[int, ...]] = []
        for _ in range(min(of_deal, rounds - first) // 2):
            order = _shuffled(options, chance)
            orders += [order, order[::-1]]
        yield Deal(_shuffled(options, chance), tuple(orders))


def _rounds_of_deal(plan: Plan) -> int:
    return max(2, 2 * round(_DEAL_MS / plan.turn_ms / 2))


def _shuffled(options: int, chance: Random) -> tuple[int, ...]:
    order = list(range(options))
    chance.shuffle(order)
    return tuple(order)
