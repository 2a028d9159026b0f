"""Whether the options do the same work: the trial of each against the baseline's, draw by draw."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import groupby

from steelyard.lab.rehearsal.findings import Findings, Row
from steelyard.run_tables.questions import asked
from steelyard.run_tables.rows import each
from steelyard.sql_text import commands_of
from steelyard.study.plan import baseline
from steelyard.study.workloads.statements import Transaction
from steelyard.subjects import Bench, Kind
from steelyard.workloads import Work

DRAWS = 40
DRAWS_S = 2.0
"""A transaction has so many draws, or as many as this time allows for all transactions together."""

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
# one sequence for all clients
_COUNTERS = ("sequence", "unique")
# the step of what a transaction has written, as its server counts; other rows are of the step `work`
_ROWS_WRITTEN = "rows written"

# of trials: 0 the baseline's, 1 the same again, 2 that of an option
_TRIED = "of step transaction statement draw code rows digest"
# executions are paired in their order, as far as the transactions execute the same statements. A server that
# does not count has no rows. NULL is no number: a sum of no rows differs from any other. Sums of floats of
# single precision may be added in another order. Draws in which one option alone has nothing are no chance
_COMPARED = """
with trial as (
    select *, rowid as place, rows::double as n,
        coalesce(from_json(cells::varchar, '["VARCHAR"]'), []) as row,
        row_number() over (partition by of, transaction, draw, step order by rowid) as nth
    from trials
), paired as (
    select compared.of, b.place, b.step, b.statement, b.row as mine, o.row as other, case
        when b.code <> o.code then 4
        when b.n is distinct from o.n then if(b.n is null or o.n is null, 0, 3)
        when b.digest <> o.digest then 1 else 0 end as grave,
        bool_and(coalesce(b.statement = o.statement, false)) over (
            partition by compared.of, b.transaction, b.draw, b.step order by b.nth) as alike
    from trial b cross join (values (1), (2)) compared(of) left join trial o on o.of = compared.of
        and (o.transaction, o.draw, o.step, o.nth) = (b.transaction, b.draw, b.step, b.nth)
    where b.of = 0
), cells as (
    select of, place, mine[i] as a, other[i] as b, nullif(try_cast(a as double), 'nan') as x,
        nullif(try_cast(b as double), 'nan') as y,
        coalesce(regexp_full_match(a, '-*[0-9]+') and regexp_full_match(b, '-*[0-9]+'), false) as exact
    from (select *, unnest(range(1, 1 + least(len(mine), len(other)))) as i from paired
        where alike and grave = 1)
), numbers as (
    select of, place from cells where a is null and y is not null or b is null and x is not null
        or not (x = y or abs(x - y) <= least(1e300, greatest(
            if(exact, 1e-6, 1e-4) * greatest(abs(x), abs(y)), if(exact, 0, 1e-9))))
    group by all
), answers as (
    select step, statement, max(if(numbers.place is null, grave, 2)) filter (of = 2) as grave,
        coalesce(max(grave) filter (of = 1), 0) > 0 as differs
    from paired left join numbers using (of, place) where alike group by all
), judged as (
    select *, if(step = 'rows written', coalesce(n = 0, false), len(row) > 0 and len(list_filter(
        row, lambda c: c is not null and coalesce(try_cast(c as double) <> 0, true))) = 0) as nothing
    from trial
)
select step, statement, ['', 'text', 'value', 'rows', 'error'][1 + any_value(grave)] as answer,
    any_value(differs) as differs,
    count(*) filter (of = 2) >= 20 and (
        bool_and(nothing) filter (of = 2) and not bool_or(nothing) filter (of < 2)
        or bool_and(nothing) filter (of < 2) and not bool_or(nothing) filter (of = 2)) as nothing,
    count(n) filter (of = 2) as draws, avg(n) filter (of = 2) as mean
from judged join answers using (step, statement) where grave is not null
group by step, statement order by min(place) filter (of = 0)
"""

_WROTE, _SETTLES = "steelyard: has it written?", "steelyard: deferred triggers"
# what may have to come first in a transaction
_FIRST = re.compile(r"(set|begin|start\s+transaction|lock)\b", re.IGNORECASE)
_KEEPS = re.compile(r"(commit|end|release)\b", re.IGNORECASE)
_UNDOES = re.compile(r"(abort|rollback)\b", re.IGNORECASE)
_TO_SAVEPOINT = re.compile(r"rollback\b.*\bto\b", re.IGNORECASE)


def compare(bench: Bench, found: Findings) -> None:
    """Adds the step `work` of each option and statement, and `rows written` of each transaction. Answers:

    '' the same rows and values; `text` other values of equal numbers, `value` another number in a single row,
    `rows`, `error`; `not reproducible`: the baseline differs from itself, or what it does depends on chance.
    """
    first = found.trials.get(baseline(bench.study, bench.options), ())
    texts = [(name, one.sql) for work in bench.works.values() for name, one in work.statements.items()]
    # equal servers that evict hold other rows
    chance = {name for name, sql in texts if _CHANCE.search(sql) or bench.kind.evicts}
    named = re.compile(rf"\b(?:{'|'.join(map(re.escape, found.by_chance))})\b", re.IGNORECASE)
    other = {name for name, sql in texts if _TIME.search(sql) or (found.by_chance and named.search(sql))}
    other |= {name for work in bench.works.values() for name in numbered(work)}
    unsure = {("work", name) for name in chance | other}
    unsure |= {(_ROWS_WRITTEN, row["transaction"]) for row in first if row["statement"] in chance}
    any_of = {("work", name) for name, sql in texts if _ANY_OF.search(sql) and not _AGGREGATE.search(sql)}
    for option in bench.options if found.again else ():
        trials = enumerate((first, found.again, found.trials.get(option.label, ())))
        rows = [{"step": "work", **row, "of": of} for of, trial in trials for row in trial]
        table = {name: [row[name] for row in rows] for name in _TRIED.split()}
        table["cells"] = [json.dumps(row.get("row")) for row in rows]
        for step, name, answer, differs, nothing, draws, mean in each(asked(_COMPARED, {"trials": table})):
            if differs or (step, name) in unsure:
                answer = "value" if nothing else "not reproducible"
            elif answer == "value" and (step, name) in any_of:
                answer = "text"
            found.add(option, step, name, answer, 0, draws=draws, rows=mean)


def numbered(work: Work) -> Iterator[str]:
    """Statements with a number of a sequence, which all clients share."""
    shared = [one.values for one in work.transactions.values() if isinstance(one, Transaction)]
    for name, statement in work.statements.items():
        generators = (one for values in (statement.parameters, *shared) for one in values.values())
        if any(one.kind in _COUNTERS for one in generators):
            yield name


def asking(plan: Row, kind: Kind, work: Work) -> Row:
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
    answers = (row for row in asked if row["statement"] == _WROTE)
    return others, list(_writes(answers, {*_undone(work, protocol)}))


def _writes(answers: Iterable[Row], undone: Set[str]) -> Iterator[Row]:
    """Between the two answers of a draw. A row that moves to another partition is deleted and inserted."""
    for (transaction, draw), both in groupby(answers, key=lambda row: (row["transaction"], row["draw"])):
        numbers = [[None if n is None else float(n) for n in row["row"][:4]] for row in both if row["row"]]
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
                "transaction": transaction, "step": _ROWS_WRITTEN, "statement": transaction, "draw": draw,
                "code": "", "rows": 0 if transaction in undone else rows, "digest": "", "wrote": bool(grew),
            }  # fmt: skip


def _undone(work: Work, protocol: str) -> Iterator[str]:
    """Transactions whose statements end with a roll back, of all or to a savepoint."""
    for name, one in work.transactions.items():
        if isinstance(one, Transaction):
            text = ";\n".join(work.statements[statement].sql for statement in one.statements)
            commands = [command for command in commands_of(text, protocol) if not _KEEPS.match(command)]
            if commands and _undoes_all(commands):
                yield name


def _undoes_all(commands: Sequence[str]) -> bool:
    """Whether the last one undoes all others: to a savepoint, if that came first."""
    first = next((one for one in commands if not _FIRST.match(one)), "")
    whole = not _TO_SAVEPOINT.match(commands[-1]) or first.lower().startswith("savepoint")
    return bool(_UNDOES.match(commands[-1])) and whole
