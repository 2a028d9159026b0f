"""Studies that no server, kernel or program takes: what is wrong in each, and the key that is to be named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

STUDY = """\
name = "broken"
question = "Which?"
[subject]
kind = "{subject}"
{keys}
[workload]
kind = "sql"
schema_sql = "create table item (id integer primary key, v integer)"
{workload}
[workload.statements.good]
sql = "select v from item where id = 1"
{statements}
{factor}
{monitors}
[plan]
clients = [{clients}]
warm_up_s = 0.1
measure_s = 0.2
cool_down_s = 0
blocks = 1
{plan}
"""
HANDLE = '[factors.handle]\nscope = "client"\nlevels = { NON = "none", USE = "per-use" }'
_LEVELS = '[factors.one]\nscope = "{}"\nlevels = {{ A = {{ {} }}, B = {{ {} }} }}'


@dataclass(frozen=True)
class Broken:
    """what: of it in one line; place: the key that the error names; words: that it has."""

    what: str
    text: str
    place: str
    words: str = ""

    def written(self, folder: Path) -> Path:
        path = folder / "broken.toml"
        path.write_text(self.text)
        return path


def study(subject: str, **more: str) -> str:
    keys = {"keys": "", "workload": "", "statements": "", "factor": HANDLE, "monitors": "", "clients": "2"}
    return STUDY.format(subject=subject, **(keys | {"plan": ""} | more))


def _settings(subject: str, cases: dict[str, str]) -> Iterator[Broken]:
    """Of the subject, and as a level. cases: words by setting."""
    for setting, words in cases.items():
        name = setting.split(" = ", maxsplit=1)[0].strip('"')
        text = study(subject, keys=f"settings = {{ {setting} }}")
        yield Broken(f"{subject}: {setting}", text, f"subject.settings.{name}", words)
    setting, words = next(iter(cases.items()))
    name = setting.split(" = ", maxsplit=1)[0]
    good = {"work_mem": '"4MB"', "sort_buffer_size": '"1M"', "cache_size": "100"}[name]
    text = study(subject, factor=_LEVELS.format("server", f"{name} = {good}", setting))
    yield Broken(f"{subject}: level of {setting}", text, "factors.one.levels.B", words)


def _sessions(subject: str, cases: dict[str, str]) -> Iterator[Broken]:
    for setting, words in cases.items():
        name = setting.split(" = ", maxsplit=1)[0].strip('"')
        text = study(subject, keys=f"session = {{ {setting} }}")
        yield Broken(f"{subject}: session {setting}", text, f"subject.session.{name}", words)


def _statements(subject: str, cases: dict[str, str]) -> Iterator[Broken]:
    for sql, words in cases.items():
        text = study(subject, statements=f"[workload.statements.bad]\nsql = '''{sql}'''")
        yield Broken(f"{subject}: {sql}", text, "workload.statements.bad.sql", words)


def _monitors(subject: str, cases: dict[str, str]) -> Iterator[Broken]:
    for sql, words in cases.items():
        text = study(subject, monitors=f"[monitors.own]\nsql = '''{sql}'''\ngauges = [\"n\"]")
        yield Broken(f"{subject}: monitor {sql}", text, "monitors.own.sql", words)


def _schema(subject: str, cases: dict[str, str]) -> Iterator[Broken]:
    for sql, words in cases.items():
        factor = f'[factors.one]\nscope = "schema"\nlevels = {{ A = "", B = "{sql}" }}'
        yield Broken(f"{subject}: schema {sql}", study(subject, factor=factor), "factors.one.levels.B", words)


def of_postgres() -> Iterator[Broken]:
    yield from _settings(
        "postgres",
        {
            'work_mem = "12XB"': "invalid value for parameter",
            'shared_buffers = "many"': "invalid value for parameter",
            'random_page_cost = "cheap"': "invalid value for parameter",
            "max_connections = -5": "is outside the valid range",
            "no_such_setting = 1": "this server has no setting no_such_setting",
            "wrk_mem = 4096": 'did you mean "work_mem"?',
            'wal_level = "none"': "invalid value for parameter",
            "checkpoint_segments = 16": "this server has no setting checkpoint_segments",
            'synchronous_commit = "maybe"': "invalid value for parameter",
            '"auto_explain.log_nested_statements" = true': "shared_preload_libraries names it",
            "max_connections = 1": "",
            'shared_buffers = "7TB"': "",
            "min_wal_size = 1": "",
            "superuser_reserved_connections = 300": "",
        },
    )  # fmt: skip
    yield from _sessions(
        "postgres",
        {
            'work_mem = "12XB"': "invalid value for parameter",
            'plan_cache_mode = "sometimes"': "invalid value for parameter",
            "no_such_setting = 1": "unrecognized configuration parameter",
            'shared_buffers = "16MB"': "cannot be changed",
            'role = "nobody_of_this_name"': "",
            'TimeZone = "Atlantis"': "invalid value for parameter",
        },
    )
    yield from _statements(
        "postgres",
        {
            "selec 1": "syntax error",
            "select w from item": 'column "w" does not exist',
            "select 1 from nowhere": 'relation "nowhere" does not exist',
            "select nothing_of_this_name(1)": "does not exist",
            "select v + 'x'::json from item": "invalid input syntax for type json",
            "copy item from stdin": "COPY FROM STDIN needs rows",
            "insert into item (id, w) values (1, 2)": 'column "w" of relation "item" does not exist',
            "update item set v = 'many'": "invalid input syntax",
            "select * from item for share nowait wait": "syntax error",
            "delete from item where": "syntax error",
            "select $1": "there is no parameter",
            "call nothing_of_this_name()": "does not exist",
            "select 1; selec 2": "",
        },
    )
    yield from _monitors(
        "postgres",
        {
            "selec 1 as n": "syntax error",
            "select 1 as m": "it has no column n",
            "select n from nowhere": "does not exist",
            "select 'many' as n": "is no number",
        },
    )
    yield from _schema(
        "postgres",
        {
            "create index on nowhere (id)": "does not exist",
            "create inde on item (v)": "syntax error",
            "alter table item add column v integer": "already exists",
        },
    )
    level = _LEVELS.format("client", 'statements.good.sql = "select 1"', 'statements.good.sql = "selec 2"')
    yield Broken(
        "postgres: text of a level", study("postgres", factor=level), "factors.one.levels.B", "syntax error"
    )
    few = "settings = { max_connections = 12 }"
    yield Broken(
        "postgres: few connections", study("postgres", keys=few, clients="30"), "plan.clients", "connections"
    )
    data = study("postgres").replace("create table item", "create tabl item")
    yield Broken("postgres: data", data, "workload.schema_sql", "syntax error")
    nowhere = 'dsn = "postgresql://nobody@127.0.0.1:9/nowhere"'
    yield Broken("postgres: no address", study("postgres", keys=nowhere), "", "subject.dsn")
    unset = 'dsn = "postgresql://lab:${UNSET_OF_THE_LAB}@127.0.0.1:9/nowhere"'
    yield Broken("postgres: unset variable", study("postgres", keys=unset), "", "UNSET_OF_THE_LAB is not set")
    yield Broken(
        "postgres: programs", study("postgres", keys='bindir = "/nonexistent"'), "subject.bindir", ""
    )


def of_mariadb() -> Iterator[Broken]:
    yield from _settings(
        "mariadb",
        {
            'sort_buffer_size = "many"': "",
            "no_such_setting = 1": "this server has no setting",
            "innodb_buffer_pool_siz = 134217728": "this server has no setting",
            "max_connections = 1": "did not take max_connections",
            "max_allowed_packet = 1900": "did not take max_allowed_packet",
            "innodb_flush_log_at_trx_commit = 9": "did not take",
            "innodb_page_size = 3": "",
        },
    )
    yield from _sessions(
        "mariadb",
        {
            "no_such_setting = 1": "Unknown system variable",
            'sql_mode = "SOMETIMES"': "",
            'tx_isolation = "NEVER"': "",
            "sort_buffer_size = 1": "Truncated incorrect",
            "max_connections = 5": "GLOBAL variable",
        },
    )
    yield from _statements(
        "mariadb",
        {
            "selec 1": "error in your SQL syntax",
            "select w from item": "Unknown column",
            "select 1 from nowhere": "doesn't exist",
            "insert into item values (1, 2, 3)": "",
            "select nothing_of_this_name(1)": "does not exist",
        },
    )
    yield from _monitors("mariadb", {"selec 1 as n": "syntax", "select 1 as m": "it has no column n"})
    yield from _schema("mariadb", {"create index i on nowhere (id)": "doesn't exist"})
    few = "settings = { max_connections = 12 }"
    yield Broken(
        "mariadb: few connections", study("mariadb", keys=few, clients="30"), "plan.clients", "connections"
    )


def of_sqlite() -> Iterator[Broken]:
    yield from _settings(
        "sqlite",
        {
            'cache_size = "many"': "",
            'locking_mode = "sometimes"': "did not take locking_mode",
            "no_such_pragma = 1": "has no setting no_such_pragma",
            'workers = "fibres"': "expected threads, processes",
        },
    )
    yield from _statements(
        "sqlite",
        {
            "selec 1": "syntax error",
            "select w from item": "no such column",
            "select 1 from nowhere": "no such table",
        },
    )
    yield from _schema("sqlite", {"create index i on nowhere (id)": "no such table"})


def of_the_machine() -> Iterator[Broken]:
    for setting, words in {
        "sysctl.vm.swappiness = 300": "from 0 to 200",
        "sysctl.vm.dirty_ratio = 101": "from 0 to 100",
        'sysctl.vm.overcommit_memory = "none"': "from 0 to 2",
        'thp = "sometimes"': "unknown thp",
        "server.nice = 30": "from -20 to 19",
        "sysctl.vm.drop_caches = 3": "no study can set",
        "server.slice_ms = 1000": "expected milliseconds",
    }.items():
        name = setting.split(" = ", maxsplit=1)[0]
        text = study("sqlite").replace("[plan]", f'[host]\n"{name}" = {setting.split(" = ")[1]}\n[plan]')
        yield Broken(f"host: {setting}", text, "host.", words)
    program = (
        'name = "p"\nquestion = "?"\n[subject]\nkind = "program"\n[workload]\nkind = "program"\n{}\n'
        '[factors.n]\nscope = "client"\nlevels = {{ A = 1, B = 2 }}\n[plan]\nclients = [1]\nblocks = 1\n'
    )
    absent = 'command = ["/nonexistent/program", "{n}"]\nvariables = { n = 1 }'
    yield Broken("program: not found", program.format(absent), "workload.command", "not found")
    unset = 'command = ["true", "{n}"]\nvariables = { n = 1 }\nenvironment = { T = "${UNSET_OF_THE_LAB}" }'
    yield Broken("program: unset variable", program.format(unset), "", "UNSET_OF_THE_LAB is not set")
