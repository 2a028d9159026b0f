"""SQL and data in files of their own: refused before anything starts, or printed for an address."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from own_studies import COPY, ROWS, SCHEMA, own_study

from steelyard.cli.commands import cli
from steelyard.errors import InputError
from steelyard.subjects.postgres.binaries import find_bindir, version_of
from steelyard.workflow.prepare import PreparedStudy


def refused(study: Path) -> str:
    with pytest.raises(InputError) as error:
        PreparedStudy.of(study.read_text(), str(study))
    return str(error.value)


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
def test_a_file_that_is_not_there_is_named_with_its_line(tmp_path: Path, data: str, told: str) -> None:
    assert told.format(folder=tmp_path) in refused(own_study(tmp_path, "sqlite", data))


def _running(folder: Path) -> None:
    (folder / "postmaster.pid").touch()


def _linked(folder: Path) -> None:
    (folder / "pg_tblspc" / "16385").symlink_to("/tmp")


def _another_folder(folder: Path) -> None:
    (folder / "PG_VERSION").unlink()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (None, ""),
        (_running, "a server runs on it"),
        (_linked, "16385 is a link"),
        (_another_folder, "no data directory: No such file"),
    ],
)
def test_a_data_directory_that_cannot_be_copied_is_refused_before_anything_starts(
    tmp_path: Path, change: Callable[[Path], None] | None, told: str
) -> None:
    folder = tmp_path / "data"
    (folder / "pg_tblspc").mkdir(parents=True)
    version = version_of(find_bindir("embedded")).partition(".")[0]
    (folder / "PG_VERSION").write_text(f"{version}\n")
    data = 'data_directory = "data"\ndata_database = "postgres"'
    study = own_study(tmp_path, "postgres", data, 'bindir = "embedded"')
    if change is None:
        PreparedStudy.of(study.read_text(), str(study))
        return
    change(folder)
    found = refused(study)
    assert told in found and "own.toml:10: workload.data_directory" in found


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
    tmp_path: Path, subject: str, data: str, last: str
) -> None:
    (tmp_path / "rows.sql").write_text(data)
    study = own_study(tmp_path, subject, 'data_file = "rows.sql"')
    printed = CliRunner().invoke(cli, ["data", str(study)])
    assert printed.exit_code == 0, printed.exception
    assert printed.stdout.splitlines()[-1] == last


def test_the_data_command_names_the_program_that_reads_a_custom_dump(tmp_path: Path) -> None:
    (tmp_path / "custom.dump").write_bytes(b"PGDMP")
    study = own_study(tmp_path, "postgres", 'data_file = "custom.dump"')
    refused = CliRunner().invoke(cli, ["data", str(study)]).exception
    assert isinstance(refused, InputError)
    assert refused.hint.startswith('pg_restore --no-owner --dbname "$DSN"')
