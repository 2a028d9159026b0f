"""Latency by statement and time by query, each with its ratio to the baseline's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.analysis.judgement.results import QueryRow, StatementLatency
from steelyard.report.presented.marks import MARKS
from steelyard.report.presented.presented import Presented
from steelyard.report.table import Cell, Column, Row, Table, plain_table, ratio_of, time, whole

_OPTIONS_MAX = 8
_ROWS_MAX = 60
_STATEMENTS_MAX = 16  # of more the terminal has whole transactions alone
_WHOLE = "transaction"
_COLUMNS = (
    Column("count", say=whole),
    Column("p99", "p99_ns", time),
    Column("p50", "p50_ns", time),
    Column("ratio of p50", "ratio"),
)
_OTHERS_MAX = 2


def statements(presented: Presented) -> Table | None:
    """At the most clients; None of a single statement, or of many options: then the page has them.

    Of many statements only kinds of transactions.
    """
    found, about = presented.judgement.statements, presented.about
    if not found or len(presented.judgement.options) > _OPTIONS_MAX:
        return None
    most = max(row.clients for row in found)
    rows = [row for row in found if row.clients == most]
    names = list(dict.fromkeys(row.statement for row in rows if row.statement != _WHOLE))
    if about.work_is == "statement":
        shown = names[: max(1, _ROWS_MAX // len(presented.judgement.options))]
    elif len(names) >= _STATEMENTS_MAX:
        shown = [name for name in names if name.partition(" ")[0] == _WHOLE]
    else:
        shown = names
    of_a_replay = about.work_is == "statement" and len(shown) < len(names)
    cut = f", {len(shown)} of {len(names)} statements" if of_a_replay else ""
    head = f"  at {about.count(most)}{cut}"
    kept = [_row(presented, row, "  ") for row in rows if row.statement in (*shown, _WHOLE)]
    return Table((Column(head, "name"), Column("option"), *_COLUMNS), kept)


def page_table(presented: Presented) -> Table | None:
    """The same at every load point and of all options."""
    found = presented.judgement.statements
    columns = Column("statement", "name"), Column("option"), Column(presented.about.points_are, "clients")
    return Table((*columns, *_COLUMNS), [_row(presented, row) for row in found]) if found else None


def _row(presented: Presented, found: StatementLatency, indent: str = "") -> Row:
    """The outcome stands before the ratio as a sign. The row of whole transactions is that of any work."""
    work, c = presented.about.work_is, found.comparison
    return {
        **vars(found),
        "name": indent + (f"any {work}" if found.statement == _WHOLE != work else found.statement),
        "ratio": f"{MARKS[c.standing]} {ratio_of(c)}" if c else "",
    }


def queries(presented: Presented) -> Table | None:
    """Of the power run, or what comes nearest to it: one row per query; None where there was none."""
    judgement, about = presented.judgement, presented.about
    if not judgement.queries:
        return None
    fewest = min(row.clients for row in judgement.queries)
    by = {(row.query, row.option): row for row in judgement.queries if row.clients == fewest}
    others = [label for label in judgement.options if label != judgement.baseline][:_OTHERS_MAX]
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
    streams = about.count(fewest)
    return plain_table((f"  {streams}", judgement.baseline, *columns), rows)


def _time(row: QueryRow | None) -> Cell | None:
    return Cell(row.ns, unit="ns") if row else None
