"""A study starts, changes, opens and leaves nothing of the user's, whatever its settings say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest
from bystander import Bystander
from laboratory import Lab, small_study
from mariadb_server import mariadb
from needs import needs
from servers import postgres

from steelyard import _core
from steelyard.bundle.reader import Bundle
from steelyard.study.setting_names import folded, names_of
from steelyard.subjects.servers.identity import account_of_servers

SHORT = ("--blocks", "1", "--measure", "0.3", "--clients", "2")
needs_confinement = pytest.mark.skipif(not _core.confinement(), reason="the kernel has no Landlock")


@pytest.fixture
def trap(lab: Lab) -> Path:
    """A folder that all may write, and that no study names as its own."""
    folder = lab.folder / "trap"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


def test_what_a_settings_file_names_of_the_users_stays_as_it_was_and_its_passwords_are_shown_nowhere(
    lab: Lab, trap: Path
) -> None:
    own = Bystander.made(lab.folder / "own")
    before = own.contents()
    (lab.folder / "x.conf").write_text(
        f"data_directory = '{own.data}'\nhba_file = '{own.data}/pg_hba.conf'\nexternal_pid_file='/tmp/pid'\n"
        f"config_file = '{own.data}/postgresql.conf'\nident_file='x'\nDATA_DIRECTORY = '{own.data}'\n"
        f"archive_command = 'cp %p {trap}/%f'\nprimary_conninfo = 'host=db1 password=hunter2'\n"
        "archive_mode = on\narchive_timeout = 1\nwork_mem = 8MB\n"
    )
    done = lab.run("run", "--pgbench", "tpcb-like", "--against", "x.conf", *SHORT, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    for line in range(1, 9):
        assert f"x.conf:{line}: " in done.stderr
    assert "x.conf:7: archive_command is left out" in done.stderr
    assert own.contents() == before and not list(trap.iterdir())
    bundle = Bundle(lab.bundle)
    assert (bundle.setting("x", "work_mem"), bundle.setting("x", "archive_mode")) == ("8MB", "on")
    assert "hunter2" not in done.stdout + done.stderr
    assert not [f for f in lab.bundle.rglob("*") if f.is_file() and b"hunter2" in f.read_bytes()]


def unclassed(program: str, texts: Iterator[str] | list[str] | set[str]) -> set[str]:
    """Names of texts that no list has."""
    return {folded(name) for name in texts} - names_of(program).classes.keys()


def test_every_text_setting_of_postgres_is_classed() -> None:
    with postgres() as server, server.connect() as connection:
        rows = connection.execute("select name from pg_settings where vartype = 'string'").fetchall()
    assert len(rows) > 60
    names = {bytes(name).decode() if isinstance(name, bytes) else name for (name,) in rows}
    assert not unclassed("postgres", names)


def test_every_text_setting_of_mariadb_is_classed() -> None:
    needs("MariaDB")
    with mariadb() as server:
        connection = pymysql.connect(unix_socket=server.socket, user="root")
        with connection.cursor() as cursor:
            cursor.execute(
                "select variable_name from information_schema.system_variables"
                " where variable_type in ('VARCHAR', 'ENUM', 'SET', 'FLAGSET')"
            )
            names = {str(name) for (name,) in cursor.fetchall()}
        connection.close()
    assert len(names) > 150
    assert not unclassed("mariadb", names)


def data_study(folder: Path, sql: str) -> Path:
    """A study on a table `t` that a file of SQL makes."""
    (folder / "data.sql").write_text(sql)
    text = small_study(folder, subject="postgres", blocks=1).read_text()
    workload = '[workload]\nkind = "sql"\ndata_file = "data.sql"\nstatements.one.sql = "select id from t"'
    (folder / "small.toml").write_text(text.replace("[workload]\nrows = 1000", workload))
    return folder / "small.toml"


@needs_confinement
def test_sql_of_a_study_writes_only_into_the_folders_of_its_server(lab: Lab, trap: Path) -> None:
    study = data_study(lab.folder, f"create table t (id int); copy (select 1) to '{trap}/a';")
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode != 0 and "ermission denied" in done.stderr, done.stderr
    assert not list(trap.iterdir())


@needs_confinement
def test_a_tablespace_is_a_folder_that_the_plan_lists(lab: Lab) -> None:
    place = lab.folder / "space"
    place.mkdir()
    account_of_servers().own(place)
    tablespace = f"create tablespace s location '{place}'"
    study = data_study(lab.folder, f"{tablespace}; create table t (id int) tablespace s;")
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert f"servers may also write into {place}" in done.stderr


def test_the_labs_own_sessions_are_not_subject_to_an_options_defaults(lab: Lab) -> None:
    """The statements of the workload are: they fail, by their own error."""
    lines = {"statement_timeout": "1", "lock_timeout": "1", "default_transaction_read_only": "on"}
    (lab.folder / "x.conf").write_text("".join(f"{name} = {value}\n" for name, value in lines.items()))
    done = lab.run("run", "--pgbench", "tpcb-like", "--against", "x.conf", *SHORT, "--bundle", lab.bundle)
    # a limit of 1 ms may cancel them when they are tried
    assert done.returncode in (1, 2) and "DROP DATABASE" not in done.stderr
    assert "25006" in done.stderr, done.stderr
