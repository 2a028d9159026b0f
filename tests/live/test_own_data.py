"""SQL in files of its own, and data: a script, a dump, an SQLite file, a data directory."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
import servers
from click.testing import CliRunner
from in_process import measured
from laboratory import Lab
from mariadb_server import mariadb
from own_studies import COPY, ONE, ROWS, SCHEMA, own_study, programs, refuses_the_script, runs

from declared import METRICS
from steelyard.bundle.reader import Bundle
from steelyard.bundle.storage.checksum import seal
from steelyard.bundle.writer import BundleWriter
from steelyard.cli.commands import cli
from steelyard.errors import InputError
from steelyard.subjects.servers.identity import account_of_servers
from steelyard.workflow.prepare import PreparedStudy


def test_a_bundle_holds_the_files_and_is_resumed_without_them_but_not_with_others(lab: Lab) -> None:
    (lab.folder / "rows.sql").write_text(SCHEMA + ROWS)
    study = own_study(lab.folder, "sqlite", 'data_file = "rows.sql"')
    bundle = runs(lab, study).path
    assert (bundle / "study.toml").read_text() == study.read_text()
    kept = {place.name: place.read_text() for place in (bundle / "files").iterdir()}
    assert kept == {"1-rows.sql": SCHEMA + ROWS, "2-one.sql": ONE}
    (lab.folder / "rows.sql").write_text(SCHEMA + ROWS + "-- more")
    refused = lab.run("resume", bundle, study)
    assert refused.returncode == 2
    assert "rows.sql changed since the study began" in refused.stderr
    (lab.folder / "rows.sql").unlink()
    # a run is lost: it runs again from the copies
    shutil.rmtree(bundle / "runs" / "0002")
    resumed = lab.run("resume", bundle)
    assert resumed.returncode == 0, resumed.stderr
    assert Bundle(bundle).columns("select count(*) as n from runs where status = 'done'")["n"][0] >= 2
    (bundle / "files" / "2-one.sql").write_text("select 2")
    damaged = CliRunner().invoke(cli, ["report", str(bundle)])
    assert "files/2-one.sql: it was edited since the study began" in str(damaged.exception)


def test_an_unlogged_table_has_its_rows_in_each_run(lab: Lab) -> None:
    (lab.folder / "rows.sql").write_text((SCHEMA + ROWS).replace("create", "create unlogged"))
    runs(lab, own_study(lab.folder, "postgres", 'schema_file = "rows.sql"'))


def test_bundles_are_of_the_same_work_where_their_files_have_the_same_content(lab: Lab) -> None:
    def study_of(name: str, rows: str = ROWS, one: str = ONE, schema: str = SCHEMA, level: str = "") -> Path:
        folder = lab.folder / name
        (folder / name).mkdir(parents=True)
        for file, text in (("schema", schema), ("rows", rows), ("level", level)):
            (folder / name / f"{file}.sql").write_text(text)
        lines = f'schema_file = "{name}/schema.sql"\ndata_file = "{name}/rows.sql"'
        study = own_study(folder, "sqlite", lines, one=one)
        factor = f'[factors.index]\nscope = "schema"\nlevels.IX = {{ sql_file = "{name}/level.sql" }}\n'
        factor += 'levels.NO = ""\n'
        study.write_text(study.read_text().replace("[plan]", f"{factor}[plan]"))
        return study

    def compared(name: str, **changes: str) -> str:
        """With a bundle of these files and of the same runs."""
        prepared = PreparedStudy.of((study := study_of(name, **changes)).read_text(), str(study))
        there, options = lab.folder / f"{name}.bundle", prepared.options
        BundleWriter.create(there, prepared.text, options, options[0].label, METRICS, prepared.files)
        shutil.copytree(bundle / "runs", there / "runs", dirs_exist_ok=True)
        heads = [json.loads((place / "bundle.json").read_text()) for place in (there, bundle)]
        (there / "bundle.json").write_text(json.dumps(seal({**heads[0], "id": heads[1]["id"]})))
        return str(CliRunner().invoke(cli, ["compare", str(bundle), str(there)]).exception or "")

    here = study_of("here")
    bundle = measured(here.read_text(), str(here), lab.folder).path
    assert compared("there") == "two of them are copies of one bundle"
    for name, changes, told in (
        ("rows", {"rows": ROWS + "-- more"}, "workload.data_file: SHA-256 "),
        ("one", {"one": f"{ONE} limit 1"}, "workload.statements.one.sql: "),
        ("schema", {"schema": SCHEMA + "create table b (id int);"}, "workload.schema_sql: "),
        ("level", {"level": "create index i on item (v)"}, "factors.index differs"),
    ):
        refused = compared(name, **changes)
        assert "have different work: " in refused and told in refused
        assert "_file: " not in refused.replace("workload.data_file: ", "")


@pytest.mark.parametrize(
    ("subject", "key", "told"),
    [
        ("postgres", "schema_file", "/bad.sql:3: syntax error at or near"),
        ("postgres", "data_file", "line 3: ERROR:  syntax error"),
        ("sqlite", "data_file", 'near "creat": syntax error'),
    ],
)
def test_a_script_that_cannot_run_is_an_error_of_the_study(
    lab: Lab, subject: str, key: str, told: str
) -> None:
    refuses_the_script(lab, subject, key, told)


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the dump of a database, and the data directory of its server, which has ended."""
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
    runs(lab, own_study(lab.folder, "postgres", f'data_file = "{dumped / name}"', f'bindir = "{programs()}"'))


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


def test_a_dump_of_mysqldump_and_a_data_directory_of_mariadb_are_data(lab: Lab) -> None:
    with mariadb() as server:
        server.ask("delete from lab.item where id > 3")
        server.ask("update lab.item set filler = 'x'")
        dump = ["mariadb-dump", "--no-defaults", f"--socket={server.socket}", "--user=root", "--routines"]
        with (lab.folder / "dump.sql").open("wb") as file:
            subprocess.run([*dump, "lab"], stdout=file, check=True)
        running = Path(server.ask("select @@datadir"))
        one = ONE.replace("v = 'x'", "filler = 'x'")
        data = f'data_directory = "{running}"\ndata_database = "lab"'
        study = own_study(lab.folder, "mariadb", data, one=one)
        with pytest.raises(InputError, match="a server runs on it"):
            PreparedStudy.of(study.read_text(), str(study))
        server.ask("set global innodb_fast_shutdown = 0")
        server.process.terminate()
        server.process.wait(30)
        subprocess.run(["cp", "-a", running, lab.folder / "kept"], check=True)
    runs(lab, own_study(lab.folder, "mariadb", 'data_file = "dump.sql"', one=one))
    shutil.rmtree(lab.folder / "b")
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


def test_the_data_command_prints_schema_and_data_for_a_server_at_an_address(lab: Lab) -> None:
    (lab.folder / "rows.sql").write_text(COPY)
    schema = f'schema_sql = "{SCHEMA.strip()}"\n'
    with servers.postgres() as server:
        dsn = f"postgresql://postgres@/postgres?host={server.folder}&port={server.port}"
        server.ask("drop table item")
        study = own_study(lab.folder, "postgres", f'{schema}data_file = "rows.sql"', f'dsn = "{dsn}"')

        def fill() -> None:
            printed = CliRunner().invoke(cli, ["data", str(study)]).stdout
            fed = [programs() / "psql", "-v", "ON_ERROR_STOP=1", dsn]
            subprocess.run(fed, input=printed, text=True, check=True, stdout=subprocess.DEVNULL)

        missing = lab.run("run", study, "--bundle", lab.bundle)
        assert missing.returncode == 2
        assert f'steelyard data {study} | psql "$DSN"' in missing.stderr
        fill()
        runs(lab, study)
        # a dump empties the search path, in which the tables of the script are
        dumped_rows = "select pg_catalog.set_config('search_path', '', false);\n"
        dumped_rows += f'CREATE TABLE public."Other" (id int);\n{COPY}'
        (lab.folder / "rows.sql").write_text(dumped_rows)
        server.ask("drop table item")
        fill()
        analyzed = "select count(*) from pg_stat_user_tables where last_analyze is not null"
        assert server.ask(analyzed) == 2
