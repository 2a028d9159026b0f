"""`make test`, `make test-slow` and `make check` run all their parts, and fail when one of them does."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = {
    "test": ["pytest", "cargo"],
    "test-slow": ["pytest", "cargo", "pytest", "pytest", "python", "python", "python"],
    "check": ["ruff", "ruff", "pyright", "cargo", "cargo"],
}


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("target", PARTS)
@pytest.mark.parametrize("failing", ["", "pytest", "ruff", "cargo"])
def test_every_part_runs_and_a_failure_of_any_is_that_of_all(
    tmp_path: Path, target: str, failing: str
) -> None:
    for name in set(PARTS[target]):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho {name} >> {tmp_path}/called\nexit {int(name == failing)}\n")
        program.chmod(0o755)
    done = subprocess.run(
        ["make", "--no-print-directory", "-C", ROOT, "-o", ".venv/built", target, f"RUN={tmp_path}"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (tmp_path / "called").read_text().split() == PARTS[target], done.stderr
    assert (done.returncode != 0) == (failing in PARTS[target])
