"""Query by query: what each takes under the baseline, and its ratio under the other options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import QueryRow
from steelyard.report.presented.marks import MARKS
from steelyard.report.presented.presented import Presented
from steelyard.report.table import Cell, Table, plain_table, ratio_of

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
    rows: list[Sequence[Any]] = []
    for query in dict.fromkeys(name for name, _ in by):
        cells = [_time(by.get((query, judgement.baseline)))]
        mark = " "
        for label in others:
            row = by.get((query, label))
            found = row.comparison if row else None
            cells += [_time(row), ratio_of(found) if found else None]
            mark = MARKS[found.standing] if found and len(others) == 1 else mark
        rows.append((f"{mark} {query}", *cells))
    streams = fmt.count(fewest, about.point_is, about.points_are)
    return plain_table((f"  {streams}", judgement.baseline, *columns), rows)


def _time(row: QueryRow | None) -> Cell | None:
    return Cell(row.ns, unit="ns") if row else None
