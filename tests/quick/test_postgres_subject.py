"""PostgreSQL as a subject: settings as it shows them, and what is refused before a server starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from small import small_study
from steelyard.study.errors import InputError
from steelyard.study.load_study import parse_study, plan_study
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects import check
from steelyard.subjects.postgres.binaries import find_bindir
from steelyard.subjects.postgres.checksums import checksums
from steelyard.subjects.postgres.settings_read_back import Shown, taken
from steelyard.subjects.postgres.workload_tables import load_statements
from steelyard.workflow.prepare import PreparedStudy
from steelyard.workloads import work_of

SCRIPT_STUDY = """
name = "own"
question = "?"
[subject]
kind = "postgres"
[workload]
kind = "sql"
schema_sql = "{sql}"
[workload.statements]
look = {{ sql = "select 1" }}
[factors.handle]
scope = "client"
levels = {{ a = "none", b = "named" }}
[plan]
clients = [1]
"""


@pytest.mark.parametrize(
    ("asked", "shown", "unit", "kind"),
    [
        ("256MB", "32768", "8kB", "integer"),
        ("1s", "1000", "ms", "integer"),
        ("4MB", "4096", "kB", "integer"),
        ("1h", "3600", "s", "integer"),
        (True, "on", None, "bool"),
        ("yes", "on", None, "bool"),
        (100, "100", None, "integer"),
        (1.5, "1.5", None, "real"),
        ("REPLICA", "replica", None, "enum"),
        ("", "", None, "string"),
    ],
)
def test_a_setting_is_known_again_in_the_servers_own_units(
    asked: str | float, shown: str, unit: str | None, kind: str
) -> None:
    assert taken(asked, Shown(shown, unit, kind))


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        # as PostgreSQL 18 shows them when started with --wal_buffers=-1 --transaction_buffers=0
        (-1, Shown("256", "8kB", "integer", "-1", "override")),
        (0, Shown("16", "8kB", "integer", "0", "override")),
        ("-1", Shown("-1", "kB", "integer", "-1", "command line")),
    ],
)
def test_a_value_left_to_the_server_is_taken_whatever_it_chose(asked: str | int, shown: Shown) -> None:
    assert taken(asked, shown)


@pytest.mark.parametrize(
    ("asked", "shown", "unit", "kind"),
    [
        ("128MB", "32768", "8kB", "integer"),
        (101, "100", None, "integer"),
        (False, "on", None, "bool"),
        ("1min", "1000", "ms", "integer"),
        ("auto", "force_custom_plan", None, "enum"),
    ],
)
def test_a_setting_that_was_not_taken_is_noticed(
    asked: str | float, shown: str, unit: str | None, kind: str
) -> None:
    assert not taken(asked, Shown(shown, unit, kind))


def test_another_value_than_the_one_left_to_the_server_was_not_taken() -> None:
    assert not taken(0, Shown("256", "8kB", "integer", "-1", "override"))
    assert not taken(0, Shown("256", "8kB", "integer", "0", "command line"))


def refused(text: str, name: str) -> InputError:
    with pytest.raises(InputError) as error:
        PreparedStudy.of(text, name)
    return error.value


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("shared_bufers = '16MB'", 'no setting "shared_bufers"; did you mean "shared_buffers"?'),
        ("shared_buffers = '16XB'", 'invalid value for parameter "shared_buffers": "16XB"'),
        ("max_connections = 99999999", 'outside the valid range for parameter "max_connections"'),
    ],
)
def test_a_server_setting_that_cannot_be_is_named_with_its_line_before_anything_starts(
    tmp_path: Path, setting: str, told: str
) -> None:
    study = small_study(tmp_path, "postgres")
    text = study.read_text().replace('"postgres"', f'"postgres"\nsettings = {{ {setting} }}')
    line = text.splitlines().index(f"settings = {{ {setting} }}") + 1
    found = str(refused(text, str(study)))
    assert told in found and f"{study}:{line}: subject.settings.{setting.split()[0]}" in found


def test_a_level_that_cannot_be_is_named_with_its_line(tmp_path: Path) -> None:
    text = small_study(tmp_path, "postgres").read_text() + (
        "\n[factors.commit]\nscope = 'server'\nsetting = 'synchronous_commit'\n"
        "levels = { on = 'on', off = 'offf' }\n"
    )
    lines = text.count("\n")
    found = str(refused(text, "small.toml"))
    assert f"small.toml:{lines}: factors.commit.levels.off: " in found
    assert 'invalid value for parameter "synchronous_commit": "offf"' in found


def test_server_factors_are_refused_where_the_server_is_not_ours(tmp_path: Path) -> None:
    text = small_study(tmp_path, "postgres").read_text()
    text = text.replace('"postgres"', '"postgres"\ndsn = "postgresql://a@127.0.0.1:1/d"')
    levels = 'scope = "server"\nsetting = "work_mem"\nlevels = { A = "1MB", B = "2MB" }'
    text = text.replace('scope = "client"\nlevels = { simple = "none", named = "named" }', levels)
    error = refused(text, "small.toml")
    assert "use scope session or client" in f"{error} {error.hint}"


def test_data_checksums_are_refused_where_they_cannot_be_chosen(tmp_path: Path) -> None:
    text = """\
name = "kept"
question = "Which?"
subject = { kind = "KIND", data_checksums = "off" }
workload = { kind = "sql", statements.one.sql = "select 1" }
factors.handle = { scope = "client", levels = { A = "none", B = "named" } }
"""
    study, found = plan_study(text.replace("KIND", "sqlite"), "kept.toml")
    with pytest.raises(InputError, match="has no choice of data checksums"):
        check(study, found)
    own = f'kind = "sql", data_directory = "{tmp_path}", data_database = "shop", '
    study, found = plan_study(text.replace("KIND", "postgres").replace('kind = "sql", ', own), "kept.toml")
    with pytest.raises(InputError, match="a data directory keeps its own"):
        checksums(study, found)


def test_only_the_tables_of_the_study_are_vacuumed() -> None:
    lookup = load_statements(work_of(StatementWorkload(rows=10)))
    assert lookup[-1] == "vacuum (freeze, analyze) item"
    text = SCRIPT_STUDY.format(
        sql="create table account (id int);\\nCREATE UNLOGGED TABLE if not exists s.ledger (n int);"
        "\\ncreate temporary table t (n int)"
    )
    own = load_statements(work_of(parse_study(text, "own.toml").workload))
    assert own[-1] == "vacuum (freeze, analyze) account, s.ledger"


def test_a_folder_that_has_no_server_names_the_newest_that_the_lab_has() -> None:
    with pytest.raises(InputError) as error:
        find_bindir("newest")
    assert "`embedded` is the newest version" in error.value.hint
