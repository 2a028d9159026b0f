"""SQL in files of its own, and data: a script, a dump, an SQLite file, a data directory."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

import servers
from laboratory import Lab
from mariadb_server import mariadb, needs_mariadb
from steelyard.bundle.reader import Bundle
from steelyard.subjects.postgres.binaries import embedded_bindir, installed_bindirs, reachable
from steelyard.subjects.servers.account import account_of_servers

STUDY = """\
name = "own"
question = "Which way?"

[subject]
kind = "{subject}"
{lines}

[workload]
kind = "sql"
{data}

[workload.statements.one]
sql_file = "sql/one.sql"
parameters = {{ id = {{ kind = "uniform", low = 1, high = 3 }} }}

[factors.handle]
scope = "client"
levels = {{ P = "per-use", N = "named" }}

[plan]
clients = [2]
warm_up_s = 0.1
measure_s = 0.3
cool_down_s = 0.1
blocks = 1
"""
# fails unless the row is there
ONE = "-- by its key\nselect 1 / (select count(*) from item where id = :id and v = 'x')\n"
SCHEMA = "create table item (id integer primary key, v varchar(9));\n"
ROWS = "insert into item values (1, 'x'), (2, 'x'), (3, 'x');\n"
_BROKEN = "create table item (id int);\n\ncreat table b ();"
COPY = "COPY public.item (id, v) FROM stdin;\n1\tx\n2\tx\n3\tx\n\\.\n"


def own_study(folder: Path, subject: str, data: str, lines: str = "", one: str = ONE) -> Path:
    (folder / "sql").mkdir(exist_ok=True)
    (folder / "sql" / "one.sql").write_text(one)
    path = folder / "own.toml"
    path.write_text(STUDY.format(subject=subject, data=data, lines=lines))
    return path


def runs(lab: Lab, study: Path) -> None:
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    found = Bundle(lab.bundle).columns("select status from runs")["status"]
    assert list(found) == ["done", "done"]
    assert not lab.ours() and not lab.traces()


@pytest.mark.parametrize("subject", ["postgres", "mariadb", "sqlite"])
def test_schema_data_and_statements_are_read_from_files_beside_the_study(lab: Lab, subject: str) -> None:
    if subject == "mariadb":
        needs_mariadb()
    (lab.folder / "schema.sql").write_text(SCHEMA + "create table other (v varchar(9) default ';');\n")
    (lab.folder / "rows.sql").write_text(ROWS)
    study = own_study(lab.folder, subject, 'schema_file = "schema.sql"\ndata_file = "rows.sql"')
    runs(lab, study)


def test_a_bundle_holds_the_files_and_is_resumed_without_them(lab: Lab) -> None:
    (lab.folder / "rows.sql").write_text(SCHEMA + ROWS)
    study = own_study(lab.folder, "sqlite", 'data_file = "rows.sql"')
    runs(lab, study)
    assert (lab.bundle / "study.toml").read_text() == study.read_text()
    kept = {place.name: place.read_text() for place in (lab.bundle / "files").iterdir()}
    assert kept == {"1-rows.sql": SCHEMA + ROWS, "2-one.sql": ONE}
    (lab.folder / "rows.sql").unlink()
    # a run is lost: it runs again from the copies
    shutil.rmtree(lab.bundle / "runs" / "0002")
    resumed = lab.run("resume", lab.bundle)
    assert resumed.returncode == 0, resumed.stderr
    assert Bundle(lab.bundle).columns("select count(*) as n from runs where status = 'done'")["n"][0] >= 2
    (lab.bundle / "files" / "2-one.sql").write_text("select 2")
    damaged = lab.run("report", lab.bundle)
    assert damaged.returncode == 2
    assert "files/2-one.sql: it was edited since the study began" in damaged.stderr


def test_a_study_whose_file_changed_is_not_resumed(lab: Lab) -> None:
    (lab.folder / "rows.sql").write_text(SCHEMA + ROWS)
    study = own_study(lab.folder, "sqlite", 'data_file = "rows.sql"')
    runs(lab, study)
    (lab.folder / "rows.sql").write_text(SCHEMA + ROWS + "-- more")
    refused = lab.run("resume", lab.bundle, study)
    assert refused.returncode == 2
    assert "rows.sql changed since the study began" in refused.stderr


def test_bundles_are_of_the_same_work_where_their_files_have_the_same_content(lab: Lab) -> None:
    def ran(name: str, rows: str = ROWS, one: str = ONE, schema: str = SCHEMA, level: str = "") -> Path:
        folder = lab.folder / name
        (folder / name).mkdir(parents=True)
        for file, text in (("schema", schema), ("rows", rows), ("level", level)):
            (folder / name / f"{file}.sql").write_text(text)
        lines = f'schema_file = "{name}/schema.sql"\ndata_file = "{name}/rows.sql"'
        study = own_study(folder, "sqlite", lines, one=one)
        factor = f'[factors.index]\nscope = "schema"\nlevels.IX = {{ sql_file = "{name}/level.sql" }}\n'
        factor += 'levels.NO = ""\n'
        study.write_text(study.read_text().replace("[plan]", f"{factor}[plan]"))
        bundle = lab.folder / f"{name}.bundle"
        done = lab.run("run", study, "--bundle", bundle)
        assert done.returncode == 0, done.stderr
        return bundle

    here = ran("here")
    assert lab.run("compare", here, ran("there")).returncode == 0
    for name, changes, told in (
        ("rows", {"rows": ROWS + "-- more"}, "workload.data_file: SHA-256 "),
        ("one", {"one": f"{ONE} limit 1"}, "workload.statements.one.sql: "),
        ("schema", {"schema": SCHEMA + "create table b (id int);"}, "workload.schema_sql: "),
        ("level", {"level": "create index i on item (v)"}, "factors.index differs"),
    ):
        refused = lab.run("compare", here, ran(name, **changes))
        assert refused.returncode == 2
        assert "have different work: " in refused.stderr and told in refused.stderr
        assert "_file: " not in refused.stderr.replace("workload.data_file: ", "")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ('schema_file = "none.sql"', "own.toml:10: workload.schema_file: {folder}/none.sql: no such file"),
        ('data_file = "none.sql"', "own.toml:10: workload.data_file: {folder}/none.sql: no such file"),
        (
            'schema_sql = ""\nschema_file = "sql/one.sql"',
            "own.toml:11: workload.schema_file: schema_sql is",
        ),
        ('data_directory = "sql"', "data_directory and data_database belong together"),
        (
            'data_directory = "sql"\ndata_database = "d"',
            "SQLite has no data directory",
        ),
    ],
)
def test_a_file_that_is_not_there_is_named_with_its_line(lab: Lab, data: str, told: str) -> None:
    refused = lab.run("run", own_study(lab.folder, "sqlite", data), "--dry-run")
    assert refused.returncode == 2
    assert told.format(folder=lab.folder) in refused.stderr


@pytest.mark.parametrize(
    ("subject", "key", "text", "told"),
    [
        (
            "postgres",
            "schema_file",
            _BROKEN,
            "/bad.sql:3: syntax error at or near",
        ),
        (
            "postgres",
            "data_file",
            _BROKEN,
            "line 3: ERROR:  syntax error",
        ),
        (
            "mariadb",
            "data_file",
            _BROKEN,
            "at line 3: You have an error",
        ),
        (
            "sqlite",
            "data_file",
            _BROKEN,
            'near "creat": syntax error',
        ),
    ],
)
def test_a_script_that_cannot_run_is_an_error_of_the_study(
    lab: Lab, subject: str, key: str, text: str, told: str
) -> None:
    if subject == "mariadb":
        needs_mariadb()
    (lab.folder / "bad.sql").write_text(text)
    refused = lab.run("run", own_study(lab.folder, subject, f'{key} = "bad.sql"'), "--bundle", lab.bundle)
    assert refused.returncode == 2, refused.stderr
    assert told in refused.stderr and f"{lab.folder}/own.toml:10: workload.{key}" in refused.stderr
    assert not lab.bundle.exists() and not lab.ours() and not lab.traces()


def programs() -> Path:
    """An installed PostgreSQL's programs, or the embedded one's."""
    found = next(iter(installed_bindirs()), None) or embedded_bindir()
    assert found is not None
    return reachable(found)


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the dumps of one database, and the data directory of its server, which has ended."""
    folder = tmp_path_factory.mktemp("dumped")
    with servers.postgres(programs()) as server:
        with server.connect() as connection:
            connection.execute("drop table item")
            connection.execute("drop extension pg_stat_statements")
            connection.execute("create role alice")
            connection.execute(SCHEMA.encode())
            connection.execute(ROWS.encode())
            connection.execute("alter table item owner to alice")
            connection.execute("grant select on item to scrammed")
        at = ["-h", str(server.folder), "-p", str(server.port), "-U", "postgres", "postgres"]
        for name, form in (("plain.sql", "plain"), ("custom.dump", "custom")):
            with (folder / name).open("wb") as dump:
                subprocess.run([programs() / "pg_dump", f"--format={form}", *at], stdout=dump, check=True)
        stop = [programs() / "pg_ctl", "-D", server.folder / "data", "-m", "fast", "-w", "stop"]
        account = account_of_servers()
        subprocess.run(stop, check=True, cwd="/", stdout=subprocess.DEVNULL, **account.arguments)
        subprocess.run(["cp", "-a", server.folder / "data", folder / "data"], check=True)
    yield folder


@pytest.mark.parametrize("name", ["plain.sql", "custom.dump"])
def test_a_dump_of_pg_dump_is_data_with_owners_that_are_not_here(lab: Lab, dumped: Path, name: str) -> None:
    study = own_study(lab.folder, "postgres", f'data_file = "{dumped / name}"', f'bindir = "{programs()}"')
    runs(lab, study)


def test_a_block_of_copy_in_a_data_file_is_loaded(lab: Lab) -> None:
    (lab.folder / "rows.sql").write_text(COPY)
    study = own_study(lab.folder, "postgres", f'schema_sql = "{SCHEMA.strip()}"\ndata_file = "rows.sql"')
    runs(lab, study)


def state_of(folder: Path) -> dict[str, tuple[str, int]]:
    """Content and time of every file."""
    return {
        str(place.relative_to(folder)): (sha256(place.read_bytes()).hexdigest(), place.stat().st_mtime_ns)
        for place in sorted(folder.rglob("*"))
        if place.is_file()
    }


def test_a_data_directory_of_a_stopped_postgres_is_copied_and_never_changed(lab: Lab, dumped: Path) -> None:
    data = f'data_directory = "{dumped / "data"}"\ndata_database = "postgres"'
    study = own_study(lab.folder, "postgres", data, f'bindir = "{programs()}"')
    before = state_of(dumped / "data")
    runs(lab, study)
    assert state_of(dumped / "data") == before
    study.write_text(study.read_text().replace('"postgres"\n\n[workload.st', '"shop"\n\n[workload.st'))
    refused = lab.run("run", study)
    assert refused.returncode == 2
    assert 'data_directory has no database "shop"' in refused.stderr and "it has: postgres" in refused.stderr


def _running(folder: Path) -> None:
    (folder / "postmaster.pid").touch()


def _linked(folder: Path) -> None:
    (folder / "pg_tblspc" / "16385").symlink_to("/tmp")


def _older(folder: Path) -> None:
    (folder / "PG_VERSION").write_text("9.6\n")


def _another_folder(folder: Path) -> None:
    (folder / "PG_VERSION").unlink()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_running, "a server runs on it"),
        (_linked, "16385 is a link"),
        (_older, "is of PostgreSQL 9.6, and option P"),
        (_another_folder, "no data directory: No such file"),
    ],
)
def test_a_data_directory_that_cannot_be_copied_is_refused_before_anything_starts(
    lab: Lab, dumped: Path, change: Callable[[Path], None], told: str
) -> None:
    subprocess.run(["cp", "-a", dumped / "data", lab.folder / "data"], check=True)
    change(lab.folder / "data")
    data = 'data_directory = "data"\ndata_database = "postgres"'
    refused = lab.run("run", own_study(lab.folder, "postgres", data, f'bindir = "{programs()}"'), "--dry-run")
    assert refused.returncode == 2
    assert told in refused.stderr and "own.toml:10: workload.data_directory" in refused.stderr


@pytest.mark.server
def test_a_dump_of_mysqldump_and_a_data_directory_of_mariadb_are_data(lab: Lab) -> None:
    with mariadb() as server:
        server.ask("delete from lab.item where id > 3")
        server.ask("update lab.item set filler = 'x'")
        dump = [
            "mariadb-dump",
            "--no-defaults",
            f"--socket={server.socket}",
            "--user=root",
            "--routines",
            "lab",
        ]
        with (lab.folder / "dump.sql").open("wb") as file:
            subprocess.run(dump, stdout=file, check=True)
        running = Path(server.ask("select @@datadir"))
        one = ONE.replace("v = 'x'", "filler = 'x'")
        data = f'data_directory = "{running}"\ndata_database = "lab"'
        refused = lab.run("run", own_study(lab.folder, "mariadb", data, one=one), "--dry-run")
        assert refused.returncode == 2
        assert "a server runs on it" in refused.stderr
        server.ask("set global innodb_fast_shutdown = 0")
        server.process.terminate()
        server.process.wait(30)
        subprocess.run(["cp", "-a", running, lab.folder / "kept"], check=True)
    runs(lab, own_study(lab.folder, "mariadb", 'data_file = "dump.sql"', one=one))
    shutil.rmtree(lab.bundle)
    before = state_of(lab.folder / "kept")
    runs(lab, own_study(lab.folder, "mariadb", 'data_directory = "kept"\ndata_database = "lab"', one=one))
    assert state_of(lab.folder / "kept") == before


def test_an_sqlite_file_is_data_with_what_its_log_holds(lab: Lab) -> None:
    place = lab.folder / "shop.sqlite"
    with closing(sqlite3.connect(place, isolation_level=None)) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.executescript(SCHEMA + ROWS)
        # the writer is still there: the rows are in its log
        assert Path(f"{place}-wal").stat().st_size
        before = place.read_bytes()
        runs(lab, own_study(lab.folder, "sqlite", 'data_file = "shop.sqlite"'))
        assert place.read_bytes() == before


def test_the_data_command_prints_schema_and_data_for_a_server_at_an_address(lab: Lab, dumped: Path) -> None:
    (lab.folder / "rows.sql").write_text(COPY)
    schema = f'schema_sql = "{SCHEMA.strip()}"\n'
    with servers.postgres() as server:
        dsn = f"postgresql://postgres@/postgres?host={server.folder}&port={server.port}"
        server.ask("drop table item")
        study = own_study(lab.folder, "postgres", f'{schema}data_file = "rows.sql"', f'dsn = "{dsn}"')
        missing = lab.run("run", study, "--bundle", lab.bundle)
        assert missing.returncode == 2
        assert f'steelyard data {study} | psql "$DSN"' in missing.stderr
        printed = lab.run("data", study)
        filled = subprocess.run(
            [programs() / "psql", "-v", "ON_ERROR_STOP=1", dsn], input=printed.stdout, text=True, check=False
        )
        assert filled.returncode == 0
        runs(lab, study)
        # a dump empties the search path, in which the tables of the script are
        dumped_rows = "select pg_catalog.set_config('search_path', '', false);\n"
        dumped_rows += f'CREATE TABLE public."Other" (id int);\n{COPY}'
        (lab.folder / "rows.sql").write_text(dumped_rows)
        server.ask("drop table item")
        subprocess.run(
            [programs() / "psql", "-v", "ON_ERROR_STOP=1", dsn],
            input=lab.run("data", study).stdout,
            text=True,
            check=True,
        )
        analyzed = "select count(*) from pg_stat_user_tables where last_analyze is not null"
        assert server.ask(analyzed) == 2
    custom = own_study(lab.folder, "postgres", f'data_file = "{dumped / "custom.dump"}"')
    refused = lab.run("data", custom)
    assert refused.returncode == 2
    assert 'hint: pg_restore --no-owner --dbname "$DSN"' in refused.stderr


@pytest.mark.parametrize(
    ("subject", "data", "last"),
    [
        ("postgres", f"CREATE TABLE public.item (id int);\n{COPY}", "vacuum (freeze, analyze) public.item;"),
        (
            "postgres",
            'CREATE TABLE "a b"."C" (v text);\nCOPY "a b"."C" (v) FROM stdin;\ncreate table row (\n\\.\n',
            'vacuum (freeze, analyze) "a b"."C";',
        ),
        (
            "mariadb",
            "CREATE TABLE `item` (\n  `id` int);\nINSERT INTO item VALUES (1);\ncreate table s.b (c int);",
            "analyze table `item`, s.b;",
        ),
        ("sqlite", SCHEMA + ROWS, "analyze;"),
    ],
)
def test_the_data_command_analyzes_the_tables_of_a_data_file(
    lab: Lab, subject: str, data: str, last: str
) -> None:
    (lab.folder / "rows.sql").write_text(data)
    printed = lab.run("data", own_study(lab.folder, subject, 'data_file = "rows.sql"'))
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.splitlines()[-1] == last
