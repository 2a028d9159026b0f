"""Files that are written beside others: whole or not at all, in their folder, through nobody's link."""

from __future__ import annotations

import json
import resource
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from laboratory import Lab, small_study
from made_bundles import finished_lab


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.fixture(scope="module")
def made() -> Iterator[Lab]:
    """A finished study of the null subject."""
    with finished_lab(draws=True) as lab:
        yield lab


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="prlimit of util-linux is needed")
def test_a_page_that_does_not_fit_leaves_the_old_one_and_nothing_else(made: Lab) -> None:
    page = (made.bundle / "report.html").read_bytes()
    before = sorted(made.bundle.rglob("*"))
    small = Lab(made.folder, prefix=("prlimit", "--fsize=100000"), draws=True)
    done = small.run("report", made.bundle)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "report.html: the report could not be written: File too large" in done.stderr
    assert sorted(made.bundle.rglob("*")) == before
    assert (made.bundle / "report.html").read_bytes() == page
    # and the verdict is there all the same
    assert "Which way?" in done.stdout


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="prlimit of util-linux is needed")
def test_pictures_that_do_not_fit_end_in_a_sentence(made: Lab) -> None:
    small = Lab(made.folder, prefix=("prlimit", "--fsize=3000"), draws=True)
    done = small.run("report", made.bundle, "--images", made.folder / "pictures")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "cannot be written: File too large" in done.stderr
    assert not [name for name in names(made.folder / "pictures") if name.startswith(".")]


def test_a_bundle_s_own_files_are_not_written_through_a_link(made: Lab) -> None:
    theirs = made.folder / "theirs"
    theirs.write_text("precious")
    (made.bundle / ".report.html.part").symlink_to(theirs)
    assert made.run("report", made.bundle).returncode == 0
    assert theirs.read_text() == "precious"


def test_ctrl_c_while_the_page_is_drawn_leaves_the_old_one(made: Lab) -> None:
    page = made.bundle / "report.html"
    before, written_ns = page.read_bytes(), page.stat().st_mtime_ns
    process = made.start("report", made.bundle)
    assert process.stdout is not None
    # the verdict comes first, and then the page is drawn
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "interrupted" in err and "Traceback" not in err and "panic" not in err
    assert (page.read_bytes(), page.stat().st_mtime_ns) == (before, written_ns)


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="prlimit of util-linux is needed")
def test_a_study_has_as_many_open_files_as_the_hard_limit_permits(lab: Lab) -> None:
    hard = min(1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    few = Lab(lab.folder, prefix=("prlimit", f"--nofile=40:{hard}"))
    done = few.run("run", small_study(lab.folder, blocks=1), "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert json.loads((lab.bundle / "environment.json").read_text())["limits"]["open_files_soft"] == hard
