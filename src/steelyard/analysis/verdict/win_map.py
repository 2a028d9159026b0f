"""The verdict on dispatch tables where other factors set the work: it depends, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Sequence

from steelyard.analysis.comparison.notices import FEWEST_BLOCKS
from steelyard.analysis.judgement.results import Verdict, WinMapCell
from steelyard.analysis.metrics.run_metrics import RunMetrics
from steelyard.analysis.verdict.findings import Findings
from steelyard.quantities import listed, percent, span_of
from steelyard.study.factors import table_factor


def win_map(findings: Findings) -> Verdict:
    """Options of different work do not compete; the reasons are those of the cell that differs most."""
    cells = findings.win_map
    most = max(cells, key=lambda cell: abs(math.log(cell.ratio)))
    factor = table_factor(findings.evidence.study)

    def label(level: str) -> str:
        levels = {**most.others, factor: level}
        return next(option.label for option in findings.evidence.options if dict(option.levels) == levels)

    option, other = label(most.level), label(most.baseline)
    pair = findings.pairwise.pairs.get((option, other))
    answer = " ".join(win_map_sentences(cells)) or "No cell has a finished run of two tables."
    return Verdict(
        outcome="it depends",
        winner=None,
        sentence=_few(findings.run_metrics) + answer,
        reasons=(*(findings.reasons(pair) if pair else ()), *findings.further_reasons(None)),
        ties=(option, other),
    )


def win_map_sentences(cells: Sequence[WinMapCell]) -> tuple[str, ...]:
    """Where each table wins or loses, one sentence each; none of a single cell."""
    found: list[str] = []
    for level in dict.fromkeys(cell.level for cell in cells):
        mine = [cell for cell in cells if cell.level == level]
        wins = [cell for cell in mine if cell.winner == cell.level]
        losses = [cell for cell in mine if cell.winner == cell.baseline]
        margin = f"{100 * mine[0].margin:.3g} %"
        for word, some in (("more", wins), ("less", losses)):
            if some and len(mine) > 1:
                changes = [abs(cell.ratio - 1) for cell in some]
                found.append(
                    f"Throughput under {level} is more than {margin} {word} than under"
                    f" {mine[0].baseline} in {len(some)} of {len(mine)} cells, by"
                    f" {span_of(changes, percent)}: {listed(_where(some))}."
                )
        if not wins and not losses and len(mine) > 1:
            found.append(
                f"Throughput under {level} is nowhere more than {margin} from that under"
                f" {mine[0].baseline}, in {len(mine)} cells."
            )
    return tuple(found)


def _few(run_metrics: RunMetrics) -> str:
    blocks = len(set(run_metrics.block.tolist()))
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
