"""Statements of the user's own, from the study file, and scripts of pgbench, each a transaction."""

from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from steelyard import _core
from steelyard.errors import InputError, nearest
from steelyard.study.workloads.of_files import BUILTINS, PgbenchWorkload
from steelyard.study.workloads.statements import Statement, StatementWorkload, Transaction
from steelyard.study.workloads.transactions import SqlWorkload
from steelyard.workloads import Scripted, Work
from steelyard.workloads.pgbench.steps import CLIENT_ID, compiled

_DIALECTS = ("postgresql", "mysql", "standard")


def sql(workload: StatementWorkload) -> Work:
    """The work of [workload.statements] and [workload.transactions]. Raises InputError."""
    if not workload.statements:
        raise InputError(
            "kind 'sql' needs statements",
            'add [workload.statements.NAME] with sql = "..."',
            ("workload", "statements"),
        )
    for name, transaction in workload.transactions.items():
        for statement in transaction.statements:
            if statement not in workload.statements:
                raise InputError(
                    f'no statement "{statement}"{nearest(statement, workload.statements)}',
                    at=("workload", "transactions", name, "statements"),
                )
    for name, statement in workload.statements.items():
        users = {key: one for key, one in workload.transactions.items() if name in one.statements}
        _check_parameters(name, statement, users)
    if workload.text != "identical" and not any("{tag}" in one.sql for one in workload.statements.values()):
        raise InputError(
            f"text is '{workload.text}', but no statement contains {{tag}}",
            "put {tag} into the SQL, for example in an alias: select 1 as a{tag}",
            ("workload", "statements"),
        )
    return Work(workload.statements, workload.transactions, **own_data(workload))


def own_data(workload: SqlWorkload) -> dict[str, Any]:
    """Fields of Work: the script, the file and the directory of the study's data. Raises InputError."""
    return {
        "script": workload.schema_sql,
        "script_file": workload.schema_file or "",
        "data": _there("data_file", workload.data_file, Path.is_file),
        "directory": _there("data_directory", workload.data_directory, Path.is_dir),
        "database": workload.data_database,
    }


def _there(key: str, name: str | None, is_kind: Callable[[Path], bool]) -> Path | None:
    if name is None:
        return None
    place = Path(name).absolute()
    try:
        found = is_kind(place)
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}", at=("workload", key)) from None
    if not found:
        what = "file" if key == "data_file" else "folder"
        hint = "paths count from the folder of the study file; a study of a bundle is resumed by its file too"
        raise InputError(f"{name}: no such {what}", hint, ("workload", key))
    return place


def _check_parameters(name: str, statement: Statement, users: Mapping[str, Transaction]) -> None:
    """Each `:name` needs its generator, in the statement or in every transaction that uses it.

    Each generator of the statement needs its `:name`; the engine checks those of transactions.
    """
    at = ("workload", "statements", name)
    # the server's dialect is not known here: the load engine checks by it
    named = [_core.statement_parameters(statement.sql, dialect) for dialect in _DIALECTS]
    for parameter in named[0]:
        if not all(parameter in others for others in named):
            continue
        without = [key for key, transaction in users.items() if parameter not in transaction.values]
        if parameter in statement.parameters or (users and not without):
            continue
        generator = f'parameters.{parameter} = {{ kind = "uniform", low = 1, high = 100 }}'
        if not without:
            raise InputError(f"no generator for :{parameter}", generator, (*at, "sql"))
        raise InputError(
            f'no generator for :{parameter} in transaction "{without[0]}"',
            f"{generator}; to draw it once per transaction, put it into "
            f"[workload.transactions.{without[0]}.values]",
            (*at, "sql"),
        )
    for parameter in statement.parameters:
        if not any(parameter in others for others in named):
            raise InputError(
                f"the SQL lacks :{parameter}{nearest(parameter, named[0])}", at=(*at, "parameters", parameter)
            )


# rows per unit of scale, as `pgbench --initialize` makes them
_ACCOUNTS, _BRANCHES, _TELLERS = 100_000, 1, 10
_TABLES = """
create table pgbench_branches (bid int not null, bbalance int, filler char(88));
create table pgbench_tellers (tid int not null, bid int, tbalance int, filler char(84));
create table pgbench_accounts (aid int not null, bid int, abalance int, filler char(84));
create table pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
insert into pgbench_branches (bid, bbalance) select n, 0 from generate_series(1, {branches}) as n;
insert into pgbench_tellers (tid, bid, tbalance)
    select n, (n - 1) / {tellers_each} + 1, 0 from generate_series(1, {tellers}) as n;
insert into pgbench_accounts (aid, bid, abalance, filler)
    select n, (n - 1) / {accounts_each} + 1, 0, '' from generate_series(1, {accounts}) as n;
alter table pgbench_branches add primary key (bid);
alter table pgbench_tellers add primary key (tid);
alter table pgbench_accounts add primary key (aid);
"""


def pgbench(workload: PgbenchWorkload) -> Work:
    """The scripts of workload.script. Raises InputError with file and line for what is not supported."""
    if CLIENT_ID in workload.variables:
        raise InputError(
            "is the number of the client", "choose another name", ("workload", "variables", CLIENT_ID)
        )
    # those that pgbench defines, and the study's
    own = {"scale": workload.scale, CLIENT_ID: 0, "random_seed": 1, "default_seed": 1}
    constants = {**own, **workload.variables}
    statements: dict[str, Statement] = {}
    transactions: dict[str, Scripted] = {}
    places: dict[str, str] = {}
    several = len(workload.script) > 1
    for entry in workload.script:
        name, weight = workload.weighted(entry)
        if not weight:
            continue
        stem = Path(name).stem
        titles = (stem if number == 1 else f"{stem} {number}" for number in count(1))
        title = next(title for title in titles if title not in transactions)
        found = compiled(_text(workload, name), name, f"{title} " if several else "", constants)
        statements |= found.statements
        places |= found.places
        transactions[title] = Scripted(weight, tuple(found.steps))
    if not transactions:
        raise InputError("every script has the weight 0", at=("workload", "script"))
    data, scale = own_data(workload), workload.scale
    if not (data["script"] or data["data"] or data["directory"]):
        data["script"] = _TABLES.format(
            branches=_BRANCHES * scale,
            tellers=_TELLERS * scale,
            tellers_each=_TELLERS,
            accounts=_ACCOUNTS * scale,
            accounts_each=_ACCOUNTS,
        )
    return Work(statements, transactions, **data, places=places)


def _text(workload: PgbenchWorkload, name: str) -> str:
    if name in BUILTINS:
        return Path(__file__).with_name("pgbench").joinpath(f"{name}.sql").read_text(encoding="utf-8")
    return workload.script_texts[name]
