"""Steps of transactions, as the load engine reads them, and kinds of them (crates/load/src/plan/steps.rs)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard.study.expressions import Place, Tree, parse
from steelyard.study.workloads.statements import Statement
from steelyard.workloads import Scripted

Step = dict[str, Any]
Steps = list[Step]

BEGIN: Step = {"do": "begin"}
COMMIT: Step = {"do": "commit"}


_STEPS = Place("steps", 0)
_OWN = {"elapsed_ms": ("elapsed-ms", 0), "client": ("client", 0)}


def tree(text: str) -> Tree:
    """An expression: `:a + 1`, in the notation of pgbench's `\\set`, with client() and elapsed_ms()."""
    return parse(text, _STEPS, _OWN)


def put(value: str, to: str | int) -> Step:
    """Gives a value what an expression makes."""
    return {"do": "set", "value": value, "to": tree(str(to))}


def pick(value: str, of: Sequence[str], number: str) -> Step:
    """Gives a value one of some texts; number: an expression, from 1."""
    return {"do": "pick", "value": value, "from": of, "number": tree(number)}


def execute(statement: str, take: Mapping[str, str] | None = None, rows: str | None = None) -> Step:
    """Executes a statement. take: columns by the value that they become; rows: becomes their number."""
    given = {"rows": rows} if rows else {}
    return {"do": "statement", "name": statement, "take": take or {}, **given}


def when(condition: str, then: Steps, otherwise: Steps | None = None) -> Step:
    """Steps under a condition, which is an expression."""
    return {"do": "if", "condition": tree(condition), "then": then, "else": otherwise or []}


def percent(share: int) -> str:
    """A condition that holds for so many of 100."""
    return f"random(1, 100) <= {share}"


def nurand(value: str, a: int, low: int, high: int, constant: int, **distinct: str) -> Step:
    """Draws a number, some much more often than others (TPC-C 2.1.6)."""
    spread = {"kind": "nurand", "a": a, "low": low, "high": high, "constant": constant}
    return {"do": "draw", "value": value, "from": spread, **distinct}


def prefixed(transaction: str, steps: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
    """The steps with the transaction's name before those of its statements."""
    for step in steps:
        found = dict(step)
        if found["do"] == "statement":
            found["name"] = f"{transaction}: {found['name']}"
        for branch in ("then", "else", "steps"):
            if branch in found:
                found[branch] = list(prefixed(transaction, found[branch]))
        yield found


@dataclass(frozen=True)
class Kind:
    """A kind of transaction. statements: texts by the names that its steps use."""

    statements: Mapping[str, str]
    scripted: Scripted


def named(kinds: Mapping[str, Kind]) -> tuple[dict[str, Statement], dict[str, Scripted]]:
    """Statements and transactions by name: the kind's stands before that of each of its statements."""
    statements: dict[str, Statement] = {}
    found: dict[str, Scripted] = {}
    for name, kind in kinds.items():
        statements |= {f"{name}: {own}": Statement(sql=sql) for own, sql in kind.statements.items()}
        found[name] = replace(kind.scripted, steps=tuple(prefixed(name, kind.scripted.steps)))
    return statements, found
