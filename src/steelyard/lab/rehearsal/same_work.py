"""Whether the options do the same work: the trial of each against the baseline's, draw by draw."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from statistics import fmean

from steelyard.lab.rehearsal.findings import Findings, Row
from steelyard.study.plan import baseline
from steelyard.study.workloads.statements import Transaction
from steelyard.subjects import Bench
from steelyard.workloads import Work

DRAWS = 40
DRAWS_S = 2.0
"""A transaction has so many draws, or as many as this time allows for all transactions together."""

_TOLERANCE = 1e-6
# sums of floats of single precision, in another order
_ROUNDED = 1e-4
# other rows by chance
_CHANCE = re.compile(
    r"\b(?:random|rand|pg_try_\w+)\s*\(|\btablesample\b|\bskip\s+locked\b",
    re.IGNORECASE,
)
# other values at other times, or whenever executed
_TIME = re.compile(
    r"\b(?:nextval|(?:gen_random_)?uuid\w*|now|sysdate|timeofday|unix_timestamp|utc_\w+|cur(?:date|time)|(?:clock|statement|transaction)_timestamp)"
    r"\s*\(|'now'|\b(?:current_|local|utc_)(?:date|time|timestamp)\b",
    re.IGNORECASE,
)
# one of several rows: a server chooses
_ANY_OF = re.compile(r"\b(?:limit|fetch\s+(?:first|next)|top)\b", re.IGNORECASE)
_AGGREGATE = re.compile(r"\b(?:count|sum|avg|min|max)\s*\(", re.IGNORECASE)
# draws in which one option alone has nothing are no chance
_DRAWS_MIN = 20
# one sequence for all clients
_COUNTERS = ("sequence", "unique")
# the step of what a transaction has written, as its server counts; other rows are of the step `work`
ROWS_WRITTEN = "rows written"
# the gravest last
_ANSWERS = ("", "text", "value", "rows", "error")


def compare(bench: Bench, found: Findings, evicts: bool) -> None:
    """Adds the step `work` of each option and statement, and `rows written` of each transaction. Answers:

    '' the same rows and values; `text` other values of equal numbers, `value` another number in a single row,
    `rows`, `error`; `not reproducible`: the baseline differs from itself, or what it does depends on chance.
    evicts: equal servers hold other rows.
    """
    first = found.trials.get(baseline(bench.study, bench.options), ())
    unsure = {key for key, answer in _answers(first, found.again).items() if answer}
    texts = [(name, one.sql) for work in bench.works.values() for name, one in work.statements.items()]
    chance = {name for name, sql in texts if _CHANCE.search(sql) or evicts}
    named = re.compile(rf"\b(?:{'|'.join(map(re.escape, found.by_chance))})\b", re.IGNORECASE)
    other = {name for name, sql in texts if _TIME.search(sql) or (found.by_chance and named.search(sql))}
    other |= {name for work in bench.works.values() for name in numbered(work)}
    unsure |= {("work", name) for name in chance | other}
    unsure |= {(ROWS_WRITTEN, row["transaction"]) for row in first if row["statement"] in chance}
    any_of = {("work", name) for name, sql in texts if _ANY_OF.search(sql) and not _AGGREGATE.search(sql)}
    for option in bench.options if found.again else ():
        trial = found.trials.get(option.label, ())
        for key, answer in _answers(first, trial).items():
            mine, before, again = (
                [row for row in one if _key(row) == key] for one in (trial, first, found.again)
            )
            rows = [row["rows"] for row in mine if row["rows"] is not None]
            if key in unsure:
                answer = "value" if _has_nothing(mine, [*before, *again]) else "not reproducible"
            elif key in any_of and answer == "value":
                answer = "text"
            found.add(option, *key, answer, 0, draws=len(rows), rows=fmean(rows) if rows else None)


def _has_nothing(trial: Sequence[Row], other: Sequence[Row]) -> bool:
    """Whether one has no number but 0 in any draw, and the other one in each: more than chance."""
    mine, others = ([_nothing(row) for row in rows] for rows in (trial, other))
    return len(mine) >= _DRAWS_MIN and ((all(mine) and not any(others)) or (all(others) and not any(mine)))


def _nothing(row: Row) -> bool:
    """No row written, or a single row of zeros and NULL."""
    if row.get("step") == ROWS_WRITTEN:
        return row["rows"] == 0
    return bool(row.get("row")) and all(cell is None or _number(cell) == 0 for cell in row["row"])


def _number(cell: str | None) -> float:
    try:
        return float(cell or "nan")
    except ValueError:
        return math.nan


def numbered(work: Work) -> Iterator[str]:
    """Statements with a number of a sequence, which all clients share."""
    shared = [one.values for one in work.transactions.values() if isinstance(one, Transaction)]
    for name, statement in work.statements.items():
        generators = (one for values in (statement.parameters, *shared) for one in values.values())
        if any(one.kind in _COUNTERS for one in generators):
            yield name


def _key(row: Row) -> tuple[str, str]:
    return row.get("step", "work"), row["statement"]


def _answers(one: Sequence[Row], other: Sequence[Row]) -> dict[tuple[str, str], str]:
    """The gravest difference of each step and statement that both tried."""
    found: dict[tuple[str, str], str] = {}
    before, after = _by_draw(one), _by_draw(other)
    for draw in before.keys() & after.keys():
        for a, b in _pairs(before[draw], after[draw]):
            key, answer = _key(a), _answer(a, b)
            found[key] = max(found.get(key, ""), answer, key=_ANSWERS.index)
    return {_key(row): found[_key(row)] for row in one if _key(row) in found}


def _by_draw(trial: Sequence[Row]) -> dict[tuple[str, int, str], list[Row]]:
    found: dict[tuple[str, int, str], list[Row]] = {}
    for row in trial:
        found.setdefault((row["transaction"], row["draw"], row.get("step", "work")), []).append(row)
    return found


def _pairs(one: Sequence[Row], other: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """Executions in their order, as far as the transactions execute the same statements."""
    for a, b in zip_longest(one, other):
        if a is None or b is None or a["statement"] is None or _key(a) != _key(b):
            return
        yield a, b


def _answer(a: Row, b: Row) -> str:
    if a["code"] != b["code"]:
        return "error"
    if a["rows"] != b["rows"]:
        # a server that does not count has none
        return "rows" if None not in (a["rows"], b["rows"]) else ""
    if a["digest"] == b["digest"]:
        return ""
    return "value" if _another_number(a["row"] or (), b["row"] or ()) else "text"


def _another_number(one: Sequence[str | None], other: Sequence[str | None]) -> bool:
    """NULL is no number: a sum of no rows differs from any other."""
    for a, b in zip(one, other, strict=False):
        x, y = _number(a), _number(b)
        if (a is None and not math.isnan(y)) or (b is None and not math.isnan(x)):
            return True
        exact = all(cell and cell.lstrip("-").isdigit() for cell in (a, b))
        near = math.isclose(x, y, rel_tol=_TOLERANCE if exact else _ROUNDED, abs_tol=0 if exact else 1e-9)
        if not (near or math.isnan(x) or math.isnan(y)):
            return True
    return False
