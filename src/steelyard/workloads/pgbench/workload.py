"""Scripts of pgbench as a workload: a transaction per script, on pgbench's own tables or the user's."""

from importlib.resources import files
from itertools import count
from pathlib import Path

from steelyard.errors import InputError
from steelyard.study.key_types import Settings
from steelyard.study.workloads.pgbench import BUILTINS, PgbenchWorkload
from steelyard.study.workloads.statements import Statement
from steelyard.workloads import Scripted, Work
from steelyard.workloads.pgbench.steps import CLIENT_ID, compiled
from steelyard.workloads.sql import data_directory, data_file

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
    constants = _constants(workload)
    statements: dict[str, Statement] = {}
    transactions: dict[str, Scripted] = {}
    places: dict[str, str] = {}
    several = len(workload.script) > 1
    for entry in workload.script:
        name, weight = workload.weighted(entry)
        if not weight:
            continue
        stem = Path(name).stem if name not in BUILTINS else name
        titles = (stem if number == 1 else f"{stem} {number}" for number in count(1))
        title = next(title for title in titles if title not in transactions)
        found = compiled(_text(workload, name), name, f"{title} " if several else "", constants)
        statements |= found.statements
        places |= found.places
        transactions[title] = Scripted(weight, tuple(found.steps))
    if not transactions:
        raise InputError("every script has the weight 0", at=("workload", "script"))
    data, directory = data_file(workload), data_directory(workload)
    own_tables = workload.schema_sql or data or directory
    scale = workload.scale
    tables = _TABLES.format(
        branches=_BRANCHES * scale,
        tellers=_TELLERS * scale,
        tellers_each=_TELLERS,
        accounts=_ACCOUNTS * scale,
        accounts_each=_ACCOUNTS,
    )
    return Work(
        statements,
        transactions,
        script=workload.schema_sql if own_tables else tables,
        script_file=workload.schema_file or "",
        data=data,
        directory=directory,
        database=workload.data_database,
        places=places,
    )


def _text(workload: PgbenchWorkload, name: str) -> str:
    if name in BUILTINS:
        return files("steelyard.workloads.pgbench").joinpath(f"{name}.sql").read_text(encoding="utf-8")
    return workload.script_texts[name]


def _constants(workload: PgbenchWorkload) -> Settings:
    """Variables that pgbench defines, and those of the study."""
    if CLIENT_ID in workload.variables:
        raise InputError(
            "is the number of the client", "choose another name", ("workload", "variables", CLIENT_ID)
        )
    return {"scale": workload.scale, CLIENT_ID: 0, "random_seed": 1, "default_seed": 1, **workload.variables}
