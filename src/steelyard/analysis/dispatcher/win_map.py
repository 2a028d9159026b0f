"""Where one dispatch table wins: one cell per combination of the other factors and number of threads.

Within a block both tables meet the same bursts and sleeps, so the log ratios of the blocks are paired;
intervals are Student's, 95 % for each cell by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from steelyard.analysis.comparison.block_table import block_table, points_of
from steelyard.analysis.judgement.results import WinMapCell
from steelyard.analysis.metrics.run_metrics import THROUGHPUT, RunMetrics
from steelyard.analysis.statistics import distributions
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.study.factors import table_factor
from steelyard.study.study import Option

_ALPHA = 0.05


def win_map(evidence: Evidence, run_metrics: RunMetrics) -> tuple[WinMapCell, ...]:
    """Throughput under each table over that under the first; empty unless tables were compared."""
    factor = table_factor(evidence.study)
    return tuple(_cells(evidence, run_metrics, factor)) if factor else ()


def _cells(evidence: Evidence, run_metrics: RunMetrics, factor: str) -> Iterator[WinMapCell]:
    margin = evidence.study.plan.smallest_effect_percent / 100
    alike: dict[tuple[tuple[str, str], ...], list[Option]] = {}
    for option in evidence.options:
        others = tuple((name, code) for name, code in option.levels.items() if name != factor)
        alike.setdefault(others, []).append(option)
    for others, (first, *rest) in alike.items():
        for option in rest:
            for point, clients in points_of(run_metrics).items():
                table = block_table(run_metrics, THROUGHPUT.name, [first.label, option.label], point)
                if len(table.options) < 2 or not table.blocks or not table.positive:
                    continue
                logs = np.log(table.values[:, 1] / table.values[:, 0])
                n, mean = len(logs), float(logs.mean())
                se = float(logs.std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf
                half = distributions.t_critical(n - 1, _ALPHA) * se if n > 1 else math.inf
                low, high = math.exp(mean - half), math.exp(mean + half)
                level, baseline = option.levels[factor], first.levels[factor]
                yield WinMapCell(
                    level=level,
                    baseline=baseline,
                    others=dict(others),
                    clients=clients,
                    ratio=math.exp(mean),
                    low=low,
                    high=high,
                    margin=margin,
                    winner=level if low > 1 + margin else baseline if high < 1 - margin else None,
                )
