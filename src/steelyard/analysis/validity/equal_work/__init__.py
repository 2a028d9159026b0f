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

from steelyard.analysis.judgement.outcome import FEWEST_BLOCKS
from steelyard.analysis.judgement.results import Notice
from steelyard.analysis.judgement.work import Difference, How
from steelyard.analysis.statistics.distributions import holm, t_two_sided
from steelyard.analysis.validity.equal_work.counts import Counts, Mark, Sums, counts_of, relative
from steelyard.analysis.validity.equal_work.held import held
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import count
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
    if evidence.study.subject.kind == "recording" or evidence.study.workload.load_keys() is None:
        return WorkCheck()
    rehearsed = _rehearsed(evidence)
    if not rehearsed and not evidence.rows("from marks limit 1"):
        text = "equal work was not checked: the bundle does not count the rows of statements"
        return WorkCheck(notices=(Notice("work-not-checked", text),))
    counts = counts_of(evidence, rehearsed)
    found = dict[tuple[str, str], Difference]()
    for one in (
        *_in_rehearsal(evidence),
        *_under_load(evidence.baseline, counts),
        *(one for name in counts.marks for one in _ran_out(name, counts, evidence.baseline)),
    ):
        found.setdefault((one.statement, one.option), one)
    workload = evidence.study.workload
    given = workload.statements if isinstance(workload, StatementWorkload) else {}
    meant = {name for name, statement in given.items() if statement.rows == "may differ"}
    given = workload.transactions if isinstance(workload, StatementWorkload) else {}
    meant |= {name for name, transaction in given.items() if meant & {*transaction.statements}}
    texts = sorted({name for (name, _), answer in rehearsed.items() if answer == "text"})
    text = "returns other values under some options (dates, floats, LIMIT); its rows are equal"
    return WorkCheck(
        tuple(one for one in found.values() if one.statement not in meant),
        tuple(replace(one, meant=True) for one in found.values() if one.statement in meant),
        held(evidence, counts, {name for name, _ in found}),
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


def _under_load(baseline: str, counts: Counts) -> Iterator[Difference]:
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


def _by_chance(blocks: Sequence[Sums]) -> bool:
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


def _p_values(blocks: Sequence[Sums]) -> Iterator[float]:
    """That the difference lies within the margin: of shares without a row, and of rows per execution."""
    for values in relative(blocks):
        mean = abs(fmean(values))
        if len(values) < FEWEST_BLOCKS or mean <= _MARGIN or not (min(values) > 0 or max(values) < 0):
            yield 1.0
        elif scatter := stdev(values):
            yield float(t_two_sided((mean - _MARGIN) * math.sqrt(len(values)) / scatter, len(values) - 1))
        else:
            yield 0.0


def _ran_out(name: str, counts: Counts, baseline: str) -> Iterator[Difference]:
    """Options that found a row until some execution in every block, and none after it."""
    for option, blocks in counts.marks[name].items():
        if all(ends := [_end(marks) for marks in blocks.values()]):
            seen = f"under load, in {count(len(ends), 'block')}"
            yield Difference(name, option, baseline, "ran out", min(ends), math.nan, seen)


def _end(marks: Mapping[int, Mark]) -> int:
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


def _difference(name: str, option: str, baseline: str, of: Sequence[Sums], seen: str) -> Difference:
    n = sum(s.executions for s in of)
    rows, before = sum(s.rows for s in of) / n, sum(s.baseline_rows for s in of) / n
    return Difference(name, option, baseline, "rows", rows, before, f"under load, {seen}")
