"""A disk without space: the file is named, and what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import layouts
import pytest
from laboratory import Lab, small_study
from made_bundles import finished_lab


@pytest.fixture(scope="module")
def made() -> Iterator[Lab]:
    """A finished study of the null subject."""
    with finished_lab(draws=True) as lab:
        shutil.copytree(lab.bundle, lab.folder / "copy")
        yield lab


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "full"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("a mount needs root")
    try:
        (place / "log.json").write_text(
            '{"timestamp":"2026-11-22 10:00:01.123 UTC","session_id":"a","error_severity":"LOG",'
            '"message":"duration: 1 ms  statement: select 1","dbname":"d"}\n'
        )
        with (place / "fill").open("wb", buffering=0) as fill:
            try:
                while fill.write(bytes(4096)):
                    pass
            except OSError:
                pass
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["run", "STUDY", "--bundle", "FULL/b"], "/b"),
        (["report", "BUNDLE", "--html", "FULL/x.html"], "/x.html"),
        (["report", "BUNDLE", "--images", "FULL/images"], "/images"),
        (["compare", "--force", "BUNDLE", "COPY", "--html", "FULL/c.html"], "/c.html"),
        (["export", "BUNDLE", "FULL/tables"], "/tables/"),
        (["capture-load", "FULL/log.json", "-o", "FULL/captured"], "/captured/load.capture"),
    ],
)
def test_a_full_disk_is_named_with_its_file_and_the_remedy(
    made: Lab, full: Path, arguments: list[str], named: str
) -> None:
    given = {
        "STUDY": str(small_study(made.folder)),
        "BUNDLE": str(made.bundle),
        "COPY": str(made.folder / "copy"),
    }
    # a program of this process sees the mount also where a test before gave this process mounts of its own
    lab = Lab(made.folder, prefix=("env",))
    done = lab.run(*(given.get(one, one.replace("FULL", str(full))) for one in arguments))
    assert done.returncode in (1, 2), done.stderr
    assert "Traceback" not in done.stderr
    assert f"{full}{named}" in done.stderr and "No space left on device" in done.stderr
    assert not (full / "b").exists()
    hint = done.stderr.partition("hint: ")[2]
    assert "free space there, or name another folder" in hint and "TMPDIR" in hint


def test_a_full_device_behind_standard_output_is_named() -> None:
    program = [sys.executable, "-c", "from steelyard.cli import main; main()", "studies"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2 and "error: standard output, or a file in" in done.stderr


@pytest.mark.parametrize("room_bytes", [0, 4096, 16384], ids=lambda room: f"{room >> 10} KiB free")
def test_an_import_that_finds_no_space_leaves_nothing(made: Lab, full: Path, room_bytes: int) -> None:
    fill = full / "fill"
    os.truncate(fill, fill.stat().st_size - room_bytes)
    before = sorted(full.iterdir())
    lab = Lab(made.folder, prefix=("env",))
    (made.folder / "p.txt").write_text(layouts.PGBENCH)
    done = lab.run("import", "p.txt", "-o", str(full / "i"))
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert f"{full}/i" in done.stderr and "No space left on device" in done.stderr
    assert "hint: free space there, or name another folder" in done.stderr
    assert sorted(full.iterdir()) == before
