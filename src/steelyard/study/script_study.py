"""A study to start from, for a user who has a script of SQL or of pgbench."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steelyard.study.scripts import Script, names_in, script_of

# what a study file cannot begin with
_SQL = re.compile(
    r"\s*(?:\\\w+\s|--|/\*|(?:begin|start|select|insert|update|delete|merge|with|create|copy|call)\b(?!\s*[.=]))",
    re.IGNORECASE,
)
_BEGIN = re.compile(r"(?:begin|start\s+transaction)\b.*", re.IGNORECASE | re.DOTALL)
_END = re.compile(r"(?:commit|end)\b.*", re.IGNORECASE | re.DOTALL)
_MAKES_TABLES = re.compile(r"(?:create|alter|drop|copy|truncate|vacuum)\b", re.IGNORECASE)
_PGBENCH_TABLE = re.compile(r"\bpgbench_(accounts|branches|tellers|history)\b")

# scale 1, as `pgbench --initialize` makes them
_PGBENCH_SCHEMA = """\
schema_sql = '''
create table pgbench_branches (bid int primary key, bbalance int, filler char(88));
create table pgbench_tellers (tid int primary key, bid int, tbalance int, filler char(84));
create table pgbench_accounts (aid int primary key, bid int, abalance int, filler char(84));
create table pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
insert into pgbench_branches values (1, 0, '');
insert into pgbench_tellers select n, 1, 0, '' from generate_series(1, 10) as n;
insert into pgbench_accounts select n, 1, 0, '' from generate_series(1, 100000) as n;
'''"""
_OWN_DATA = 'data_file = "data.sql"          # your tables, by: pg_dump DATABASE > data.sql'
_SQL_STUDY = """\
name = "{study}"
question = "Does {study} gain from prepared statements?"

[subject]
kind = "postgres"

[workload]
kind = "sql"
{data}

[workload.statements]
{statements}

[workload.transactions.{transaction}]
statements = [{names}]
begin = {begin}
{values}
[factors.handle]                # the one thing that changes: or a setting, an index, a version
scope = "client"
levels = {{ SIMPLE = "none", PREPARED = "named" }}

[plan]
clients = [1, 8]
warm_up_s = 2
measure_s = 5
blocks = 6
"""
_PGBENCH_STUDY = """\
name = "{study}"
question = "Does {study} gain from prepared statements?"
subject = {{ kind = "program" }}

[workload]
kind = "program"
command = ["pgbench", "--no-vacuum", "--client=4", "--time={{seconds}}", "--protocol={{protocol}}", {file}]
variables = {{ protocol = "simple" }}
environment = {{ PGHOST = "/var/run/postgresql", PGDATABASE = "bench" }}      # your server
score = {{ pattern = 'tps = ([\\d.]+)' }}
unit = "tps"

[factors.protocol]              # the one thing that changes
scope = "client"
levels = {{ SIMPLE = "simple", PREPARED = "prepared" }}

[plan]
clients = [1]
warm_up_s = 0
measure_s = 10
blocks = 6
"""


def is_script(text: str) -> bool:
    """Whether a text is SQL or a script of pgbench, and no study."""
    return _SQL.match(text) is not None


def instead_of_script(text: str, file: str) -> str:
    """A study that executes the script, as a hint. file: its name, beside which the study is saved."""
    script, stem = script_of(text), re.sub(r"[^a-z0-9]+", "-", file.rpartition(".")[0].lower()).strip("-")
    study = stem if re.match("[a-z]", stem) else f"script-{stem}".strip("-")
    study = study[:32].rstrip("-")
    if any(map(_MAKES_TABLES.match, script.commands)):
        return (
            f'SQL that makes tables belongs into a study as workload.schema_file = "{file}", or data_file;'
            " to start from: steelyard studies index-or-not"
        )
    commands, begin = _within(script.commands)
    if begin is None or script.unknown or not commands:
        why = f"; not supported otherwise: {', '.join(script.unknown[:3])}" if script.unknown else ""
        return f"let pgbench execute it{why}. Save this study as {study}.toml beside it:\n\n" + (
            _PGBENCH_STUDY.format(study=study, file=json.dumps(f"--file={file}"))
        )
    names = [f"{_verb(command)}{number}" for number, command in enumerate(commands, start=1)]
    values = list(_values(script, commands))
    transaction = study.replace("-", "_")
    head = [f"\n[workload.transactions.{transaction}.values]     # the same for all of its statements"]
    return f"save this study as {study}.toml and change what differs:\n\n" + _SQL_STUDY.format(
        study=study,
        data=_PGBENCH_SCHEMA if all(map(_PGBENCH_TABLE.search, commands)) else _OWN_DATA,
        statements=_table(names, commands),
        transaction=transaction,
        names=", ".join(f'"{name}"' for name in names),
        begin="true" if begin else "false",
        values="\n".join([*(head if values else ()), *values, ""]),
    )


def as_transaction(name: str, commands: Sequence[str], parameters: Mapping[str, Mapping[str, Any]]) -> str:
    """The form of a transaction of several commands, as a hint.

    name, parameters: of the statement that has them all, its generators as keys and values.
    """
    names = [f"{name}_{number}" for number, _ in enumerate(commands, start=1)]
    quoted = ", ".join(f'"{one}"' for one in names)
    form = (
        "a statement is one command; several are a transaction:\n\n[workload.statements]\n"
        f"{_table(names, commands)}\n\n[workload.transactions.{name}]\n"
        f"statements = [{quoted}]\nbegin = true\n"
    )
    if parameters:
        form += f"\n[workload.transactions.{name}.values]     # the same for all of its statements\n"
        form += "".join(f"{key} = {_inline(generator)}\n" for key, generator in parameters.items())
    return form


def _table(names: Sequence[str], commands: Sequence[str]) -> str:
    """Lines of [workload.statements]."""
    return "\n".join(
        f"{name} = {{ sql = {_quoted(sql)} }}" for name, sql in zip(names, commands, strict=True)
    )


def _inline(generator: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in generator.items()) + " }"


def _quoted(sql: str) -> str:
    """A TOML string; one that spans lines keeps them."""
    return f"'''\n{sql}'''" if "\n" in sql and "'''" not in sql else json.dumps(sql, ensure_ascii=False)


def _within(commands: Sequence[str]) -> tuple[Sequence[str], bool | None]:
    """The commands within BEGIN and END, and whether there is one; None: they are not around all."""
    marks = [bool(_BEGIN.fullmatch(command) or _END.fullmatch(command)) for command in commands]
    if not any(marks):
        return commands, False
    around = len(commands) > 2 and marks[0] and marks[-1] and not any(marks[1:-1])
    return commands[1:-1], True if around else None


def _verb(command: str) -> str:
    found = re.match(r"[A-Za-z]+", command)
    return found[0].lower()[:20] if found else "statement"


def _values(script: Script, commands: Sequence[str]) -> Iterator[str]:
    for name in dict.fromkeys(name for command in commands for name in names_in(command)):
        if variable := script.variables.get(name):
            scale = ", :scale as 1" if variable.by_scale else ""
            yield f"{name} = {variable.generator}     # {variable.line}{scale}"
        else:
            one = (
                'kind = "choice", values = [1]'
                if name == "scale"
                else 'kind = "uniform", low = 1, high = 100'
            )
            yield f"{name} = {{ {one} }}     # choose its range"
