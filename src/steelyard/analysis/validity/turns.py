"""Carry-over between turns: whether an option's rate depends on the half of its turn, or on the turn before.

The block is the unit. A difference is reported from 1 % on: below it no action follows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.judgement.results import Notice
from steelyard.analysis.statistics import distributions
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import change

_SIGNIFICANT = 0.01
_LEAST_EFFECT = 0.01
_LEAST_BLOCKS = 3


@dataclass(frozen=True)
class _Turn:
    option: str
    after: str
    block: int
    deal: tuple[int, int]
    transactions: int
    first_half: int


def turn_notices(evidence: Evidence) -> list[Notice]:
    """carry-over: what a turn leaves behind for the next one, or for its own second half."""
    turns = list(_turns(evidence))
    return [*_halves(turns, evidence.baseline), *_predecessors(turns)]


def _turns(evidence: Evidence) -> Iterator[_Turn]:
    columns = (evidence.view("runs")[name].tolist() for name in ("run", "option", "block"))
    runs = {run: (str(option), int(block)) for run, option, block in zip(*columns, strict=True)}
    names = ("run", "point", "deal", "start_ns", "transactions", "first_half")
    rows = [
        (*runs[run], (point, deal), start_ns, count, first)
        for run, point, deal, start_ns, count, first in zip(
            *(evidence.view("turns")[name].tolist() for name in names), strict=True
        )
    ]
    before: tuple[int, tuple[int, int]] | None = None
    after = ""
    for option, block, deal, _, count, first in sorted(rows, key=lambda row: (row[1], row[3])):
        yield _Turn(option, after if before == (block, deal) else "", block, deal, count, first)
        before, after = (block, deal), option


def _halves(turns: Sequence[_Turn], baseline: str) -> Iterator[Notice]:
    """The ratio to the baseline in the second half of turns, against that in the first."""
    halves: dict[tuple[str, int], list[int]] = {}
    for turn in turns:
        sums = halves.setdefault((turn.option, turn.block), [0, 0])
        sums[0] += turn.first_half
        sums[1] += turn.transactions - turn.first_half
    growth = {key: math.log(last / first) for key, (first, last) in halves.items() if first and last}
    options = {option for option, _ in growth} - {baseline}
    for option in sorted(options):
        found = [
            growth[option, block] - growth[baseline, block]
            for name, block in growth
            if name == option and (baseline, block) in growth
        ]
        if (effect := _effect(found, len(options))) is not None:
            text = (
                "carry-over: the ratio to the baseline differs between the halves of a turn: longer turns"
                " (plan.turn_ms) or more settling would change it"
            )
            detail = f"{change(math.exp(effect))} in the second half against the first"
            yield Notice("carry-over", text, option, detail=detail)


def _predecessors(turns: Sequence[_Turn]) -> Iterator[Notice]:
    """Each option's rate after the turn of another, against its mean of the same deal."""
    deals: dict[tuple[str, int, tuple[int, int]], list[float]] = {}
    for turn in turns:
        if turn.transactions:
            deals.setdefault((turn.option, turn.block, turn.deal), []).append(math.log(turn.transactions))
    means = {key: float(np.mean(logs)) for key, logs in deals.items()}
    found: dict[tuple[str, str], dict[int, list[float]]] = {}
    for turn in turns:
        if turn.transactions and turn.after and turn.after != turn.option:
            mean = means[turn.option, turn.block, turn.deal]
            of_block = found.setdefault((turn.option, turn.after), {}).setdefault(turn.block, [])
            of_block.append(math.log(turn.transactions) - mean)
    for (option, after), blocks in sorted(found.items()):
        effect = _effect(_means(blocks), len(found))
        if effect is not None:
            text = "carry-over: the rate depends on which option had the turn before (longer plan.turn_ms)"
            yield Notice("carry-over", text, option, detail=f"{change(math.exp(effect))} after {after}")


def _means(blocks: Mapping[int, Sequence[float]]) -> list[float]:
    return [float(np.mean(values)) for values in blocks.values()]


def _effect(logs: Sequence[float], chances: int) -> float | None:
    """The mean over blocks, where it is proven and matters."""
    if len(logs) < _LEAST_BLOCKS:
        return None
    mean, se = float(np.mean(logs)), float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
    if abs(mean) < _LEAST_EFFECT or not se:
        return None
    p = float(distributions.t_two_sided(mean / se, len(logs) - 1))
    return mean if p * chances < _SIGNIFICANT else None
