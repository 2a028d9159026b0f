"""Where one dispatch table wins: each cell of the other factors' levels and numbers of threads apart.

Within a block both tables meet the same bursts and sleeps, so the log ratios of the blocks are paired;
intervals are Student's, 95 % for each cell by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from steelyard.analysis import tails
from steelyard.analysis.layout import lay_out, points_of
from steelyard.analysis.measures import THROUGHPUT, Measures
from steelyard.analysis.results import RegionCell
from steelyard.bundle.evidence import Evidence, Option
from steelyard.study.factors import settings_of
from steelyard.study.threads import ThreadsWorkload

_ALPHA = 0.05


def region(evidence: Evidence, measures: Measures) -> tuple[RegionCell, ...]:
    """Throughput under each table over that under the first; empty unless tables were compared."""
    factor = _table_factor(evidence)
    return tuple(_cells(evidence, measures, factor)) if factor else ()


def _table_factor(evidence: Evidence) -> str | None:
    """The factor whose levels set the table of a simulated machine."""
    if not isinstance(evidence.study.workload, ThreadsWorkload):
        return None
    for name, factor in evidence.study.factors.items():
        if factor.scope == "server" and all("table" in s for s in settings_of(name, factor).values()):
            return name
    return None


def _cells(evidence: Evidence, measures: Measures, factor: str) -> Iterator[RegionCell]:
    alike: dict[tuple[tuple[str, str], ...], list[Option]] = {}
    for option in evidence.options:
        others = tuple((name, code) for name, code in option.levels.items() if name != factor)
        alike.setdefault(others, []).append(option)
    for others, (first, *rest) in alike.items():
        for option in rest:
            for point, clients in points_of(measures).items():
                layout = lay_out(measures, THROUGHPUT.name, [first.label, option.label], point)
                if len(layout.options) < 2 or not layout.blocks or not layout.positive:
                    continue
                logs = np.log(layout.values[:, 1] / layout.values[:, 0])
                n, mean = len(logs), float(logs.mean())
                se = float(logs.std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf
                half = tails.t_critical(n - 1, _ALPHA) * se if n > 1 else math.inf
                yield RegionCell(
                    level=option.levels[factor],
                    baseline=first.levels[factor],
                    others=dict(others),
                    clients=clients,
                    ratio=math.exp(mean),
                    low=math.exp(mean - half),
                    high=math.exp(mean + half),
                )
