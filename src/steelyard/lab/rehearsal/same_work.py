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
# the gravest last
_ANSWERS = ("", "text", "value", "rows", "error")


def compare(bench: Bench, found: Findings) -> None:
    """Adds the step `work` of each option and statement to the findings. Answers:

    '' the same rows and values; `text` other values of equal numbers, `value` another number in a single row,
    `rows`, `error`; `not reproducible`: the baseline differs from itself, or what it does depends on chance.
    """
    first = found.trials.get(baseline(bench.study, bench.options), ())
    unsure = {name for name, answer in _answers(first, found.again).items() if answer}
    unsure |= {name for work in bench.works.values() for name in _by_chance(work)}
    for option in bench.options if found.again else ():
        trial = found.trials.get(option.label, ())
        for name, answer in _answers(first, trial).items():
            rows = [row["rows"] for row in trial if row["statement"] == name and row["rows"] is not None]
            answer = "not reproducible" if name in unsure else answer
            found.add(option, "work", name, answer, 0, draws=len(rows), rows=fmean(rows) if rows else None)


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


def _answers(one: Sequence[Row], other: Sequence[Row]) -> dict[str, str]:
    """The gravest difference of each statement that both tried."""
    found: dict[str, str] = {}
    before, after = _by_draw(one), _by_draw(other)
    for draw in before.keys() & after.keys():
        for a, b in _pairs(before[draw], after[draw]):
            name, answer = a["statement"], _answer(a, b)
            found[name] = max(found.get(name, ""), answer, key=_ANSWERS.index)
    return {row["statement"]: found[row["statement"]] for row in one if row["statement"] in found}


def _by_draw(trial: Sequence[Row]) -> dict[tuple[str, int], list[Row]]:
    found: dict[tuple[str, int], list[Row]] = {}
    for row in trial:
        found.setdefault((row["transaction"], row["draw"]), []).append(row)
    return found


def _pairs(one: Sequence[Row], other: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """Executions in their order, as far as the transactions execute the same statements."""
    for a, b in zip_longest(one, other):
        if a is None or b is None or a["statement"] is None or a["statement"] != b["statement"]:
            return
        yield a, b


def _answer(a: Row, b: Row) -> str:
    if a["code"] != b["code"]:
        return "error"
    if a["rows"] != b["rows"]:
        return "rows"
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
