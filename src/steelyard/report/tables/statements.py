"""Latency by statement: how often each ran, its p50 with the ratio to the baseline's, and its p99."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import StatementLatency
from steelyard.report.presented.marks import MARKS
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table, whole

_OPTIONS_MAX = 8
_ROWS_MAX = 60
_STATEMENTS_MAX = 16  # of more the terminal has whole transactions alone
_WHOLE = "transaction"


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
    return Table(
        (
            f"  at {fmt.count(most, about.point_is, about.points_are)}{cut}",
            "option",
            "count",
            "p99",
            "p50",
            "ratio of p50",
        ),
        tuple(
            (f"  {_name(presented, row)}", row.option, *_cells(row))
            for row in rows
            if row.statement in (*shown, _WHOLE)
        ),
    )


def page_table(presented: Presented) -> Table | None:
    """The same at every load point and of all options."""
    found: Sequence[StatementLatency] = presented.judgement.statements
    if not found:
        return None
    return Table(
        ("statement", "option", presented.about.points_are, "count", "p99", "p50", "ratio of p50"),
        tuple((_name(presented, row), row.option, str(row.clients), *_cells(row)) for row in found),
    )


def _name(presented: Presented, row: StatementLatency) -> str:
    """The row of whole transactions is that of any unit of work."""
    work = presented.about.work_is
    return f"any {work}" if row.statement == _WHOLE != work else row.statement


def _cells(row: StatementLatency) -> tuple[str, str, str, str]:
    """The outcome stands before the ratio as a sign."""
    found = row.comparison
    ratio = f"{MARKS[found.standing]} {fmt.ratio(found.ratio, found.low, found.high)}" if found else ""
    return whole(row.count), fmt.quantity(row.p99_ns, "ns"), fmt.quantity(row.p50_ns, "ns"), ratio
