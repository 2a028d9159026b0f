"""Whether the options did the same work: in the rehearsal, then under load (docs/explanation/equal-work.md).

Exactly: by the rehearsal draw by draw; then, of reads of unchanged data, by each client's n-th execution: its
values depend on seed, block and client alone. Else by blocks: the share of executions without a row, and rows
per execution, as far as all options came.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev
from typing import NamedTuple

from steelyard.analysis.judgement.results import FEWEST_BLOCKS, Notice
from steelyard.analysis.judgement.verdict import Difference, How
from steelyard.analysis.statistics.distributions import holm, t_two_sided
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import count, percent, significant
from steelyard.study.workloads.statements import StatementWorkload

# a smaller difference, of a share or of rows, is none
_MARGIN = 0.01
_ALPHA = 0.001
# steps of the rehearsal that compare, and the difference that one finds whatever its answer
_STEPS: dict[str, How | None] = {"work": None, "rows written": "writes"}
# with fewer executions that found a row, a statement has not run out: what it looks for may be rare
_WITH_ROWS_MIN = 20
# probability below which no row is no chance
_CHANCE = math.log(1e-6)


@dataclass(frozen=True)
class WorkCheck:
    """differences: of statements whose rows must be equal; meant: the study allows them. notices: doubts.

    held: of each statement without a difference, how far it was compared. texts: those with other values.
    """

    differences: tuple[Difference, ...] = ()
    meant: tuple[Difference, ...] = ()
    held: Mapping[str, str] = field(default_factory=dict[str, str])
    notices: tuple[Notice, ...] = ()
    texts: Sequence[str] = ()
    plans: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])


def equal_work(evidence: Evidence) -> WorkCheck:
    """The check of all options against the baseline."""
    if evidence.recorded or evidence.workload.load_keys() is None:
        return WorkCheck()
    rehearsed = _rehearsed(evidence)
    if not rehearsed and not evidence.rows("from marks limit 1"):
        text = "equal work was not checked: the bundle does not count the rows of statements"
        return WorkCheck(notices=(Notice("work-not-checked", text),))
    counts = _counts_of(evidence, rehearsed)
    found = dict[tuple[str, str], Difference]()
    for one in (
        *_in_rehearsal(evidence),
        *_under_load(evidence.baseline, counts),
        *(one for name in counts.marks for one in _ran_out(name, counts, evidence.baseline)),
    ):
        found.setdefault((one.statement, one.option), one)
    workload = evidence.workload
    given = workload.statements if isinstance(workload, StatementWorkload) else {}
    meant = {name for name, statement in given.items() if statement.rows == "may differ"}
    given = workload.transactions if isinstance(workload, StatementWorkload) else {}
    meant |= {name for name, transaction in given.items() if meant & {*transaction.statements}}
    texts = sorted({name for (name, _), answer in rehearsed.items() if answer == "text"})
    text = "returns other values under some options (dates, floats, LIMIT); its rows are equal"
    return WorkCheck(
        tuple(one for one in found.values() if one.statement not in meant),
        tuple(replace(one, meant=True) for one in found.values() if one.statement in meant),
        _held(evidence, counts, {name for name, _ in found}),
        (
            *(Notice("work-text", text, detail=name) for name in texts),
            *(Notice("no-rows", "finds no row under any option", detail=name) for name in counts.none_found),
        ),
        texts,
        _plans(evidence),
    )


def _rehearsed(evidence: Evidence) -> dict[tuple[str, str], str]:
    """The answer of the last rehearsal by statement and option."""
    query = "select statement, option, answer from rehearsal where step = 'work' order by rowid"
    return {(name, option): answer for name, option, answer in evidence.rows(query)}


def _plans(evidence: Evidence) -> dict[tuple[str, str], str]:
    query = """
        select statement, option, plan from rehearsal where step = 'statement' and plan <> '' order by rowid
    """
    return {(name, option): plan for name, option, plan in evidence.rows(query)}


def _in_rehearsal(evidence: Evidence) -> Iterator[Difference]:
    query = "select step, statement, option, rows, draws, answer from rehearsal order by rowid"
    rows = evidence.rows(query)
    known = {(step, name, option): sums for step, name, option, *sums in rows if step in _STEPS}
    for (step, name, option), (of_option, draws, answer) in known.items():
        if answer in ("rows", "value", "error"):
            how, (of_baseline, *_) = _STEPS[step] or answer, known[step, name, evidence.baseline]
            seen = f"in the rehearsal, {count(draws, 'execution')}"
            yield Difference(name, option, evidence.baseline, how, of_option, of_baseline, seen)


def _under_load(baseline: str, counts: _Counts) -> Iterator[Difference]:
    chances = list[tuple[float, Difference]]()
    for (name, option), sums in counts.beside.items():
        exact = [s for s in sums if not s.unsure]
        if differs := [s for s in exact if (s.rows, s.empty) != (s.baseline_rows, s.baseline_empty)]:
            n = count(differs[0].executions, "execution")
            yield _difference(name, option, baseline, differs[:1], f"in the first {n} of equal values")
        if exact:
            continue
        one = _difference(name, option, baseline, sums, f"in {count(len(sums), 'block')}")
        if _by_chance(sums):
            yield one
        else:
            chances += [(p, one) for p in _p_values(sums)]
    adjusted = holm([p for p, _ in chances])
    yield from (one for (_, one), p in zip(chances, adjusted.tolist(), strict=True) if p < _ALPHA)


def _by_chance(blocks: Sequence[_Sums]) -> bool:
    """Whether one of two has no row, or never lacks one, where by the other's share that is no chance.

    In each block (probability below 1e-6), or in five or more together (below 1e-18).
    """

    def impossible(none_share_n: Sequence[tuple[int, float, int]]) -> bool:
        logs = [n * math.log1p(-min(share, 1 - 1e-12)) for none, share, n in none_share_n if not none]
        together = len(blocks) >= FEWEST_BLOCKS and sum(logs) < 3 * _CHANCE
        return len(logs) == len(blocks) and (together or max(logs) < _CHANCE)

    n_empty = [(s.empty, s.baseline_empty, s.executions) for s in blocks]
    return any(
        impossible([(n - e, 1 - b / n, n) for e, b, n in turned])
        or (all(b > _MARGIN * n for _, b, n in turned) and impossible([(e, b / n, n) for e, b, n in turned]))
        for turned in (n_empty, [(b, e, n) for e, b, n in n_empty])
    )


def _p_values(blocks: Sequence[_Sums]) -> Iterator[float]:
    """That the difference lies within the margin: of shares without a row, and of rows per execution."""
    for values in _relative(blocks):
        mean = abs(fmean(values))
        if len(values) < FEWEST_BLOCKS or mean <= _MARGIN or not (min(values) > 0 or max(values) < 0):
            yield 1.0
        elif scatter := stdev(values):
            yield float(t_two_sided((mean - _MARGIN) * math.sqrt(len(values)) / scatter, len(values) - 1))
        else:
            yield 0.0


def _ran_out(name: str, counts: _Counts, baseline: str) -> Iterator[Difference]:
    """Options that found a row until some execution in every block, and none after it."""
    for option, blocks in counts.marks[name].items():
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
    with_rows = end * clients - marks[end].empty
    if with_rows < _WITH_ROWS_MIN:
        return 0
    share = with_rows / (end * clients)
    after = (last - end) * clients
    return end * clients if after * math.log1p(-min(share, 1 - 1e-12)) < _CHANCE else 0


def _difference(name: str, option: str, baseline: str, of: Sequence[_Sums], seen: str) -> Difference:
    n = sum(s.executions for s in of)
    rows, before = sum(s.rows for s in of) / n, sum(s.baseline_rows for s in of) / n
    return Difference(name, option, baseline, "rows", rows, before, f"under load, {seen}")


class _Mark(NamedTuple):
    """Sums of all clients that reached an execution, and how many reached it."""

    clients: int
    rows: int
    empty: int


class _Sums(NamedTuple):
    """Of one statement in one block, at the last mark that all clients of both options reached.

    unsure: equal options may give other rows for equal values.
    """

    executions: int
    rows: int
    empty: int
    baseline_rows: int
    baseline_empty: int
    unsure: bool


_Marks = dict[str, dict[str, dict[int, dict[int, _Mark]]]]


@dataclass(frozen=True)
class _Counts:
    """marks: by statement, option, block, executions of each client. beside: by statement and option."""

    marks: _Marks
    beside: Mapping[tuple[str, str], Sequence[_Sums]]

    @property
    def none_found(self) -> Iterator[str]:
        """Statements without a row under any option."""
        for name, by_option in self.marks.items():
            in_block = (marks for blocks in by_option.values() for marks in blocks.values())
            if not any(mark.rows for marks in in_block for mark in marks.values()):
                yield name


def _counts_of(evidence: Evidence, answers: Mapping[tuple[str, str], str]) -> _Counts:
    """answers: of the rehearsal, by statement and option."""
    writes = bool(evidence.rows("from rehearsal where step = 'write'"))
    query = "select distinct option, block from points where errors > 0"
    failing = {(option, block) for option, block in evidence.rows(query)}
    query = """
        select statement, option, block, execution, clients, rows, empty
        from marks join runs using (run) order by run, execution
    """
    marks: _Marks = {}
    for name, option, block, execution, *sums in evidence.rows(query):
        by_block = marks.setdefault(name, {}).setdefault(option, {})
        by_block.setdefault(block, {})[execution] = _Mark(*sums)
    beside = dict[tuple[str, str], list[_Sums]]()
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
    return _Counts(marks, beside)


def _relative(blocks: Sequence[_Sums]) -> tuple[list[float], list[float]]:
    """Differences by block, of shares without a row and of rows per execution, relative to their mean."""
    shares = [(s.empty - s.baseline_empty) / s.executions for s in blocks]
    return shares, [2 * (s.rows - s.baseline_rows) / ((s.rows + s.baseline_rows) or 1) for s in blocks]


def _common(own: Mapping[int, _Mark], other: Mapping[int, _Mark], unsure: bool) -> _Sums | None:
    """Sums at the last mark that all clients reached under both; None where there is none."""
    clients = max(mark.clients for mark in (*own.values(), *other.values()))
    whole = [n for n in own.keys() & other.keys() if own[n].clients == other[n].clients == clients]
    if not whole:
        return None
    last = max(whole)
    (_, rows, empty), (_, before, none_before) = own[last], other[last]
    return _Sums(last * clients, rows, empty, before, none_before, unsure)


def _held(evidence: Evidence, counts: _Counts, others: Set[str]) -> Mapping[str, str]:
    """By statement, in all options. others: statements with a difference."""
    if len(evidence.options) < 2:
        return {}
    query = "select statement, answer, draws from rehearsal where step = 'work' order by rowid"
    rehearsed = {name: (answer, draws) for name, answer, draws in evidence.rows(query)}
    found = dict[str, str]()
    for name in sorted({*rehearsed, *(name for name, _ in counts.beside)} - others):
        (answer, draws), parts = rehearsed.get(name, ("", 0)), list[str]()
        if draws and answer in ("", "text"):
            parts.append(f"equal rows in {count(draws, 'execution')} of the rehearsal")
        if options := [sums for (statement, _), sums in counts.beside.items() if statement == name]:
            parts.append(_of_load(options))
        if parts:
            found[name] = "; ".join(parts)
    return found


def _of_load(options: Sequence[Sequence[_Sums]]) -> str:
    all_of = [sums for of_option in options for sums in of_option]
    rows = sum(s.baseline_rows for s in all_of) / sum(s.executions for s in all_of)
    each = f"{significant(rows)} rows per execution"
    if exact := sum(s.executions for s in all_of if not s.unsure):
        return f"equal rows in {count(exact, 'execution')} under load, {each}"
    most = max(abs(fmean(differences)) for sums in options for differences in _relative(sums))
    blocks = count(min(map(len, options)), "block")
    less = f"differ by {percent(most)} or less" if most else "do not differ"
    return f"rows under load {less} over {blocks}, {each}"
