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

from steelyard.analysis.judgement import FEWEST_BLOCKS, Notice
from steelyard.analysis.judgement.verdict import Difference
from steelyard.analysis.statistics.distributions import holm, t_two_sided
from steelyard.bundle.evidence import Evidence, grouped
from steelyard.quantities import count, percent, significant
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.study.workloads.workload import Workload

# a smaller difference, of a share or of rows, is none
_MARGIN = 0.01
_ALPHA = 0.001
# with fewer executions that found a row, a statement has not run out: what it looks for may be rare
_WITH_ROWS_MIN = 20
# probability below which no row is no chance
_CHANCE = math.log(1e-6)

# of the last rehearsal, options whose work was not that of the baseline
_IN_REHEARSAL = """
    with last as (
        select *, min(rowid) over each as place from rehearsal where step in ('work', 'rows written')
        window each as (partition by step, statement, option) qualify rowid = max(rowid) over each
    )
    select o.statement, o.option, if(o.step = 'work', o.answer, 'writes'), o.rows, b.rows, o.draws
    from last o join last b using (step, statement)
    where b.option = $baseline and o.answer in ('rows', 'value', 'error') order by o.place
"""
# of each statement whose rows were equal in the last rehearsal, how often it was executed
_DRAWN = """
    select statement, arg_max(draws, rowid) as draws from rehearsal where step = 'work' group by statement
    having draws > 0 and arg_max(answer, rowid) in ('', 'text')
"""
# sums of all clients that reached an execution; most: of the clients, place: of the statement
_MARKS = """
    with own as (
        select m.*, option, block, max(clients) over (partition by statement, option, block) as most,
            min(m.rowid) over (partition by statement) as place
        from marks m join runs using (run)
    )
"""
# each option beside the baseline, by block, as far as all clients of both came
_BESIDE = f"""
    {_MARKS}, answers as (
        select statement, option, arg_max(answer, rowid) as answer
        from rehearsal where step = 'work' group by statement, option
    ), known as (
        select o.*, b.rows as baseline_rows, b.empty as baseline_empty
        from own o join own b using (statement, block, execution, clients)
        where b.option = $baseline and o.option <> b.option and clients = greatest(o.most, b.most)
    )
    select statement, option, max(execution * clients), arg_max(rows, execution), arg_max(empty, execution),
        arg_max(baseline_rows, execution), arg_max(baseline_empty, execution),
        exists (from rehearsal where step = 'write')
            or (select count(*) from answers a where a.statement = known.statement
                and a.option in (known.option, $baseline) and answer in ('', 'text')) < 2
            or exists (from points p where p.block = known.block
                and p.option in (known.option, $baseline) and errors > 0)
    from known group by statement, option, block order by any_value(place), block, min(run)
"""
# the executions of all clients until the last with a row, where what follows without one is no chance
_RAN_OUT = f"""
    {_MARKS}, whole as (
        select *, max(execution) over of_block as last, arg_max(rows, execution) over of_block as total
        from own where clients = most window of_block as (partition by statement, option, block)
    ), ends as (
        select statement, option, min(place) as place, min(run) as run,
            min(execution * clients) as executions,
            executions - arg_min(empty, execution) as found, max(last * clients) - executions as after
        from whole where rows = total and total > 0 group by statement, option, block
    )
    select e.statement, e.option, min(executions), count(*) from ends e group by e.statement, e.option
    having bool_and(found >= $least and after * ln(1 - least(found / executions, 1 - 1e-12)) < $chance)
        and count(*) = (select count(distinct block) from own o
            where o.statement = e.statement and o.option = e.option)
    order by min(place), min(run)
"""


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


def equal_work(evidence: Evidence) -> WorkCheck:
    """The check of all options against the baseline."""
    if evidence.recorded or evidence.workload.load_keys() is None:
        return WorkCheck()
    if not evidence.rows("select 1 from marks union all select 1 from rehearsal where step = 'work' limit 1"):
        text = "equal work was not checked: the bundle does not count the rows of statements"
        return WorkCheck(notices=(Notice("work-not-checked", text),))
    rows = evidence.rows(_BESIDE, baseline=evidence.baseline)
    beside = grouped(((name, option), _Sums(*sums)) for name, option, *sums in rows)
    query = "select statement from marks group by 1 having max(rows) = 0 order by min(rowid)"
    without = evidence.column(query)
    found = dict[tuple[str, str], Difference]()
    for one in (*_in_rehearsal(evidence), *_under_load(evidence.baseline, beside), *_ran_out(evidence)):
        found.setdefault((one.statement, one.option), one)
    meant = meant_to_differ(evidence.workload)
    query = """
        select statement from rehearsal where step = 'work' group by statement, option
        having arg_max(answer, rowid) = 'text'
    """
    texts = sorted({*evidence.column(query)})
    text = "returns other values under some options (dates, floats, LIMIT); its rows are equal"
    return WorkCheck(
        tuple(one for one in found.values() if one.statement not in meant),
        tuple(replace(one, meant=True) for one in found.values() if one.statement in meant),
        _held(evidence, beside, {name for name, _ in found}),
        (
            *(Notice("work-text", text, detail=name) for name in texts),
            *(Notice("no-rows", "finds no row under any option", detail=name) for name in without),
        ),
        texts,
    )


def meant_to_differ(workload: Workload) -> set[str]:
    """Statements whose rows may differ, as the study says, and transactions that contain one."""
    if not isinstance(workload, StatementWorkload):
        return set()
    meant = {name for name, statement in workload.statements.items() if statement.rows == "may differ"}
    return meant | {name for name, one in workload.transactions.items() if meant & {*one.statements}}


def _in_rehearsal(evidence: Evidence) -> Iterator[Difference]:
    baseline = evidence.baseline
    for name, option, how, *rows, draws in evidence.rows(_IN_REHEARSAL, baseline=baseline):
        seen = f"in the rehearsal, {count(draws, 'execution')}"
        yield Difference(name, option, baseline, how, *rows, seen=seen)


def _under_load(baseline: str, beside: _Beside) -> Iterator[Difference]:
    chances = list[tuple[float, Difference]]()
    for (name, option), sums in beside.items():
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


def _ran_out(evidence: Evidence) -> Iterator[Difference]:
    """Options that found a row until some execution in every block, and none after it."""
    for name, option, end, blocks in evidence.rows(_RAN_OUT, least=_WITH_ROWS_MIN, chance=_CHANCE):
        seen = f"under load, in {count(blocks, 'block')}"
        yield Difference(name, option, evidence.baseline, "ran out", end, math.nan, seen)


def _difference(name: str, option: str, baseline: str, of: Sequence[_Sums], seen: str) -> Difference:
    n = sum(s.executions for s in of)
    rows, before = sum(s.rows for s in of) / n, sum(s.baseline_rows for s in of) / n
    return Difference(name, option, baseline, "rows", rows, before, f"under load, {seen}")


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


_Beside = Mapping[tuple[str, str], Sequence[_Sums]]  # by statement and option


def _relative(blocks: Sequence[_Sums]) -> tuple[list[float], list[float]]:
    """Differences by block, of shares without a row and of rows per execution, relative to their mean."""
    shares = [(s.empty - s.baseline_empty) / s.executions for s in blocks]
    return shares, [2 * (s.rows - s.baseline_rows) / ((s.rows + s.baseline_rows) or 1) for s in blocks]


def _held(evidence: Evidence, beside: _Beside, others: Set[str]) -> Mapping[str, str]:
    """By statement, in all options. others: statements with a difference."""
    if len(evidence.options) < 2:
        return {}
    loaded = grouped((name, sums) for (name, _), sums in beside.items())
    parts = [
        *(
            (name, f"equal rows in {count(n, 'execution')} of the rehearsal")
            for name, n in evidence.rows(_DRAWN)
        ),
        *((name, _of_load(options)) for name, options in loaded.items()),
    ]
    said = grouped(sorted(parts, key=lambda part: part[0]))
    return {name: "; ".join(texts) for name, texts in said.items() if name not in others}


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
