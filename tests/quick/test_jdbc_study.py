"""Keys of a JDBC driver that are refused before a start, and the studies that ship for your servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.errors import InputError
from steelyard.study.load_study import find_study
from steelyard.study.passwords import password_written, variables
from steelyard.subjects.drivers.connection import jars
from steelyard.workflow.prepare import PreparedStudy

PGJDBC = "org.postgresql:postgresql:42.7.4"
SCHEMA = 'schema_sql = "create table item (id int primary key, note varchar(9))"'
EMBEDDED = """
name = "own"
question = "Does it work?"
subject.kind = "{kind}"
[workload]
kind = "sql"
driver = "{driver}"
{lines}
[workload.statements.find]
sql = "select note from item where id = 1"
{more}
"""


def refusal(lines: str, kind: str = "jdbc", driver: str = PGJDBC, more: str = "") -> str:
    with pytest.raises(InputError) as refused:
        PreparedStudy.of(EMBEDDED.format(kind=kind, driver=driver, lines=lines, more=more), "study.toml")
    return str(refused.value)


def test_a_password_in_the_study_is_refused_without_being_said() -> None:
    for lines, cause in (
        ('driver_properties = { password = "secret" }', "driver_properties.password: write ${NAME}"),
        ('driver_url = "jdbc:postgresql://u:secret@h/d"', "driver_url holds a password"),
    ):
        said = refusal(lines)
        assert cause in said and "secret" not in said


def test_a_url_of_another_form_is_refused() -> None:
    assert "a URL of JDBC begins with jdbc:" in refusal('driver_url = "postgresql://h/d"')


def test_a_password_in_an_oracle_url_is_found() -> None:
    assert password_written("jdbc:oracle:thin:scott/tiger@//db.example:1521/sales")
    assert not password_written("jdbc:oracle:thin:scott/${TIGER}@//db.example:1521/sales")
    assert not password_written("jdbc:oracle:thin:@//db.example:1521/sales")


def test_a_jar_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*/driver\.jar"):
        jars("driver.jar", tmp_path)


def test_a_file_that_is_no_jar_is_named(tmp_path: Path) -> None:
    (tmp_path / "driver.jar").write_text("<html>404 Not Found</html>")
    with pytest.raises(InputError, match=r"/driver\.jar is no jar"):
        jars("driver.jar", tmp_path)
    (tmp_path / "folder.jar").mkdir()
    with pytest.raises(InputError, match=r"/folder\.jar is no jar"):
        jars("folder.jar", tmp_path)


def test_a_subject_without_drivers_refuses_one() -> None:
    assert "SQLite takes no JDBC driver" in refusal("", kind="sqlite")


@pytest.mark.parametrize("url", ["jdbc:h2:{folder}/own", "jdbc:h2:mem:own", "jdbc:derby:memory:own"])
def test_a_database_in_the_loads_process_has_no_second_connection_for_monitors(url: str) -> None:
    monitor = '[monitors.own]\nsql = "select 1 as n"\ngauges = ["n"]'
    said = refusal(f'driver_url = "{url}"', driver="com.h2database:h2:2.3.232", more=monitor)
    assert "has no second connection" in said


@pytest.mark.parametrize("url", ["h2:./own", "h2:mem:own", "hsqldb:file:own", "derby:own;create=true"])
def test_a_schema_is_not_run_in_a_database_of_the_users_folder(url: str) -> None:
    said = refusal(f'driver_url = "jdbc:{url}"\n{SCHEMA}', driver="com.h2database:h2:2.3.232")
    assert "workload.driver_url" in said and "whose URL has {folder}" in said


@pytest.mark.parametrize("url", ["h2:tcp://h/own", "hsqldb:hsql://h/own", "derby://h/own", "h2:{folder}/own"])
def test_a_schema_beside_the_url_of_a_server_is_for_the_command_data(url: str) -> None:
    lines = f'driver_url = "jdbc:{url}"\n{SCHEMA}'
    text = EMBEDDED.format(kind="jdbc", driver="com.h2database:h2:2.3.232", lines=lines, more="")
    assert len(PreparedStudy.of(text, "study.toml").options) == 1


@pytest.mark.parametrize("name", ["ase-kernel-mode", "ase-statements", "oracle-result-cache"])
def test_a_study_of_a_server_of_yours_takes_address_and_password_from_the_environment(name: str) -> None:
    study, text = find_study(name)
    assert len(PreparedStudy.of(text, name).blocks) == 6
    server = name.partition("-")[0].upper()
    assert variables(study) > {f"{server}_USER", f"{server}_PASSWORD"}
