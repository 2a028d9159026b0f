"""What a study needs, said before it runs: --dry-run, `studies`, the plan's time, --quick."""

from __future__ import annotations

import json
import socket
import tomllib
from pathlib import Path

import pytest
from laboratory import Lab, small_study

PROGRAM = """\
name = "program"
question = "Which?"

[subject]
kind = "program"

[workload]
kind = "program"
command = ["sleep", "{pause}"]
variables = { pause = 0.1 }

[factors.pause]
scope = "client"
levels = { A = 0.1, B = 0.2 }

[plan]
clients = [1]
blocks = 2
"""


def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def at_address(lab: Lab, dsn: str) -> Path:
    study = small_study(lab.folder, subject="postgres")
    study.write_text(study.read_text().replace('kind = "postgres"', f'kind = "postgres"\ndsn = "{dsn}"'))
    return study


def test_a_dry_run_that_misses_nothing_exits_with_0(lab: Lab) -> None:
    done = lab.run("run", small_study(lab.folder), "--dry-run", "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr
    assert not lab.bundle.exists()


def test_a_dry_run_lists_all_that_is_missing(lab: Lab) -> None:
    lab.bundle.mkdir()
    (lab.bundle / "mine").write_text("")
    study = at_address(lab, "postgresql://${LAB_USER}:${LAB_PASSWORD}@127.0.0.1/lab")
    done = lab.run("run", study, "--dry-run", "--bundle", lab.bundle, TMPDIR="/nonexistent")
    assert done.returncode == 2
    for expected in (
        "error: TMPDIR: /nonexistent: no such folder",
        f"error: {lab.bundle}: already exists; a bundle is never overwritten",
        "error: subject.dsn: the environment variable LAB_USER is not set\nhint: export LAB_USER=...",
        "error: subject.dsn: the environment variable LAB_PASSWORD is not set",
    ):
        assert expected in done.stderr
    assert "plan     2 blocks" in done.stderr


def test_a_dry_run_finds_a_server_that_does_not_answer(lab: Lab) -> None:
    study = at_address(lab, f"postgresql://lab@127.0.0.1:{closed_port()}/lab")
    done = lab.run("run", study, "--dry-run")
    assert done.returncode == 2
    assert "subject.dsn: " in done.stderr and "Connection refused" in done.stderr
    assert "hint: check the address" in done.stderr


def test_a_dry_run_finds_statements_that_the_server_refuses(lab: Lab) -> None:
    study = small_study(lab.folder, subject="postgres")
    text = study.read_text().replace("rows = 1000", 'kind = "sql"')
    study.write_text(f'{text}\n[workload.statements.own]\nsql = "select nothing from nowhere"\n')
    done = lab.run("run", study, "--dry-run")
    assert done.returncode == 2
    assert 'relation "nowhere" does not exist' in done.stderr
    assert not lab.traces()


def test_a_dry_run_names_variables_of_a_program(lab: Lab) -> None:
    study = lab.folder / "program.toml"
    study.write_text(PROGRAM.replace("[factors", 'environment = { TOKEN = "${LAB_TOKEN}" }\n[factors', 1))
    done = lab.run("run", study, "--dry-run")
    assert done.returncode == 2
    assert "workload.environment.TOKEN: the environment variable LAB_TOKEN is not set" in done.stderr


def test_the_time_of_a_program_that_runs_to_its_end_is_not_guessed(lab: Lab) -> None:
    study = lab.folder / "program.toml"
    study.write_text(PROGRAM)
    done = lab.run("run", study, "--dry-run")
    assert "1 instance, each run to its end: the time is estimated after the first run" in done.stderr
    run = lab.run("run", study, "--bundle", lab.bundle)
    assert run.returncode == 0, run.stderr
    assert "1 of 4 runs, block 1: " in run.stderr and " left\n" in run.stderr


def test_studies_show_duration_needs_and_what_is_missing_here(lab: Lab) -> None:
    (lab.folder / "empty").mkdir()
    done = lab.run("studies", PATH=str(lab.folder / "empty"), COLUMNS="200")
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.split()}
    assert lines["study"].split() == ["study", "options", "duration", "needs", "question"]
    assert " nothing " in lines["overhead"]
    assert " PostgreSQL " in lines["demo"] and " min " in lines["demo"]
    assert " java " in lines["jvm-sets"]
    assert 'missing: program "java" not found' in done.stdout


def test_a_quick_run_is_shorter_in_its_bundle(lab: Lab) -> None:
    study = small_study(lab.folder, blocks=5, measure_s=0.1)
    done = lab.run("run", study, "--quick", "--bundle", lab.bundle, "--json")
    assert done.returncode == 0, done.stderr
    assert "quick: 3 blocks in place of 5: intervals about " in done.stderr
    assert tomllib.loads((lab.bundle / "study.toml").read_text())["plan"]["blocks"] == 3
    finished = lab.run("sql", lab.bundle, "select max(block) as blocks from runs", "--json")
    assert json.loads(finished.stdout) == [{"blocks": 3}]


@pytest.mark.needs("PostgreSQL")
def test_the_capture_of_the_catalog_has_transactions_of_its_own(lab: Lab) -> None:
    done = lab.run("run", "replay-versions", "--dry-run")
    assert done.returncode == 0, done.stderr


def test_an_error_names_the_line_of_the_file_also_with_changes_of_the_command_line(lab: Lab) -> None:
    study = small_study(lab.folder)
    written = study.read_text().replace("[monitors]\n", "[monitors]\nnonesuch = 1\n")
    study.write_text("# a comment\n" * 20 + written)
    line = study.read_text().splitlines().index("nonesuch = 1") + 1
    for changes in ([], ["--quick"], ["--blocks", "3"]):
        done = lab.run("run", study, "--dry-run", *changes, "--bundle", lab.bundle)
        assert done.returncode == 2
        assert f"{study}:{line}: monitors.nonesuch: " in done.stderr, done.stderr
