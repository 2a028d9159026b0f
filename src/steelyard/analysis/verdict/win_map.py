"""The verdict on dispatch tables where other factors set the work: it depends, cell by cell.

A cell is a combination of the other factors and a number of threads. Within a block both tables meet the same
bursts and sleeps, so the log ratios of the blocks are paired; intervals are Student's, 95 % for each cell.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from steelyard.analysis.comparison.block_table import block_table, points_of
from steelyard.analysis.judgement import FEWEST_BLOCKS, WinMapCell
from steelyard.analysis.metrics.run_metrics import THROUGHPUT, RunMetrics
from steelyard.analysis.statistics.distributions import half_width
from steelyard.analysis.verdict.decision import Decision, Words
from steelyard.analysis.verdict.findings import Findings
from steelyard.bundle.evidence import Evidence, grouped
from steelyard.quantities import count, listed, percent, ratio, span_of
from steelyard.study.factors import table_factor


def win_map_cells(evidence: Evidence, run_metrics: RunMetrics) -> Iterator[WinMapCell]:
    """Throughput under each table over that under the first; none unless tables were compared."""
    factor, margin = table_factor(evidence.study), evidence.margin
    if not factor:
        return
    alike = grouped(
        (tuple((name, code) for name, code in option.levels.items() if name != factor), option)
        for option in evidence.options
    )
    for others, (first, *rest) in alike.items():
        for option in rest:
            for point, clients in points_of(run_metrics).items():
                table = block_table(run_metrics, THROUGHPUT.name, [first.label, option.label], point)
                if len(table.options) < 2 or not table.blocks or not table.positive:
                    continue
                logs = np.log(table.values[:, 1] / table.values[:, 0])
                mean, half = float(logs.mean()), half_width(logs)
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


def win_map(findings: Findings) -> tuple[Decision, Words]:
    """Options of different work do not compete; the reasons are those of the cell that differs most."""
    cells = findings.win_map
    most = max(cells, key=lambda cell: abs(math.log(cell.ratio)))
    factor = table_factor(findings.evidence.study)

    def label(level: str) -> str:
        levels = {**most.others, factor: level}
        return next(option.label for option in findings.evidence.options if dict(option.levels) == levels)

    option, other = label(most.level), label(most.baseline)
    pair = findings.pairwise.pairs.get((option, other))
    blocks = len(set(findings.run_metrics.block.tolist()))
    few = "" if blocks >= FEWEST_BLOCKS else f"; a verdict needs {FEWEST_BLOCKS}"
    words = Words(
        _headline(cells, leaning=bool(few)),
        f"95 % intervals decide each cell: {count(blocks, 'block')}{few}.",
        f"{option} against {other} differs most: throughput {ratio(most.ratio, most.low, most.high)} times"
        f" with {count(most.clients, 'thread')}.",
        (*win_map_sentences(cells), *(findings.reasons(pair) if pair else ())),
    )
    return Decision("it depends", ties=(option, other)), words


def _headline(cells: Sequence[WinMapCell], leaning: bool) -> str:
    """Of the table that wins most cells, by the most."""
    wins = [cell for cell in cells if cell.winner]
    lead = "Leaning: it depends" if leaning else "It depends"
    if not wins:
        return f"{lead}: no table is shown to win in any of {count(len(cells), 'cell')}."
    tally = Counter(cell.winner for cell in wins)
    winner, won = tally.most_common(1)[0]
    most = max(max(cell.ratio, 1 / cell.ratio) for cell in wins if cell.winner == winner)
    of = [cell for cell in cells if winner in (cell.level, cell.baseline)]
    lost = sum(cell.winner not in (winner, None) for cell in of)
    wins_in, loses_in = ("leads in", "trails in") if leaning else ("wins in", "loses in")
    loses = f" and {loses_in} {lost}" if lost else ""
    return (
        f"{lead}: {winner} {wins_in} {won} of {count(len(of), 'cell')}{loses}, by up to {percent(most - 1)}."
    )


def win_map_sentences(cells: Sequence[WinMapCell]) -> Iterator[str]:
    """Where each table wins or loses, one sentence each; none of a single cell."""
    for level in dict.fromkeys(cell.level for cell in cells):
        mine = [cell for cell in cells if cell.level == level]
        wins = [cell for cell in mine if cell.winner == cell.level]
        losses = [cell for cell in mine if cell.winner == cell.baseline]
        margin = f"{100 * mine[0].margin:.3g} %"
        for word, some in (("more", wins), ("less", losses)):
            if some and len(mine) > 1:
                changes = [abs(cell.ratio - 1) for cell in some]
                yield (
                    f"Throughput under {level} is more than {margin} {word} than under"
                    f" {mine[0].baseline} in {len(some)} of {len(mine)} cells, by"
                    f" {span_of(changes, percent)}: {listed(_where(some))}."
                )
        if not wins and not losses and len(mine) > 1:
            yield (
                f"Throughput under {level} is nowhere more than {margin} from that under"
                f" {mine[0].baseline}, in {len(mine)} cells."
            )


def _where(cells: Sequence[WinMapCell]) -> list[str]:
    threads = grouped((tuple(cell.others.values()), str(cell.clients)) for cell in cells)
    return [
        f"{' '.join((*codes, 'at'))} {'/'.join(known)} thread{'s' * (known != ['1'])}"
        for codes, known in threads.items()
    ]
