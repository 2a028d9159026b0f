"""Whether the options did the same work: in the rehearsal, then under load (docs/explanation/equal-work.md).

Exactly: by the rehearsal draw by draw; then, of reads of unchanged data, by each client's n-th execution: its
values depend on seed, block and client alone. Else by blocks: the share of executions without a row, and rows
per execution, as far as all options came.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev
from typing import Any, NamedTuple

from steelyard.analysis.judgement.outcome import FEWEST_BLOCKS
from steelyard.analysis.judgement.results import Notice
from steelyard.analysis.judgement.work import Difference
from steelyard.analysis.statistics.distributions import holm, t_two_sided
from steelyard.bundle.evidence.evidence import Columns, Evidence
from steelyard.quantities import count
from steelyard.study.workloads.statements import StatementWorkload

# a smaller difference, of a share or of rows, is none
_MARGIN = 0.01
_ALPHA = 0.001
# probability below which no row is no chance
_CHANCE = math.log(1e-6)


@dataclass(frozen=True)
class WorkCheck:
    """differences: of statements whose rows must be equal; meant: the study allows them. notices: doubts."""

    differences: tuple[Difference, ...] = ()
    meant: tuple[Difference, ...] = ()
    notices: tuple[Notice, ...] = ()
    plans: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])


class _Mark(NamedTuple):
    clients: int
    rows: int
    empty: int


# by statement, option, block: marks by each client's number of executions
_Marks = dict[str, dict[str, dict[int, dict[int, _Mark]]]]


class _Sums(NamedTuple):
    """Of one statement in one block, at the last mark that all clients of both options reached."""

    executions: int
    rows: int
    empty: int
    baseline_rows: int
    baseline_empty: int


def equal_work(evidence: Evidence) -> WorkCheck:
    """The check of all options against the baseline."""
    if evidence.study.subject.kind == "recording" or evidence.study.workload.load_keys() is None:
        return WorkCheck()
    if not len(evidence.marks["run"]):
        text = "equal work was not checked: the bundle does not count the rows of statements"
        return WorkCheck(notices=(Notice("work-not-checked", text),))
    rehearsed, marks = _rehearsed(evidence), _marks(evidence)
    found = dict[tuple[str, str], Difference]()
    for one in (*_in_rehearsal(evidence, rehearsed), *_under_load(evidence, rehearsed, marks)):
        found.setdefault((one.statement, one.option), one)
    workload = evidence.study.workload
    given = workload.statements if isinstance(workload, StatementWorkload) else {}
    meant = {name for name, statement in given.items() if statement.rows == "may differ"}
    texts = sorted({name for (name, _), answer in rehearsed.items() if answer == "text"})
    text = "returns other values under some options (order, dates, floats); its rows are equal"
    return WorkCheck(
        tuple(one for one in found.values() if one.statement not in meant),
        tuple(replace(one, meant=True) for one in found.values() if one.statement in meant),
        tuple(Notice("work-text", text, detail=name) for name in texts),
        _plans(evidence),
    )


def _table(columns: Columns, *names: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(columns[name].tolist() for name in names), strict=True)


def _rehearsed(evidence: Evidence) -> dict[tuple[str, str], str]:
    """The answer of the last rehearsal by statement and option."""
    rows = _table(evidence.rehearsal, "step", "statement", "option", "answer")
    return {(name, option): answer for step, name, option, answer in rows if step == "work"}


def _plans(evidence: Evidence) -> dict[tuple[str, str], str]:
    rows = _table(evidence.rehearsal, "step", "statement", "option", "plan")
    return {(name, option): plan for step, name, option, plan in rows if step == "statement" and plan}


def _in_rehearsal(evidence: Evidence, answers: Mapping[tuple[str, str], str]) -> Iterator[Difference]:
    rows = _table(evidence.rehearsal, "step", "statement", "option", "rows", "draws")
    known = {(name, option): sums for step, name, option, *sums in rows if step == "work"}
    for (name, option), answer in answers.items():
        if answer in ("rows", "value", "error"):
            (of_option, draws), (of_baseline, _) = known[name, option], known[name, evidence.baseline]
            seen = f"in the rehearsal, {count(int(draws), 'execution')}"
            yield Difference(name, option, evidence.baseline, answer, of_option, of_baseline, seen)


def _marks(evidence: Evidence) -> _Marks:
    runs = {run: (option, block) for run, option, block in _table(evidence.runs, "run", "option", "block")}
    found: _Marks = {}
    for run, name, execution, *sums in _table(
        evidence.marks, "run", "statement", "execution", "clients", "rows", "empty"
    ):
        option, block = runs[run]
        by_block = found.setdefault(name, {}).setdefault(option, {})
        by_block.setdefault(block, {})[execution] = _Mark(*sums)
    return found


def _under_load(
    evidence: Evidence, answers: Mapping[tuple[str, str], str], marks: _Marks
) -> Iterator[Difference]:
    baseline, chances = evidence.baseline, list[tuple[float, Difference]]()
    writes = "write" in evidence.rehearsal["step"].tolist()
    failed = {run for run, errors in _table(evidence.points, "run", "errors") if errors}
    runs = _table(evidence.runs, "run", "option", "block")
    unsure = {(option, block) for run, option, block in runs if run in failed}
    for name, by_option in marks.items():
        before = by_option.get(baseline, {})
        for option, blocks in by_option.items():
            both = blocks.keys() & before.keys() if option != baseline else ()
            sums = {block: s for block in both if (s := _common(blocks[block], before[block]))}
            if not sums:
                continue
            found = list(sums.values())
            in_blocks = f"in {count(len(found), 'block')}"
            sure = {answers.get((name, label)) for label in (option, baseline)} <= {"", "text"}
            if sure and not writes:
                differs = [
                    s for b, s in sums.items() if _differs(s) and not {(option, b), (baseline, b)} & unsure
                ]
                if differs:
                    n = count(differs[0].executions, "execution")
                    yield _difference(
                        name, option, baseline, differs[:1], f"in the first {n} of equal values"
                    )
            elif _by_chance(found):
                yield _difference(name, option, baseline, found, in_blocks)
            else:
                one = _difference(name, option, baseline, found, in_blocks)
                chances += [(p, one) for p in _p_values(found)]
        yield from _ran_out(name, by_option, baseline)
    adjusted = holm([p for p, _ in chances])
    yield from (one for (_, one), p in zip(chances, adjusted.tolist(), strict=True) if p < _ALPHA)


def _common(own: Mapping[int, _Mark], other: Mapping[int, _Mark]) -> _Sums | None:
    """Sums at the last mark that all clients reached under both; None where there is none."""
    clients = max(mark.clients for mark in (*own.values(), *other.values()))
    whole = [n for n in own.keys() & other.keys() if own[n].clients == other[n].clients == clients]
    if not whole:
        return None
    last = max(whole)
    (_, rows, empty), (_, before, none_before) = own[last], other[last]
    return _Sums(last * clients, rows, empty, before, none_before)


def _differs(s: _Sums) -> bool:
    return (s.rows, s.empty) != (s.baseline_rows, s.baseline_empty)


def _by_chance(blocks: Sequence[_Sums]) -> bool:
    """Whether one of two has no row, or never lacks one, where by the other's share that is no chance."""

    def impossible(none: int, share: float, n: int) -> bool:
        return none == 0 and share > 0 and n * math.log1p(-min(share, 1 - 1e-12)) < _CHANCE

    n_empty = [(s.empty, s.baseline_empty, s.executions) for s in blocks]
    return any(
        all(impossible(n - e, 1 - b / n, n) for e, b, n in turned)
        or all(impossible(e, b / n, n) and b > _MARGIN * n for e, b, n in turned)
        for turned in (n_empty, [(b, e, n) for e, b, n in n_empty])
    )


def _p_values(blocks: Sequence[_Sums]) -> Iterator[float]:
    """That the difference lies within the margin: of shares without a row, and of rows per execution."""
    shares = [(s.empty - s.baseline_empty) / s.executions for s in blocks]
    rows = [2 * (s.rows - s.baseline_rows) / ((s.rows + s.baseline_rows) or 1) for s in blocks]
    for values in (shares, rows):
        mean = abs(fmean(values))
        if len(values) < FEWEST_BLOCKS or mean <= _MARGIN or not (min(values) > 0 or max(values) < 0):
            yield 1.0
        elif scatter := stdev(values):
            yield float(t_two_sided((mean - _MARGIN) * math.sqrt(len(values)) / scatter, len(values) - 1))
        else:
            yield 0.0


def _ran_out(
    name: str, by_option: Mapping[str, Mapping[int, Mapping[int, _Mark]]], baseline: str
) -> Iterator[Difference]:
    """Options that found a row until some execution in every block, and none after it."""
    for option, blocks in by_option.items():
        if all(ends := [_end(marks) for marks in blocks.values()]):
            seen = f"under load, in {count(len(ends), 'block')}"
            yield Difference(name, option, baseline, "ran out", min(ends), math.nan, seen)


def _end(marks: Mapping[int, _Mark]) -> int:
    """Executions of all clients until the last with a row, where what follows without one is no chance; 0."""
    clients = max(mark.clients for mark in marks.values())
    whole = sorted(n for n, mark in marks.items() if mark.clients == clients)
    if not whole or not marks[whole[-1]].rows:
        return 0
    last = whole[-1]
    end = next(n for n in whole if marks[n].rows == marks[last].rows)
    share = 1 - marks[end].empty / (end * clients)
    after = (last - end) * clients
    return end * clients if after * math.log1p(-min(share, 1 - 1e-12)) < _CHANCE else 0


def _difference(name: str, option: str, baseline: str, of: Sequence[_Sums], seen: str) -> Difference:
    n = sum(s.executions for s in of)
    rows, before = sum(s.rows for s in of) / n, sum(s.baseline_rows for s in of) / n
    return Difference(name, option, baseline, "rows", rows, before, f"under load, {seen}")
