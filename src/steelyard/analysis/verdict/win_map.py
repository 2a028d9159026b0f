"""Where one dispatch table wins: each cell of the other factors' levels and numbers of threads apart.

Within a block both tables meet the same bursts and sleeps, so the log ratios of the blocks are paired;
intervals are Student's, 95 % for each cell by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.analysis.comparison.block_table import lay_out, points_of
from steelyard.analysis.comparison.notices import FEWEST_BLOCKS
from steelyard.analysis.comparison.pairwise import Rivals
from steelyard.analysis.judgement.results import Verdict, WinMapCell
from steelyard.analysis.metrics.run_metrics import THROUGHPUT, Measures
from steelyard.analysis.statistics import distributions
from steelyard.analysis.verdict.why import Costs
from steelyard.bundle.evidence.tables import Evidence, Option
from steelyard.quantities import listed, percent, span_of
from steelyard.study.factors import settings_of
from steelyard.study.spec import Study
from steelyard.study.workloads.threads import ThreadsWorkload

_ALPHA = 0.05


def win_map(evidence: Evidence, measures: Measures) -> tuple[WinMapCell, ...]:
    """Throughput under each table over that under the first; empty unless tables were compared."""
    factor = table_factor(evidence.study)
    return tuple(_cells(evidence, measures, factor)) if factor else ()


def told(cells: Sequence[WinMapCell]) -> tuple[str, ...]:
    """Where each table wins or loses, one sentence each; none of a single cell."""
    said: list[str] = []
    for level in dict.fromkeys(cell.level for cell in cells):
        mine = [cell for cell in cells if cell.level == level]
        wins = [cell for cell in mine if cell.winner == cell.level]
        loses = [cell for cell in mine if cell.winner == cell.baseline]
        margin = f"{100 * mine[0].margin:.3g} %"
        for word, found in (("more", wins), ("less", loses)):
            if found and len(mine) > 1:
                changes = [abs(cell.ratio - 1) for cell in found]
                said.append(
                    f"Throughput under {level} is more than {margin} {word} than under"
                    f" {mine[0].baseline} in {len(found)} of {len(mine)} cells, by"
                    f" {span_of(changes, percent)}: {listed(_where(found))}."
                )
        if not wins and not loses and len(mine) > 1:
            said.append(
                f"Throughput under {level} is nowhere more than {margin} from that under"
                f" {mine[0].baseline}, in {len(mine)} cells."
            )
    return tuple(said)


def told_by_cells(
    evidence: Evidence,
    measures: Measures,
    rivals: Rivals | None,
    cells: Sequence[WinMapCell],
    verdict: Verdict,
) -> Verdict:
    """The verdict with what the cells say; their own where other factors set the work.

    Options of different work do not compete; the reasons are those of the cell that differs most.
    """
    margin = evidence.study.plan.smallest_effect_percent / 100
    if len(evidence.study.factors) < 2 or not cells:
        return replace(verdict, reasons=(*told(cells), *verdict.reasons))
    most = max(cells, key=lambda cell: abs(math.log(cell.ratio)))
    factor = table_factor(evidence.study)

    def label(level: str) -> str:
        levels = {**most.others, factor: level}
        return next(option.label for option in evidence.options if dict(option.levels) == levels)

    option, rival = label(most.level), label(most.baseline)
    duel = rivals.duels.get((option, rival)) if rivals else None
    labels = [o.label for o in evidence.options]
    closed = not evidence.study.workload.open_loop
    return Verdict(
        outcome="it depends",
        winner=None,
        sentence=_few(measures) + (" ".join(told(cells)) or "No cell has a finished run of two tables."),
        reasons=Costs(measures, labels, [duel], margin).reasons(duel, closed) if duel else (),
        ties=(option, rival),
    )


def _few(measures: Measures) -> str:
    blocks = len(set(measures.block.tolist()))
    return (
        f"Leaning (only {blocks} blocks; a verdict needs {FEWEST_BLOCKS}): " if blocks < FEWEST_BLOCKS else ""
    )


def _where(cells: Sequence[WinMapCell]) -> list[str]:
    threads: dict[tuple[str, ...], list[str]] = {}
    for cell in cells:
        threads.setdefault(tuple(cell.others.values()), []).append(str(cell.clients))
    return [
        f"{' '.join((*codes, 'at'))} {'/'.join(known)} thread{'s' * (known != ['1'])}"
        for codes, known in threads.items()
    ]


def table_factor(study: Study) -> str | None:
    """The factor whose levels set the table of a simulated machine."""
    if not isinstance(study.workload, ThreadsWorkload):
        return None
    for name, factor in study.factors.items():
        if factor.scope == "server" and all("table" in s for s in settings_of(name, factor).values()):
            return name
    return None


def _cells(evidence: Evidence, measures: Measures, factor: str) -> Iterator[WinMapCell]:
    margin = evidence.study.plan.smallest_effect_percent / 100
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
