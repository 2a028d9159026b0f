"""Damage to a bundle: what is wrong is named, what is whole is read, and nothing else is answered."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from laboratory import Lab, small_study
from made_bundles import finished_lab

from steelyard.analysis.judge import judge
from steelyard.bundle.reader import Bundle


def left_out(path: Path) -> list[str]:
    """What the report says is left out, once it says it to everybody: in the table as well."""
    notices = [n for n in judge(Bundle(path).evidence()).notices if n.code.endswith(("left-out", "missing"))]
    rows = Bundle(path).duckdb.execute("select code, text from notices where run = 0").fetchall()
    assert sorted(rows) == sorted((notice.code, notice.text) for notice in notices)
    return [notice.text for notice in notices]


def used(path: Path) -> list[int]:
    return Bundle(path).evidence().view("runs")["run"].tolist()


def flipped(place: Path) -> None:
    content = bytearray(place.read_bytes())
    content[len(content) // 2] ^= 1
    place.write_bytes(content)


@pytest.fixture
def made() -> Iterator[Lab]:
    with finished_lab() as lab:
        yield lab


def test_resume_runs_a_block_again_that_lost_a_run(made: Lab) -> None:
    lab = made
    flipped(lab.bundle / "runs" / "0002" / "throughput.parquet")
    shutil.rmtree(lab.bundle / "runs" / "0003")
    assert lab.run("resume", lab.bundle).returncode == 0
    assert used(lab.bundle) == [5, 6, 7, 8]
    assert all("nothing is lost" in text for text in left_out(lab.bundle))
    rows = Bundle(lab.bundle).columns("select block, attempt, status from runs order by run")
    assert list(zip(*(column.tolist() for column in rows.values()), strict=True)) == [
        (1, 1, "done"),
        (1, 1, "damaged"),
        (2, 1, "done"),
        *[(1, 2, "done")] * 2,
        *[(2, 2, "done")] * 2,
    ]


def test_every_command_takes_a_bundle_whose_name_is_a_pattern(made: Lab) -> None:
    lab = made
    # the pattern finds the other one, and not itself
    path, other = lab.folder / "[ab]*=1.bundle", lab.folder / "b=1.bundle"
    assert lab.run("run", small_study(lab.folder, blocks=1), "--bundle", path).returncode == 0
    lab.bundle.rename(other)
    shutil.rmtree(path / "runs" / "0002")
    done = lab.run("resume", path)
    assert (done.returncode, used(path)) == (0, [2, 3]), done.stderr
    for command in (["report", path], ["compare", "--force", path, other], ["export", path, path / "out"]):
        assert lab.run(*command).returncode == 0
    asked = lab.run("sql", path, "select run from throughput group by run order by run", "--json")
    assert json.loads(asked.stdout) == [{"run": run} for run in (1, 2, 3)]
    assert (path / "out" / "runs.csv").read_text().count("\n") == 4
