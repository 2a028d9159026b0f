"""Whether the options do the same work: the trial of each against the baseline's, draw by draw."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import groupby, zip_longest
from statistics import fmean
from typing import Any

from steelyard.lab.rehearsal.findings import Findings, Row
from steelyard.sql_text import commands_of
from steelyard.study.plan import baseline
from steelyard.study.workloads.statements import Transaction
from steelyard.subjects import Bench, Kind
from steelyard.workloads import Work

DRAWS = 40
DRAWS_S = 2.0
"""A transaction has so many draws, or as many as this time allows for all transactions together."""

_TOLERANCE = 1e-6
# sums of floats of single precision, in another order
_ROUNDED = 1e-4
# other rows by chance
_CHANCE = re.compile(r"\b(?:random|rand|pg_try_\w+)\s*\(|\btablesample\b|\bskip\s+locked\b", re.IGNORECASE)
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

_WROTE, _SETTLES = "steelyard: has it written?", "steelyard: deferred triggers"
# what may have to come first in a transaction
_FIRST = re.compile(r"(set|begin|start\s+transaction|lock)\b", re.IGNORECASE)
_KEEPS = re.compile(r"(commit|end|release)\b", re.IGNORECASE)
_UNDOES = re.compile(r"(abort|rollback)\b", re.IGNORECASE)
_TO_SAVEPOINT = re.compile(r"rollback\b.*\bto\b", re.IGNORECASE)


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


def asking(plan: Row, kind: Kind, work: Work) -> dict[str, Any]:
    """The plan, whose transactions ask at begin and end what the server has written."""
    asks = {_WROTE: kind.wrote, _SETTLES: kind.settles}
    statements = [*plan["statements"], *({"name": n, "sql": sql} for n, sql in asks.items() if sql)]
    transactions = [_asking(one, work, kind) for one in plan["transactions"]]
    return {**plan, "statements": statements, "transactions": transactions}


def _asking(transaction: Row, work: Work, kind: Kind) -> Row:
    """The transaction, which asks at its begin and its end what the server has written."""
    key, given = ("steps", transaction["steps"]) if transaction.get("steps") else ("statements", ())
    steps = given or [{"do": "statement", "name": name} for name in transaction["statements"]]
    sql = [
        one["do"]
        if one["do"] != "statement"
        else "; ".join(commands_of(work.statements[one["name"]].sql, kind.protocol))
        for one in steps
    ]
    first = next((n for n, text in enumerate(sql) if not _FIRST.match(text)), len(sql))
    last = len(sql)
    while last > first and (_KEEPS.match(sql[last - 1]) or _UNDOES.match(sql[last - 1])):
        last -= 1
    ask, settle = {"do": "statement", "name": _WROTE}, {"do": "statement", "name": _SETTLES}
    # a server may forget its counts once the transaction has ended
    end = [settle, ask] if kind.settles else [ask]
    asking = [*steps[:first], ask, *steps[first:last], *end, *steps[last:]]
    return {**transaction, key: asking if given else [one["name"] for one in asking]}


def parted(rows: Sequence[Row], work: Work, found: Findings, protocol: str) -> tuple[list[Row], list[Row]]:
    """Rows of statements, and of each draw of a transaction: what the server has written, and kept."""
    asked = [row for row in rows if row["statement"] in (_WROTE, _SETTLES)]
    names = ((row["row"] or [""])[-1] or "" for row in asked)
    found.by_chance |= {name for text in names for name in text.split(",") if name}
    failed = dict.fromkeys(row["message"] for row in asked if row["code"])
    found.not_tried += [f"rows written: {message}" for message in failed]
    others = [row for row in rows if row["statement"] not in (_WROTE, _SETTLES)]
    return others, list(
        _writes((row for row in asked if row["statement"] == _WROTE), _undone(work, protocol))
    )


def _writes(answers: Iterable[Row], undone: Set[str]) -> Iterator[Row]:
    """Between the two answers of a draw. A row that moves to another partition is deleted and inserted."""
    for (transaction, draw), asked in groupby(answers, key=lambda row: (row["transaction"], row["draw"])):
        numbers = [[None if n is None else float(n) for n in row["row"][:4]] for row in asked if row["row"]]
        if len(numbers) == 2:
            grew, updated, inserted, deleted = (
                None if b is None or a is None else b - a for a, b in zip(*numbers, strict=True)
            )
            rows = None
            if inserted is None:
                rows = min(grew or 0, 1)
            elif updated is not None:
                rows = updated + max(inserted, deleted or 0)
            yield {
                "transaction": transaction, "step": ROWS_WRITTEN, "statement": transaction, "draw": draw,
                "code": "", "rows": 0 if transaction in undone else rows, "digest": "", "wrote": bool(grew),
            }  # fmt: skip


def _undone(work: Work, protocol: str) -> Set[str]:
    """Transactions whose statements end with a roll back, of all or to a savepoint."""
    texts = {
        name: ";\n".join(work.statements[statement].sql for statement in one.statements)
        for name, one in work.transactions.items()
        if isinstance(one, Transaction)
    }
    commands = {
        name: [one for one in commands_of(text, protocol) if not _KEEPS.match(one)]
        for name, text in texts.items()
    }
    return {name for name, found in commands.items() if found and _undoes_all(found)}


def _undoes_all(commands: Sequence[str]) -> bool:
    """Whether the last one undoes all others: to a savepoint, if that came first."""
    first = next((one for one in commands if not _FIRST.match(one)), "")
    whole = not _TO_SAVEPOINT.match(commands[-1]) or first.lower().startswith("savepoint")
    return bool(_UNDOES.match(commands[-1])) and whole
