"""Rows that a transaction writes and keeps, as its server counts them: by triggers and functions as well."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import groupby
from typing import Any

from steelyard.lab.rehearsal.findings import Findings, Row
from steelyard.lab.rehearsal.same_work import ROWS_WRITTEN
from steelyard.sql_text import commands_of
from steelyard.study.workloads.statements import Transaction
from steelyard.subjects import Kind
from steelyard.workloads import Work

_WROTE, _SETTLES = "steelyard: has it written?", "steelyard: deferred triggers"
# what may have to come first in a transaction
_FIRST = re.compile(r"(set|begin|start\s+transaction|lock)\b", re.IGNORECASE)
_KEEPS = re.compile(r"(commit|end|release)\b", re.IGNORECASE)
_UNDOES = re.compile(r"(abort|rollback)\b", re.IGNORECASE)
_TO_SAVEPOINT = re.compile(r"rollback\b.*\bto\b", re.IGNORECASE)


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
