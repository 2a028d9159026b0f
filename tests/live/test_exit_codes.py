"""How commands end: a message and a documented code, never a traceback."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from laboratory import Lab, small_study
from made_bundles import finished_lab

import steelyard

ENDLESS = "select count(*) from range(100000000000) a, range(1000) b"


@pytest.fixture(scope="module")
def made() -> Iterator[Lab]:
    """A finished study of the null subject."""
    with finished_lab() as lab:
        yield lab


@pytest.fixture
def copy(made: Lab, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made.bundle, tmp_path / "copy.bundle"))


def test_a_report_that_cannot_write_its_page_exits_with_1(made: Lab) -> None:
    done = made.run("report", made.bundle, "--html", made.folder / "nowhere" / "page.html")
    assert done.returncode == 1
    assert "the report could not be written: No such file or directory" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_study_whose_page_cannot_be_written_exits_with_1_and_prints_its_verdict(
    made: Lab, copy: Path
) -> None:
    (copy / "report.html").unlink()
    (copy / "report.html").mkdir()
    done = made.run("resume", copy)
    assert done.returncode == 1
    assert "the report could not be written" in done.stderr
    assert "Which way?" in done.stdout


def truncated(bundle: Path) -> None:
    place = bundle / "runs" / "0002" / "throughput.parquet"
    os.truncate(place, place.stat().st_size // 2)


def every_table_truncated(bundle: Path) -> None:
    for place in bundle.glob("runs/*/*.parquet"):
        os.truncate(place, place.stat().st_size // 2)


def without_runs(bundle: Path) -> None:
    shutil.rmtree(bundle / "runs")


def without_environment(bundle: Path) -> None:
    (bundle / "environment.json").unlink()


def without_study(bundle: Path) -> None:
    (bundle / "study.toml").unlink()


@pytest.mark.parametrize(
    ("damage", "codes"),
    [
        (truncated, {0}),
        (every_table_truncated, {0, 2}),
        (without_runs, {2}),
        (without_environment, {2}),
        (without_study, {2}),
    ],
)
def test_a_damaged_bundle_gets_a_message(made: Lab, copy: Path, damage: object, codes: set[int]) -> None:
    assert callable(damage)
    damage(copy)
    for command in (
        ["report", copy, "--json"],
        ["sql", copy, "select count(*) from runs", "--json"],
        ["export", copy, copy / "out"],
        ["compare", "--force", made.bundle, copy, "--json"],
    ):
        done = made.run(*command)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode in codes, done.stderr
        # a verdict names what it leaves out itself
        assert "copy.bundle" in done.stderr or "does not count" in done.stdout


def interrupted(process: subprocess.Popen[str]) -> tuple[int, str]:
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


def test_ctrl_c_while_modules_are_imported_ends_with_a_message(made: Lab) -> None:
    # an import that never ends stands for a slow one: Ctrl-C comes before click has run
    stub = made.folder / "slow" / "click"
    stub.mkdir(parents=True)
    (stub / "__init__.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(600)\n")
    source = Path(steelyard.__file__).parent.parent
    process = made.start("studies", PYTHONPATH=f"{stub.parent}:{source}")
    assert process.stdout is not None
    assert process.stdout.readline() == "importing\n"
    assert interrupted(process) == (3, "error: interrupted\n")


def test_ctrl_c_in_a_long_query_ends_with_a_message(made: Lab) -> None:
    process = made.start("sql", made.bundle, ENDLESS)

    def working() -> bool:
        # the query keeps several threads busy, whatever the imports do before
        stat = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(stat[11]) + int(stat[12]) > 2 * os.sysconf("SC_CLK_TCK")

    made.wait_for(working, "a query at work", seconds=120)
    code, message = interrupted(process)
    assert (code, message.strip()) == (3, "error: interrupted")


@pytest.mark.parametrize("how", [(), ("--dry-run",)])
def test_a_tmpdir_that_does_not_exist_is_an_error(made: Lab, how: tuple[str, ...]) -> None:
    nowhere = str(made.folder / "nowhere")
    done = made.run("run", "overhead", *how, "--bundle", made.folder / "t.bundle", TMPDIR=nowhere)
    assert done.returncode == 2
    assert f"error: TMPDIR: {nowhere}: no such folder\nhint: create it, or unset TMPDIR\n" in done.stderr
    assert not (made.folder / "t.bundle").exists()


def test_a_server_that_cannot_start_names_its_option(lab: Lab) -> None:
    study = small_study(lab.folder, subject="postgres")
    text = study.read_text().replace('scope = "client"', 'scope = "server"\nsetting = "shared_buffers"')
    # accepted as a setting, and more memory than there is
    study.write_text(text.replace('simple = "none", named = "named"', 'small = "16MB", huge = "7TB"'))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 2
    assert "factors.handle.levels.huge: option huge: PostgreSQL did not start: " in done.stderr
    assert not lab.bundle.exists()


def test_resuming_a_finished_bundle_says_so(made: Lab, copy: Path) -> None:
    done = made.run("resume", copy)
    assert done.returncode == 0
    assert f"{copy}: this study is finished: nothing is left to run" in done.stderr
    assert "Which way?" in done.stdout


def test_resuming_an_unfinished_bundle_does_not(made: Lab, copy: Path) -> None:
    shutil.rmtree(copy / "runs" / "0004")
    done = made.run("resume", copy)
    assert done.returncode == 0, done.stderr
    assert "finished" not in done.stderr


def test_the_next_command_after_one_option_is_to_compare_it(lab: Lab) -> None:
    study = small_study(lab.folder, subject="sqlite", blocks=1)
    head, _, rest = study.read_text().partition("[factors.handle]")
    study.write_text(f"{head}[plan]{rest.partition('[plan]')[2]}")
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert f" compare {lab.bundle} OTHER.bundle\n" in done.stdout.splitlines(keepends=True)[-1]
