"""Each option of a command has an effect beside each other one, or an error names one of the two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from laboratory import small_study

from steelyard.cli import run as run_command
from steelyard.workflow import session

STUDY = ["small.toml"]
SCRIPT = ["--pgbench", "select-only"]
HOSTS = """
[fleet.hosts.db]
address = "127.0.0.1"
roles = ["lab"]
[fleet.hosts.load1]
address = "127.0.0.2"
roles = ["load"]
"""
# options of `run`, each with the value that makes a difference
RUN: Mapping[str, list[str]] = {
    "--pgbench": SCRIPT,
    "--scale": ["--scale", "7"],
    "--define": ["--define", "n=7"],
    "--settings": ["--settings", "a.conf"],
    "--against": ["--against", "b.conf"],
    "--bundle": ["--bundle", "x.bundle"],
    "--blocks": ["--blocks", "9"],
    "--clients": ["--clients", "3"],
    "--measure": ["--measure", "1.5"],
    "--until": ["--until", "5%"],
    "--quick": ["--quick"],
    "--subject": ["--subject", "mariadb"],
    "--fleet": ["--fleet", "hosts.toml"],
    "--profile": ["--profile"],
    "--locks": ["--locks"],
    "--scheduling-trace": ["--scheduling-trace"],
    "--latch-count": ["--latch-count"],
    "--dry-run": ["--dry-run"],
    "--json": ["--json"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    small_study(tmp_path, subject="postgres", blocks=20)
    (tmp_path / "a.conf").write_text("work_mem = 4MB\n")
    (tmp_path / "b.conf").write_text("work_mem = 8MB\n")
    (tmp_path / "hosts.toml").write_text(HOSTS)
    return tmp_path


def asked(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, Any]:
    """Exit code, and what the command asks of the lab, or its error."""
    seen: list[Any] = []
    monkeypatch.setattr(session, "run_study", lambda *given, **named: seen.append((given, named)))
    done = CliRunner().invoke(run_command.command, arguments)
    refused = done.output + str(done.exception or "")
    return (0, seen[0]) if seen else (2, refused)


def both(one: str, other: str) -> Iterator[tuple[list[str], list[str]]]:
    """The arguments without an option, and with it beside the other."""
    built_in = ["statements"] if "--subject" in (one, other) else STUDY
    for beside in (one, other):
        base = [] if "--pgbench" in (one, other) else built_in
        without = RUN[beside] if base or beside == "--pgbench" else [*built_in, *RUN[beside]]
        yield [*base, *without], [*base, *RUN[one], *RUN[other]]


@pytest.mark.parametrize(("one", "other"), list(combinations(RUN, 2)))
def test_an_option_is_used_beside_another_or_refused(
    one: str, other: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert folder.exists()
    for without, whole in both(one, other):
        code, found = asked(whole, monkeypatch)
        if code:
            assert one in found or other in found, found
        else:
            assert asked(without, monkeypatch)[1] != found, f"{whole}: as without one"


def test_every_option_of_run_is_tried() -> None:
    options = {name for option in run_command.command.params for name in option.opts if name[:2] == "--"}
    assert options == RUN.keys()
