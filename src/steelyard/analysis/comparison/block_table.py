"""One metric as a table of blocks x options: what every comparison starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.metrics.run_metrics import RunMetrics
from steelyard.analysis.statistics.distributions import Floats, Ints
from steelyard.bundle.evidence.evidence import Evidence

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class BlockTable:
    """values[block, option], one per run, in complete blocks only.

    runs: number of the run behind each value, in the order executed. positive: all values > 0,
    so that logs can be taken. incomplete: blocks that dropped out because a run or its value is
    missing. absent: options left out because they have no value in half of the blocks or more.
    """

    options: tuple[str, ...]
    blocks: tuple[int, ...]
    values: Floats
    runs: Ints
    positive: bool
    incomplete: tuple[int, ...]
    absent: tuple[str, ...]


def points_of(run_metrics: RunMetrics) -> dict[int, int]:
    """Number of clients by point."""
    return dict(zip(run_metrics.point.tolist(), run_metrics.clients.tolist(), strict=True))


def compared(known: Bools) -> tuple[Bools, Bools]:
    """Options with a value in more than half of the blocks, and the blocks in which these all have one.

    known[block, option]: whether there is a value.
    """
    enough: Bools = known.sum(axis=0) * 2 > np.any(known, axis=1).sum()
    return enough, np.all(known[:, enough], axis=1) & bool(enough.any())


def estimated_runs(evidence: Evidence) -> list[int]:
    """The runs behind estimates: those of complete blocks; all runs of an option that is rarely there."""
    place = {option.label: i for i, option in enumerate(evidence.options)}
    rows = evidence.rows("select run, dense_rank() over (order by block) - 1, option from runs order by run")
    known = np.zeros((1 + max(block for _, block, _ in rows), len(place)), dtype=np.bool_)
    for _, block, option in rows:
        known[block, place[option]] = True
    enough, complete = compared(known)
    alone = ~enough | (not complete.any())
    return [run for run, block, option in rows if complete[block] or alone[place[option]]]


def block_table(
    run_metrics: RunMetrics,
    metric: str,
    options: Sequence[str],
    point: int | None = None,
    geometric: bool = True,
) -> BlockTable:
    """The metric of these options at one point.

    point None: one value per run over all its points: the geometric mean (which makes differences
    of logs the mean log ratio), or the plain mean where zeros occur or on demand.
    """
    cube, runs, blocks = _cube(run_metrics, metric, options, point)
    logs = geometric and not bool((cube <= 0).any())
    with np.errstate(all="ignore"):
        values: Floats = np.exp(np.log(cube).mean(axis=0)) if logs else cube.mean(axis=0)
    known: Bools = np.isfinite(values)
    seen: Bools = np.any(known, axis=1)
    enough, complete = compared(known)
    kept = np.ix_(complete, enough)
    return BlockTable(
        options=tuple(o for o, ok in zip(options, enough.tolist(), strict=True) if ok),
        blocks=tuple(b for b, ok in zip(blocks, complete.tolist(), strict=True) if ok),
        values=values[kept],
        runs=runs[kept],
        positive=not bool((cube[:, complete][:, :, enough] <= 0).any()),
        incomplete=tuple(
            b
            for b, some, whole in zip(blocks, seen.tolist(), complete.tolist(), strict=True)
            if some and not whole
        ),
        absent=tuple(o for o, ok in zip(options, enough.tolist(), strict=True) if not ok),
    )


def _cube(
    run_metrics: RunMetrics, metric: str, options: Sequence[str], point: int | None
) -> tuple[Floats, Ints, list[int]]:
    """values[point, block, option] and run[block, option]; NaN and 0 where there is no run."""
    blocks = sorted(set(run_metrics.block.tolist()))
    points = sorted(set(run_metrics.point.tolist())) if point is None else [point]
    place = {label: i for i, label in enumerate(options)}
    block_at = {block: i for i, block in enumerate(blocks)}
    point_at = {p: i for i, p in enumerate(points)}
    cube = np.full((len(points), len(blocks), len(options)), np.nan)
    runs = np.zeros((len(blocks), len(options)), dtype=np.int64)
    column = run_metrics.values.get(metric)
    if column is None:
        return cube, runs, blocks
    # rows are in order of the run: of a block that was redone, the last attempt counts
    for i, (label, p) in enumerate(zip(run_metrics.option.tolist(), run_metrics.point.tolist(), strict=True)):
        if label in place and p in point_at:
            at = block_at[int(run_metrics.block[i])], place[label]
            cube[(point_at[p], *at)] = column[i]
            runs[at] = run_metrics.run[i]
    return cube, runs, blocks
