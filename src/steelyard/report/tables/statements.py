"""Latency by statement: how often each ran, its p50 with the ratio to the baseline's, and its p99."""

from __future__ import annotations

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import StatementLatency
from steelyard.report.presented.marks import MARKS
from steelyard.report.presented.presented import Presented
from steelyard.report.table import Column, Row, Table, ratio_of, time, whole

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


def table(presented: Presented) -> Table | None:
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
    head = f"  at {fmt.count(most, about.point_is, about.points_are)}{cut}"
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
