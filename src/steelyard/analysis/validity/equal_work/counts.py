"""What was counted under load: each option beside the baseline, by block, as far as both came."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from steelyard.bundle.evidence.evidence import Evidence


class Mark(NamedTuple):
    """Sums of all clients that reached an execution, and how many reached it."""

    clients: int
    rows: int
    empty: int


class Sums(NamedTuple):
    """Of one statement in one block, at the last mark that all clients of both options reached.

    unsure: equal options may give other rows for equal values.
    """

    executions: int
    rows: int
    empty: int
    baseline_rows: int
    baseline_empty: int
    unsure: bool


Marks = dict[str, dict[str, dict[int, dict[int, Mark]]]]


@dataclass(frozen=True)
class Counts:
    """marks: by statement, option, block, executions of each client. beside: by statement and option."""

    marks: Marks
    beside: Mapping[tuple[str, str], Sequence[Sums]]

    @property
    def none_found(self) -> Iterator[str]:
        """Statements without a row under any option."""
        for name, by_option in self.marks.items():
            in_block = (marks for blocks in by_option.values() for marks in blocks.values())
            if not any(mark.rows for marks in in_block for mark in marks.values()):
                yield name


def counts_of(evidence: Evidence, answers: Mapping[tuple[str, str], str]) -> Counts:
    """answers: of the rehearsal, by statement and option."""
    writes = bool(evidence.rows("from rehearsal where step = 'write'"))
    query = "select distinct option, block from points where errors > 0"
    failing = {(option, block) for option, block in evidence.rows(query)}
    query = """
        select statement, option, block, execution, clients, rows, empty
        from marks join runs using (run) order by run, execution
    """
    marks: Marks = {}
    for name, option, block, execution, *sums in evidence.rows(query):
        by_block = marks.setdefault(name, {}).setdefault(option, {})
        by_block.setdefault(block, {})[execution] = Mark(*sums)
    beside = dict[tuple[str, str], list[Sums]]()
    for name, by_option in marks.items():
        before = by_option.get(evidence.baseline, {})
        for option, blocks in by_option.items():
            both = sorted(blocks.keys() & before.keys()) if option != evidence.baseline else ()
            labels = (option, evidence.baseline)
            chance = writes or not {answers.get((name, label)) for label in labels} <= {"", "text"}
            for block in both:
                unsure = chance or any((label, block) in failing for label in labels)
                if sums := _common(blocks[block], before[block], unsure):
                    beside.setdefault((name, option), []).append(sums)
    return Counts(marks, beside)


def relative(blocks: Sequence[Sums]) -> tuple[list[float], list[float]]:
    """Differences by block, of shares without a row and of rows per execution, relative to their mean."""
    shares = [(s.empty - s.baseline_empty) / s.executions for s in blocks]
    return shares, [2 * (s.rows - s.baseline_rows) / ((s.rows + s.baseline_rows) or 1) for s in blocks]


def _common(own: Mapping[int, Mark], other: Mapping[int, Mark], unsure: bool) -> Sums | None:
    """Sums at the last mark that all clients reached under both; None where there is none."""
    clients = max(mark.clients for mark in (*own.values(), *other.values()))
    whole = [n for n in own.keys() & other.keys() if own[n].clients == other[n].clients == clients]
    if not whole:
        return None
    last = max(whole)
    (_, rows, empty), (_, before, none_before) = own[last], other[last]
    return Sums(last * clients, rows, empty, before, none_before, unsure)
