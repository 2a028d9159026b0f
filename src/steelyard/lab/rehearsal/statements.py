"""Every statement once in each way that an option sends it, in a transaction that is rolled back.

The load engine sends them: texts, values and the way to send them are those of the load.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from steelyard import _core
from steelyard.errors import InputError
from steelyard.host.processes.limits import TimedOut, within
from steelyard.lab.engines.plan import engine_plan, names_of
from steelyard.lab.environment.redaction import redact_text
from steelyard.lab.rehearsal.findings import Findings, Row
from steelyard.lab.rehearsal.same_work import DRAWS_S, asking, numbered, parted
from steelyard.sql_text import commands_of
from steelyard.study.factors import level_of_statement
from steelyard.study.study import Option, Slot
from steelyard.study.workloads.of_files import ReplayWorkload
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects import Bench, Load
from steelyard.subjects.drivers.connection import tried_by_driver
from steelyard.subjects.servers.by_address import commits_itself, keeps_data, reading, refuse_writes, written
from steelyard.workloads import Work

_BEGIN_HINT = "begin = true under [workload.transactions.NAME] wraps it in begin and commit"
# to connect, for each transaction
_CONNECT_S = 15.0
_WRITES = "25006"
_OPEN = "open"
# cannot run inside a transaction block: that of the trial
_ALONE = "25001"
# integrity constraint violation
_TAKEN = "23"
_BEGINS = re.compile(r"(begin(?!\s+not)|start\s+transaction)\b", re.IGNORECASE)
_ENDS = re.compile(r"(commit|end|abort|rollback(?!\s+to))\b", re.IGNORECASE)


def session_key(option: Option) -> str:
    """What its sessions have in common with those of other options: settings and driver."""
    driver = [getattr(option.workload, key, None) for key in ("driver", "driver_url", "driver_properties")]
    return repr([dict(option.session), driver])


def texts_key(option: Option, work: Work) -> str:
    """What its statements have in common with those of other options: how they are sent, and their texts."""
    keys = option.workload.load_keys() or {}
    return repr([keys.get(key) for key in ("handle", "text", "parameters")] + [*work.statements.values()])


def try_statements(bench: Bench, option: Option, load: Load, found: Findings, draws: int) -> Sequence[Row]:
    """Sends the statements of an option; the answers are rows of `_core.load_trial`.

    Raises TimedOut, LoadError, SubjectFailed, InputError.

    At an address without consent, statements that write are refused before they do.
    """
    study, kind, work, server = bench.study, bench.kind, bench.works[option.label], load.server
    foreign, by_driver = study.subject.dsn is not None and server is not None, load.engine == "jdbc"
    if load.own_clock or not (load.engine == "load" or by_driver):
        return ()
    if server is not None and server.protocol == "jdbc":
        found.not_tried.append("statements: not every JDBC driver has read-only transactions")
        return ()
    if (reads := foreign and not study.subject.writes) and server is not None:
        refuse_writes(written([work], kind.protocol).values())
        load = replace(load, server=reading(server))
    plan = engine_plan(study, Slot(1, 1, option), work, load)
    if not (replays := isinstance(option.workload, ReplayWorkload)):
        found.errors += _left_open(option, work, plan["transactions"], kind.protocol)
    stay = {n for n, one in work.statements.items() if foreign and commits_itself(kind.protocol, one.sql)}
    found.not_tried += [f"{name}, with its transaction: a roll back cannot undo it" for name in sorted(stay)]
    plan["transactions"] = [one for one in map(_flat, plan["transactions"]) if not names_of(one) & stay]
    if not plan["transactions"]:
        return ()
    limit_s = len(plan["transactions"]) * (_CONNECT_S + option.workload.longest_s) + DRAWS_S
    plans = _plans(plan, kind.explain, limit_s) if kind.explain and not by_driver and server else {}
    plan |= {"draws": draws, "draws_s": DRAWS_S}
    if option.workload.in_rounds:
        plan["draws"] = 1
        plan["transactions"] = plan["transactions"][:1]
        # a round takes minutes, and the texts are ours
        plan["statements"] = [{**one, "sql": f"explain {one['sql']}"} for one in plan["statements"]]
    plan = asking(plan, kind, work) if kind.wrote and not replays else plan
    rows = _rows(tried_by_driver(plan, limit_s) if by_driver else _trial(plan, limit_s))
    rows, writes = parted(rows, work, found, kind.protocol)
    found.wrote |= {row["transaction"] for row in writes if row["wrote"]}
    if reads:
        refuse_writes(sorted({row["statement"] for row in rows if row["code"] == _WRITES}))
    if (times := plan.get("prime", 0)) > 1:
        found.priming_s = max(found.priming_s, max(study.plan.clients) * times * _shortest_s(rows))
    alone = [row["statement"] for row in rows if row["code"] == _ALONE]
    found.not_tried += [f"{name}, and what follows it: it runs in no transaction" for name in alone]
    for row in (row for row in rows if row["code"] != _ALONE and (row["code"] or not row["draw"])):
        name, answer = row["statement"] or row["transaction"], f"{row['message']} ({row['code']})"
        answer = redact_text(answer, study) if row["code"] else ""
        found.add(option, "statement", name, answer, row["took_ns"], plans.get(name))
    codes = (*kind.statement_errors, _OPEN)
    refused = [row for row in rows if any(fnmatchcase(row["code"], code) for code in codes)]
    if keeps_data(study):
        numbers = set(numbered(work))
        refused += [row for row in rows if row["code"].startswith(_TAKEN) and row["statement"] in numbers]
    # a class of a capture is tried without its session, which it may need
    if not replays or len(refused) > len(rows) / 2:
        found.errors += [_error(bench, option, row) for row in refused]
    # a round was explained alone
    return () if option.workload.in_rounds else [*rows, *writes]


def _trial(plan: Row, limit_s: float) -> Mapping[str, Sequence[Any]]:
    text = json.dumps(plan)
    return json.loads(within(limit_s, "trying the statements", lambda: _core.load_trial(text)))


def _rows(columns: Mapping[str, Sequence[Any]]) -> list[Row]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _plans(plan: Row, explain: tuple[str, str], limit_s: float) -> dict[str, str]:
    """The server's plan of each statement that it explains, by name, for values as the load draws them."""
    prefix, column = explain
    transactions: list[Row] = []
    for transaction in plan["transactions"]:
        steps = transaction.get("steps") or [
            {"do": "statement", "name": n} for n in transaction["statements"]
        ]
        for number, step in enumerate(steps):
            if step["do"] == "statement":
                # one that cannot be explained ends its transaction: each has one of its own
                before = [one for one in steps[:number] if one["do"] != "statement"]
                last = {"do": "statement", "name": step["name"], "take": {"plan": column}}
                name = f"explain {len(transactions)}"
                transactions.append({"name": name, "weight": 1, "steps": [*before, last]})
    statements = [{**one, "sql": prefix + one["sql"]} for one in plan["statements"]]
    given = {"handle": "none", "parameters": "none", "statements": statements, "transactions": transactions}
    try:
        rows = _rows(_trial({**plan, **given}, limit_s))
    except (_core.PlanError, _core.LoadError, TimedOut):
        # a capture has its own values
        return {}
    return {row["statement"]: row["value"] for row in rows if row["value"]}


def _flat(transaction: Row) -> Row:
    """The transaction with each step of every branch once."""
    if not transaction.get("steps"):
        return transaction
    return {**transaction, "steps": list(_steps(transaction["steps"]))}


def _steps(steps: Iterable[Row]) -> Iterator[Row]:
    for step in steps:
        if step["do"] == "if":
            yield from _steps((*step["then"], *step.get("else", ())))
        elif step["do"] not in ("fail", "wait", "rollback"):
            yield step


def _shortest_s(rows: Iterable[Row]) -> float:
    """Of all statements once, each at its fastest."""
    took_ns: dict[tuple[str, str], int] = {}
    for row in rows:
        key = row["transaction"], row["statement"]
        took_ns[key] = min(took_ns.get(key, row["took_ns"]), row["took_ns"])
    return sum(took_ns.values()) / 1e9


def _left_open(option: Option, work: Work, kinds: Iterable[Row], protocol: str) -> Iterator[InputError]:
    """Transactions that a statement of their own begins and none ends: nothing would be committed."""
    for transaction in kinds:
        begun = ""
        for name in transaction.get("statements", ()):
            for command in commands_of(work.statements[name].sql, protocol):
                begun = name if _BEGINS.match(command) else "" if _ENDS.match(command) else begun
        if begun:
            name = transaction["name"]
            text = f'option {option.label}: the transaction "{name}" never ends: "{begun}" begins it'
            yield InputError(text, _BEGIN_HINT, ("workload", "transactions", name))


def _error(bench: Bench, option: Option, refused: Row) -> InputError:
    study, kind, work = bench.study, bench.kind, bench.works[option.label]
    name = refused["statement"] or refused["transaction"]
    text = f'option {option.label}: statement "{name}" cannot run: {refused["message"]} ({refused["code"]})'
    hint = ""
    workload = study.workload
    own = workload.statements.get(name) if isinstance(workload, StatementWorkload) else None
    if refused["code"].startswith(_TAKEN):
        hint = "start of unique and sequence: the first number that no row has (one more than select max)"
    if refused["code"] == _OPEN:
        text = f'option {option.label}: {refused["message"]}, since autocommit is off: "{name}"'
        return InputError(text, _BEGIN_HINT, ("workload",))
    if refused["code"] in kind.no_table:
        hint = (
            f"to make and fill the tables: steelyard data {bench.source} | {kind.client}"
            if study.subject.dsn
            else "workload.schema_sql, schema_file or data_file makes the tables"
        )
        if option.session:
            hint += f"; settings of the session: {', '.join(f'{k} = {v}' for k, v in option.session.items())}"
    elif own and len(commands_of(own.sql, kind.protocol)) > 1:
        hint = (
            "a statement is one command: name each under [workload.statements], and list the names:"
            ' [workload.transactions.NAME] statements = ["A", "B"]'
        )
    if place := work.places.get(name):
        return InputError(f"{place}: {text}", hint)
    if level := level_of_statement(study, option.levels, name):
        return InputError(text, hint, level)
    if own is None:
        return InputError(text, hint, ("workload", "kind"))
    if own.sql_file:
        text = f"{own.sql_file}:{_first_line(own.sql)}: {text}"
    return InputError(text, hint, ("workload", "statements", name, "sql_file" if own.sql_file else "sql"))


def _first_line(sql: str) -> int:
    """Number of the first line that is neither empty nor a comment."""
    lines = enumerate(sql.split("\n"), 1)
    return next((n for n, line in lines if line.strip() and not line.lstrip().startswith("--")), 1)
