"""A machine or shell that has no more of something: an error with a remedy, and no traceback."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import duckdb
import pytest

from steelyard.cli import commands


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/data/x"), "free space there"),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE), "/data/x"), "ulimit -n"),
        (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), "ulimit -v"),
        (MemoryError(), "ulimit -v"),
        (duckdb.OutOfMemoryException("Out of Memory Error: Allocation failure"), "ulimit -v"),
        (RuntimeError("can't start new thread"), "ulimit -u"),
    ],
)
def test_what_is_used_up_has_a_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, remedy: str
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(commands, "cli", fail)
    with pytest.raises(SystemExit) as ended:
        commands.run()
    said, _, hint = capsys.readouterr().err.partition("hint: ")
    assert ended.value.code == 2 and remedy in hint
    assert getattr(error, "filename", None) is None or "/data/x" in said


def test_a_folder_that_was_deleted_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    monkeypatch.setattr("sys.argv", ["steelyard", "doctor"])
    with pytest.raises(SystemExit) as ended:
        commands.run()
    assert ended.value.code == 2 and "a folder that exists" in capsys.readouterr().err


def test_another_failure_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise ValueError("a defect")

    monkeypatch.setattr(commands, "cli", fail)
    with pytest.raises(ValueError, match="a defect"):
        commands.run()
