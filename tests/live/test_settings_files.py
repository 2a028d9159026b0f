"""Settings files through the command line: what servers show is what was asked, refusals have their line."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from laboratory import Lab, small_study
from needs import needs

from steelyard.cli.commands import cli
from steelyard.subjects.servers import daemon

TAKEN = """\
log_line_prefix = '%m user=\\'%u\\' '
wal_level = hot_standby
datestyle = 'iso,dmy'
autovacuum = f
work_mem = 0x1000
client_min_messages = debug
client_encoding = sql_ascii
fsync = off
wal_buffers = -1
tcp_keepalives_idle = 60
"""
TAKEN_BY_MARIADB = """\
[mysqld]
transaction-isolation = READ-COMMITTED
default-time-zone = '+00:00'
optimizer_switch = rowid_filter=off
sql_mode = ANSI
character-set-server = utf8
collation-server = utf8_general_ci
log_bin = mysql-bin
skip-character-set-client-handshake
skip-external-locking
symbolic-links = 0
key_buffer = 1000001
innodb_open_files = 0
expire_logs_days = 0
max_seeks_for_key = 100000
concurrent_insert = 2
binlog_row_image = 0
completion_type = 1
skip-host-cache
skip-name-resolve
innodb_flush_log_at_trx_commit = 2
"""


@pytest.mark.parametrize(
    ("subject", "text", "risk"),
    [
        ("postgres", TAKEN, "own may have damaged data after a crash: fsync = off."),
        ("mariadb", TAKEN_BY_MARIADB, "own loses committed transactions in a crash: innodb_flush_log"),
    ],
)
def test_values_that_the_server_writes_otherwise_are_taken(
    lab: Lab, subject: str, text: str, risk: str
) -> None:
    needs("MariaDB" if subject == "mariadb" else "PostgreSQL")
    (lab.folder / "own.conf").write_text(text)
    study = small_study(lab.folder, subject=subject, blocks=1)
    done = lab.run("run", study, "--settings", "own.conf", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "left out" not in done.stderr and risk in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("subject", "text", "said", "way"),
    [
        (
            "postgres",
            "\ncheckpoint_segments = 32",
            "2: option own: this server has no",
            "max_wal_size",
        ),
        (
            "postgres",
            "port = 1\nshared_preload_libraries = 'bg_mon'",
            "2: option own: PostgreSQL did not",
            "",
        ),
        (
            "postgres",
            "work_mem = 4MB\nrds.force_ssl = 1",
            "2: option own: this server has no",
            "leave it out",
        ),
        ("postgres", "work_mem = 12XB", "1: option own: PostgreSQL did not start: invalid value for", ""),
        ("mariadb", "[mysqld]\ngtid_mode = ON", "2: option own: this server has no", "always on"),
        (
            "mariadb",
            "[mysqld]\ntx_isolation = READ-COMMITTED",
            "2: option own: this",
            "transaction_isolation",
        ),
        (
            "mariadb",
            "[mysqld]\nback_log = 9999999",
            "2: option own: this server did not",
            "leave it out",
        ),
    ],
)
def test_a_refusal_names_file_and_line_and_the_way_round(
    lab: Lab, subject: str, text: str, said: str, way: str
) -> None:
    needs("MariaDB" if subject == "mariadb" else "PostgreSQL")
    (lab.folder / "own.conf").write_text(f"{text}\n")
    done = lab.run("run", small_study(lab.folder, subject=subject, blocks=1), "--settings", "own.conf")
    assert done.returncode == 2 and f"error: own.conf:{said}" in done.stderr.replace(f"{lab.folder}/", "")
    assert way in done.stderr.partition("hint: ")[2]


VALKEY = """\
name = "own"
question = "?"
[subject]
kind = "valkey"
[workload]
kind = "key-value"
keys = 100
[factors.own]
scope = "server"
levels.A = { notify-keyspace-events = "KEA", client-output-buffer-limit = "normal 0 0 0" }
levels.B = { notify-keyspace-events = "", client-output-buffer-limit = "pubsub 32mb 8mb 60" }
"""


def test_values_that_valkey_writes_otherwise_are_taken(lab: Lab) -> None:
    study = lab.folder / "own.toml"
    study.write_text(VALKEY)
    done = lab.run("run", study, "--dry-run")
    assert done.returncode == 0, done.stderr


def test_files_with_too_few_connections_are_refused_before_a_run(lab: Lab) -> None:
    needs("PostgreSQL")
    for name, size in (("a.conf", 4), ("b.conf", 8)):
        (lab.folder / name).write_text(f"max_connections = 12\nwork_mem = {size}MB\n")
    study = small_study(lab.folder, subject="postgres", blocks=1)
    done = lab.run(
        "run", study, "--settings", "a.conf", "--settings", "b.conf", "--clients", "20", "--dry-run"
    )
    assert done.returncode == 2 and "the server still admits 12" in done.stderr, done.stderr


def test_a_server_that_no_session_can_enter_is_refused_by_its_own_last_words(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("PostgreSQL")
    # on a busy machine the server itself needs some seconds before it looks at sessions
    monkeypatch.setattr(daemon, "_START_S", 20.0)
    (lab.folder / "own.conf").write_text("local_preload_libraries = nothere\nwork_mem = 8MB\n")
    small_study(lab.folder, subject="postgres", blocks=1)
    monkeypatch.chdir(lab.folder)
    done = CliRunner().invoke(cli, ["run", "small.toml", "--settings", "own.conf", "--dry-run"])
    assert "did not answer in 20 s: could not access file" in done.output
    assert done.exit_code == 2 and done.output.count("could not access file") == 1, done.output
