"""Query by query: what each takes under the baseline, and its ratio under the other options."""

from __future__ import annotations

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import QueryRow
from steelyard.report.presented.marks import MARKS
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table

_OPTIONS_MAX = 2


def table(presented: Presented) -> Table | None:
    """Of the power run, or what comes nearest to it: one row per query; None where there was none."""
    judgement, about = presented.judgement, presented.about
    if not judgement.queries:
        return None
    fewest = min(row.clients for row in judgement.queries)
    by = {(row.query, row.option): row for row in judgement.queries if row.clients == fewest}
    others = [label for label in judgement.options if label != judgement.baseline][:_OPTIONS_MAX]
    columns = [part for label in others for part in (label, "ratio")]
    rows: list[tuple[str, ...]] = []
    for query in dict.fromkeys(name for name, _ in by):
        cells = [_time(by.get((query, judgement.baseline)))]
        mark = " "
        for label in others:
            row = by.get((query, label))
            cells += [_time(row), _ratio(row)]
            if len(others) == 1 and row and row.comparison:
                mark = MARKS[row.comparison.standing]
        rows.append((f"{mark} {query}", *cells))
    return Table(
        (f"  {fmt.count(fewest, about.point_is, about.points_are)}", judgement.baseline, *columns),
        tuple(rows),
    )


def _time(row: QueryRow | None) -> str:
    return fmt.quantity(row.ns, "ns") if row else fmt.MISSING


def _ratio(row: QueryRow | None) -> str:
    c = row.comparison if row else None
    return fmt.ratio(c.ratio, c.low, c.high) if c else fmt.MISSING
