"""Settings that are the lab's own are refused or left out, and sessions with other servers are refused."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import resources
from pathlib import Path

import pytest
from laboratory import Lab, small_study
from needs import needs

from steelyard.study.setting_names import folded, names_of
from steelyard.study.settings_file import settings_of
from steelyard.subjects import SubjectFailed
from steelyard.subjects.servers.identity import FILE, Account, Identity, listening_elsewhere

# of foreign keys, no secrets
KEYS = {"foreign_keys", "foreign_key_list", "foreign_key_check", "defer_foreign_keys"}


def test_a_text_of_an_unknown_setting_is_left_out_of_a_file_and_a_number_is_not(tmp_path: Path) -> None:
    (tmp_path / "x.conf").write_text("new_path = /srv/x\nnew_size = 8MB\nnew_switch = on\n")
    found = settings_of(tmp_path / "x.conf", "postgres")
    assert found.settings == {"new_size": "8MB", "new_switch": "on"}
    assert len(found.left_out) == 1 and "x.conf:1: new_path" in found.left_out[0]


def test_a_file_that_has_settings_of_the_lab_alone_names_their_lines(lab: Lab) -> None:
    (lab.folder / "x.conf").write_text("\nport = 1921\n")
    done = lab.run("run", "--pgbench", "select-only", "--against", "x.conf", "--dry-run")
    assert done.returncode == 2 and "x.conf:2: port is left out" in done.stderr


@pytest.mark.parametrize(
    ("subject", "line"),
    [
        ("postgres", "settings = { data_directory = '/srv/x' }"),
        ("postgres", "settings = { 'Data-Directory' = '/srv/x' }"),
        ("postgres", "settings = { listen_addresses = '*' }"),
        ("postgres", "settings = { archive_command = 'cp %p /srv/x' }"),
        ("postgres", "settings = { shared_preload_libraries = '/srv/evil.so' }"),
        ("postgres", "settings = { log_line_prefix = \"x\\ndata_directory = '/srv/x'\" }"),
        ("postgres", "session = { local_preload_libraries = '/srv/evil.so' }"),
        ("postgres", "settings = { pooler = 'pgbouncer', 'pgbouncer.listen_addr' = '0.0.0.0' }"),
        (
            "postgres",
            "settings = { pooler = 'pgbouncer', 'pgbouncer.pool_mode' = \"session\\nlisten_addr=*\" }",
        ),
        ("postgres", "settings = { 'shared_preload_libraries=/srv/x.so, y' = 5 }"),
        ("postgres", "settings = { pooler = 'pgbouncer', 'pgbouncer.logfile = /srv/x' = 5 }"),
        ("mariadb", "settings = { skip_networking = false, port = 33911 }"),
        ("mariadb", "settings = { Skip-Grant-Tables = true }"),
        ("mariadb", "settings = { init_file = '/srv/x' }"),
        ("mariadb", "settings = { plugin_load_add = '../../srv/x.so' }"),
        ("mariadb", "settings = { event_scheduler = true }"),
        ("valkey", "settings = { bind = '0.0.0.0' }"),
        ("valkey", "settings = { loadmodule = '/srv/x.so' }"),
        ("valkey", 'settings = { save = "60 1\\nbind 0.0.0.0" }'),
        ("valkey", "settings = { save = '--loadmodule /srv/x.so' }"),
        ("valkey", "settings = { 'loadmodule /srv/x.so' = 5 }"),
        ("sqlite", "settings = { temp_store_directory = '/srv/x' }"),
        ("sqlite", "settings = { wal_checkpoint = 'truncate' }"),
        ("sqlite", "settings = { Integrity-Check = 1 }"),
        ("sqlite", "settings = { vacuum = true }"),
    ],
)
def test_a_setting_that_is_the_labs_is_refused_by_its_line(lab: Lab, subject: str, line: str) -> None:
    if subject == "mariadb":
        needs("MariaDB")
    study = small_study(lab.folder, subject=subject, blocks=1)
    text = study.read_text()
    if subject == "valkey":
        valkey_study(lab.folder, line)
    else:
        study.write_text(text.replace(f'kind = "{subject}"', f'kind = "{subject}"\n{line}'))
    done = lab.run("run", study, "--dry-run")
    number = text[: text.index(f'kind = "{subject}"')].count("\n") + 2
    assert done.returncode == 2 and f"small.toml:{number}: " in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def valkey_study(folder: Path, line: str = "") -> Path:
    text = small_study(folder, subject="valkey", blocks=1).read_text()
    study = text.replace("rows = 1000", 'kind = "key-value"\nkeys = 100').replace(
        "[factors.handle]", "[factors.hz]"
    )
    study = study.replace('scope = "client"', 'scope = "server"').replace(
        'simple = "none", named = "named"', "A = 10, B = 20"
    )
    (folder / "small.toml").write_text(study.replace('kind = "valkey"', f'kind = "valkey"\n{line}'))
    return folder / "small.toml"


def unclassed(program: str, texts: Iterator[str] | list[str] | set[str]) -> set[str]:
    """Names of texts that no list has."""
    return {folded(name) for name in texts} - names_of(program).classes.keys()


def test_every_pragma_that_names_a_file_is_classed() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        names = {name for (name,) in connection.execute("select name from pragma_pragma_list")}
    assert names > {"temp_store", "journal_mode"}
    assert not unclassed("sqlite", {name for name in names if re.search("directory|file|key", name)} - KEYS)


def test_a_number_in_a_setting_is_no_password(lab: Lab) -> None:
    needs("MariaDB")
    study = small_study(lab.folder, subject="mariadb")
    line = 'kind = "mariadb"\nsettings = { max_password_errors = 4294967295 }'
    study.write_text(study.read_text().replace('kind = "mariadb"', line))
    done = lab.run("run", study, "--dry-run")
    assert done.returncode == 0, done.stderr


def test_a_line_that_is_no_setting_is_not_shown(lab: Lab) -> None:
    (lab.folder / "x.conf").write_text("primary_conninfo = 'password=\\'hunter2\nwork_mem = 8MB\n")
    done = lab.run("run", "--pgbench", "select-only", "--against", "x.conf", "--dry-run")
    assert done.returncode == 2 and "x.conf:1" in done.stderr and "hunter2" not in done.stderr


def test_no_name_has_two_classes() -> None:
    for file in (resources.files("steelyard.catalog") / "settings").iterdir():
        lists = tomllib.loads(file.read_text())
        names = [n for kind, text in lists.items() if isinstance(text, str) for n in text.split()]
        assert len(names) == len(set(names)), file


@contextmanager
def listener(path: Path) -> Iterator[tuple[int, int]]:
    """A process that listens on a Unix socket and a TCP port of every address; its pid, and the port."""
    code = (
        "import socket, sys; u = socket.socket(socket.AF_UNIX); u.bind(sys.argv[1]); u.listen();"
        "t = socket.create_server(('0.0.0.0', 0)); print(t.getsockname()[1], flush=True);"
        "sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout and process.stdin
    try:
        yield process.pid, int(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait()


def test_a_server_that_listens_where_it_is_not_meant_to_is_named(tmp_path: Path) -> None:
    with listener(tmp_path / "s") as (pid, port):
        place = f"0.0.0.0:{port}"
        assert listening_elsewhere([pid], {str(tmp_path / "s"), place}) == ""
        assert listening_elsewhere([pid], {str(tmp_path / "s")}) == place
        assert listening_elsewhere([pid], {place}) == str(tmp_path / "s")


def test_a_session_with_another_server_is_refused_before_a_statement(tmp_path: Path) -> None:
    caller = Account("caller", None)
    with listener(tmp_path / "s") as (pid, _):
        own = Identity("PostgreSQL", tmp_path, pid)
        own.write(caller)
        own.check(tmp_path / "s", str(tmp_path), own.nonce)
        for stranger, data, nonce in (
            (Identity("PostgreSQL", tmp_path, pid + 1, own.nonce), tmp_path, own.nonce),
            (own, tmp_path.parent, own.nonce),
            (own, tmp_path, ""),
        ):
            with pytest.raises(SubjectFailed, match="not with the PostgreSQL that Steelyard started"):
                stranger.check(tmp_path / "s", str(data), nonce)
        own.forget()
        assert not (tmp_path / FILE).exists()


def test_the_nonce_is_not_written_through_a_link(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    (tmp_path / FILE).symlink_to(target)
    Identity("PostgreSQL", tmp_path).write(Account("caller", None))
    assert target.read_text() == "mine"
