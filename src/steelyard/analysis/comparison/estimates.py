"""Each option's own level of a metric, with its own interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from steelyard.analysis.comparison.block_table import block_table, points_of
from steelyard.analysis.comparison.compare import ALPHA
from steelyard.analysis.judgement.results import Estimate, Metric
from steelyard.analysis.metrics.run_metrics import RunMetrics
from steelyard.analysis.statistics import distributions
from steelyard.analysis.statistics.distributions import Floats


def estimates(
    run_metrics: RunMetrics, metric: Metric, options: Sequence[str], point: int | None = None
) -> tuple[Estimate, ...]:
    """Geometric mean over complete blocks (mean where zeros occur) and 95 % t interval, by option.

    An option that is too rarely there to be compared is estimated from the runs it has. These
    intervals hold what blocks have in common, so two may overlap though the options differ:
    only a comparison decides. Of a metric that is a maximum, the maximum over runs.
    """
    clients = None if point is None else points_of(run_metrics)[point]
    if metric.summary == "maximum":
        return _highest(run_metrics, metric, options, point, clients)
    columns = values_of(run_metrics, metric.name, options, point)
    return tuple(_estimate(metric, label, clients, values) for label, values in columns.items())


def values_of(
    run_metrics: RunMetrics, metric: str, options: Sequence[str], point: int | None = None
) -> dict[str, Floats]:
    """The values behind an option's level, one per complete block; options without any are left out.

    Every figure of an option is made of them: estimates, scaling, latencies of statements, bundles compared.
    """
    table = block_table(run_metrics, metric, options, point)
    columns = dict(zip(table.options, table.values.T, strict=True)) if table.blocks else {}
    for label in options:
        if label not in columns:
            alone = block_table(run_metrics, metric, [label], point)
            columns |= {label: alone.values[:, 0]} if alone.blocks else {}
    return {label: columns[label] for label in options if label in columns}


def _highest(
    run_metrics: RunMetrics, metric: Metric, options: Sequence[str], point: int | None, clients: int | None
) -> tuple[Estimate, ...]:
    """The highest value of each option's runs."""
    known = np.isfinite(run_metrics.values[metric.name])
    if point is not None:
        known &= run_metrics.point == point
    found: list[Estimate] = []
    for label in options:
        mine = known & (run_metrics.option == label)
        if mine.any():
            highest = float(run_metrics.values[metric.name][mine].max())
            blocks = len(set(run_metrics.block[mine].tolist()))
            found.append(Estimate(metric.name, label, clients, highest, 0.0, math.inf, blocks))
    return tuple(found)


def _estimate(metric: Metric, label: str, clients: int | None, values: Floats) -> Estimate:
    n = len(values)
    logs = bool((values > 0).all())
    y: Floats = np.log(values) if logs else values
    mean = float(y.mean())
    half = math.inf
    if n > 1:
        half = distributions.t_critical(n - 1, ALPHA) * float(y.std(ddof=1)) / math.sqrt(n)
    low, high = mean - half, mean + half
    if logs:
        mean, low, high = math.exp(mean), math.exp(low), math.exp(min(high, 700.0))
    return Estimate(
        metric=metric.name,
        option=label,
        clients=clients,
        value=mean,
        low=max(low, 0.0),
        high=high if n > 1 else math.inf,
        blocks=n,
    )
