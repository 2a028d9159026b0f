"""Kinds of transactions, each with statements of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from steelyard.study.workloads.statements import Statement
from steelyard.workloads import Scripted
from steelyard.workloads.steps import prefixed


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
