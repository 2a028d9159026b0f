"""One metric as a table of blocks x options, what comparisons start from; and each option's own level."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.judgement import Estimate, Metric
from steelyard.analysis.metrics.run_metrics import RunMetrics
from steelyard.analysis.statistics.distributions import Floats, Ints, half_width
from steelyard.bundle.evidence import Evidence, grouped

Bools = NDArray[np.bool_]
# by the rule of `compared`, of runs instead of values
_ESTIMATED = """
    with often as (
        select option from runs group by option
        having 2 * count(distinct block) > (select count(distinct block) from runs)
    ), whole as (
        select block from runs semi join often using (option) group by block
        having count(distinct option) = (select count(*) from often)
    )
    select run from runs
    where option not in (from often) or block in (from whole) or not exists (from whole) order by run
"""


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


def shared_points(run_metrics: RunMetrics) -> dict[int, int]:
    """The same of the points that all options have, of which one figure is a mean; all, if they have none."""
    points = points_of(run_metrics)
    by_option = grouped(zip(run_metrics.option, run_metrics.point.tolist(), strict=True))
    shared = set(points).intersection(*by_option.values())
    return {point: points[point] for point in sorted(shared)} or points


def compared(known: Bools) -> tuple[Bools, Bools]:
    """Options with a value in more than half of the blocks, and the blocks in which these all have one.

    known[block, option]: whether there is a value.
    """
    enough: Bools = known.sum(axis=0) * 2 > np.any(known, axis=1).sum()
    return enough, np.all(known[:, enough], axis=1) & bool(enough.any())


def estimated_runs(evidence: Evidence) -> list[int]:
    """The runs behind estimates: those of complete blocks; all runs of an option that is rarely there."""
    return evidence.column(_ESTIMATED)


def block_table(
    run_metrics: RunMetrics, metric: str, options: Sequence[str], point: int | None = None
) -> BlockTable:
    """The metric of these options at one point.

    point None: one value per run over the points that all options have: the geometric mean (which makes
    differences of logs the mean log ratio), or the plain mean where zeros occur.
    """
    cube, runs, blocks = _cube(run_metrics, metric, options, point)
    known: Bools = np.isfinite(cube.mean(axis=0))
    enough, complete = compared(known)
    kept = cube[:, complete][:, :, enough]
    positive = not bool((kept <= 0).any())
    labels = np.array([*options], dtype=object)
    return BlockTable(
        options=tuple(labels[enough].tolist()),
        blocks=tuple(blocks[complete].tolist()),
        values=np.exp(np.log(kept).mean(axis=0)) if positive else kept.mean(axis=0),
        runs=runs[np.ix_(complete, enough)],
        positive=positive,
        incomplete=tuple(blocks[np.any(known, axis=1) & ~complete].tolist()),
        absent=tuple(labels[~enough].tolist()),
    )


def _cube(
    run_metrics: RunMetrics, metric: str, options: Sequence[str], point: int | None
) -> tuple[Floats, Ints, Ints]:
    """values[point, block, option] and run[block, option]; NaN and 0 where there is no run."""
    points, layer = np.unique(run_metrics.point, return_inverse=True)
    blocks, row = np.unique(run_metrics.block, return_inverse=True)
    places = {label: place for place, label in enumerate(options)}
    column = np.array([places.get(label, -1) for label in run_metrics.option])
    kept = column >= 0
    cube = np.full((len(points), len(blocks), len(options)), np.nan)
    runs = np.zeros(cube.shape[1:], dtype=np.int64)
    # rows are in order of the run: of a block that was redone, the last attempt counts
    if metric in run_metrics.values:
        cube[layer[kept], row[kept], column[kept]] = run_metrics.values[metric][kept]
        runs[row[kept], column[kept]] = run_metrics.run[kept]
    wanted = [*shared_points(run_metrics)] if point is None else [point]
    return cube[np.isin(points, wanted)], runs, blocks


def estimates(
    run_metrics: RunMetrics, metric: Metric, options: Sequence[str], point: int | None = None
) -> tuple[Estimate, ...]:
    """Geometric mean over complete blocks (mean where any option has a 0) and 95 % t interval, by option.

    An option that is too rarely there to be compared is estimated from the runs it has. These
    intervals hold what blocks have in common, so two may overlap though the options differ:
    only a comparison decides. Of a metric that is a maximum, the maximum over runs.
    """
    clients = None if point is None else points_of(run_metrics)[point]
    if metric.summary == "maximum":
        return tuple(_highest(run_metrics, metric, options, point, clients))
    table = block_table(run_metrics, metric.name, options, point)
    columns = values_of(run_metrics, metric.name, options, point, table)
    return tuple(
        _estimate(metric, label, clients, values, table.positive if label in table.options else None)
        for label, values in columns.items()
    )


def values_of(
    run_metrics: RunMetrics,
    metric: str,
    options: Sequence[str],
    point: int | None = None,
    table: BlockTable | None = None,
) -> dict[str, Floats]:
    """The values behind an option's level, one per complete block; options without any are left out.

    Every figure of an option is made of them: estimates, scaling, latencies of statements, bundles compared.
    table: theirs, where it is known.
    """
    table = table or block_table(run_metrics, metric, options, point)
    columns = dict(zip(table.options, table.values.T, strict=True)) if table.blocks else {}
    for label in options:
        if label not in columns:
            alone = block_table(run_metrics, metric, [label], point)
            columns |= {label: alone.values[:, 0]} if alone.blocks else {}
    return {label: columns[label] for label in options if label in columns}


def _highest(
    run_metrics: RunMetrics, metric: Metric, options: Sequence[str], point: int | None, clients: int | None
) -> Iterator[Estimate]:
    known = np.isfinite(run_metrics.values[metric.name])
    if point is not None:
        known &= run_metrics.point == point
    for label in options:
        mine = known & (run_metrics.option == label)
        if mine.any():
            highest = float(run_metrics.values[metric.name][mine].max())
            blocks = len(set(run_metrics.block[mine].tolist()))
            yield Estimate(metric.name, label, clients, highest, 0.0, math.inf, blocks)


def _estimate(
    metric: Metric, label: str, clients: int | None, values: Floats, positive: bool | None
) -> Estimate:
    """positive: whether all values of the options that are compared are; None: it is not compared."""
    logs = bool((values > 0).all()) if positive is None else positive
    y: Floats = np.log(values) if logs else values
    mean, half = float(y.mean()), half_width(y)
    low, high = mean - half, mean + half
    if logs:
        mean, low, high = math.exp(mean), math.exp(low), math.exp(min(high, 700.0))
    return Estimate(
        metric=metric.name,
        option=label,
        clients=clients,
        value=mean,
        low=max(low, 0.0) if values.min() >= 0 else low,
        high=high if len(values) > 1 else math.inf,
        blocks=len(values),
    )
