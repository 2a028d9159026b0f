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
# other rows at other times, or by chance
_VOLATILE = re.compile(
    r"\b(?:(?:random|rand|now|sysdate|timeofday|nextval|(?:gen_random_)?uuid\w*"
    r"|(?:clock|statement|transaction)_timestamp)\s*\(|(?:current_|local)(?:date|time|timestamp)\b"
    r"|tablesample\b|skip\s+locked\b)",
    re.IGNORECASE,
)
# one sequence for all clients
_COUNTERS = ("sequence", "unique")
# the step of what a transaction has written, as its server counts; other rows are of the step `work`
ROWS_WRITTEN = "rows written"
# the gravest last
_ANSWERS = ("", "text", "value", "rows", "error")


def compare(bench: Bench, found: Findings) -> None:
    """Adds the step `work` of each option and statement, and `rows written` of each transaction. Answers:

    '' the same rows and values; `text` other values of equal numbers, `value` another number in a single row,
    `rows`, `error`; `not reproducible`: the baseline differs from itself, or what it does depends on chance.
    """
    first = found.trials.get(baseline(bench.study, bench.options), ())
    unsure = {key for key, answer in _answers(first, found.again).items() if answer}
    unsure |= {("work", name) for work in bench.works.values() for name in _by_chance(work)}
    unsure |= {(ROWS_WRITTEN, row["transaction"]) for row in first if _key(row) in unsure}
    for option in bench.options if found.again else ():
        trial = found.trials.get(option.label, ())
        for key, answer in _answers(first, trial).items():
            rows = [row["rows"] for row in trial if _key(row) == key and row["rows"] is not None]
            answer = "not reproducible" if key in unsure else answer
            found.add(option, *key, answer, 0, draws=len(rows), rows=fmean(rows) if rows else None)


def numbered(work: Work) -> Iterator[str]:
    """Statements with a number of a sequence, which all clients share."""
    shared = [one.values for one in work.transactions.values() if isinstance(one, Transaction)]
    for name, statement in work.statements.items():
        generators = (one for values in (statement.parameters, *shared) for one in values.values())
        if any(one.kind in _COUNTERS for one in generators):
            yield name


def _by_chance(work: Work) -> Iterator[str]:
    """Statements whose values, or whose rows, are not the same whenever a client executes them."""
    yield from numbered(work)
    yield from (name for name, statement in work.statements.items() if _VOLATILE.search(statement.sql))


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


def _by_draw(trial: Sequence[Row]) -> dict[tuple[str, int], list[Row]]:
    found: dict[tuple[str, int], list[Row]] = {}
    for row in trial:
        found.setdefault((row["transaction"], row["draw"]), []).append(row)
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
    for a, b in zip(one, other, strict=False):
        try:
            if not math.isclose(float(a or ""), float(b or ""), rel_tol=_TOLERANCE):
                return True
        except ValueError:
            continue
    return False
