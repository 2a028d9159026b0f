"""Whatever ends a study, finished runs stay readable and nothing of ours stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from laboratory import (
    ENGINE,
    Lab,
    nothing_left,
    small_study,
    with_dsn,
)
from made_bundles import interrupted_lab

from steelyard.bundle.reader import Bundle
from steelyard.bundle.storage.checksum import seal

NULL_SERVER = "stub_serve"


@pytest.fixture
def interrupted() -> Iterator[Lab]:
    with interrupted_lab() as made:
        yield made


def contents(folder: Path) -> dict[Path, bytes]:
    return {place: place.read_bytes() for place in folder.rglob("*") if place.is_file()}


def edit_environment(bundle: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Facts as another machine has them, under a right checksum."""
    place = bundle / "environment.json"
    kept = json.loads(place.read_text())
    change(kept)
    place.write_text(json.dumps(seal(kept)))


def test_ctrl_c_keeps_finished_runs_and_leaves_nothing_and_nobody_resumes_before(lab: Lab) -> None:
    process = lab.start("run", small_study(lab.folder, blocks=20, measure_s=1), "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.runs() >= 2 and lab.ours(ENGINE), "a third run under load")
    refused = lab.run("resume", lab.bundle)
    assert refused.returncode == 2
    assert "another steelyard process is writing to it" in refused.stderr
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert 0 <= err.index("interrupted: ending the run") < err.index(f"resume {lab.bundle}")
    assert err.count("interrupted") == 1
    lab.wait_for(lambda: nothing_left(lab), f"the end of {lab.ours()} {lab.traces()}")
    assert len(Bundle(lab.bundle).evidence().view("runs")["run"]) == lab.runs() >= 2


def test_a_run_that_was_announced_is_kept_after_kill_9(lab: Lab) -> None:
    process = lab.start("run", small_study(lab.folder, blocks=50), "--bundle", lab.bundle)
    assert process.stderr is not None
    while "2 of 100 runs" not in process.stderr.readline():
        assert process.poll() is None
    process.kill()
    process.communicate(timeout=60)
    assert len(Bundle(lab.bundle).evidence().view("runs")["run"]) >= 2


def test_kill_9_of_the_lab_stops_the_server_and_another_server_does_not_go_on(lab: Lab) -> None:
    study = small_study(lab.folder, subject="postgres", blocks=20, measure_s=1)
    process = lab.start("run", study, "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.runs() >= 1 and lab.ours(ENGINE), "a second run under load")
    assert lab.ours("postgres")
    process.kill()
    process.wait()
    lab.wait_for(lambda: nothing_left(lab), f"the end of {lab.ours()} {lab.traces()}")
    assert len(Bundle(lab.bundle).evidence().view("runs")["run"]) == lab.runs() >= 1

    def change(kept: dict[str, Any]) -> None:
        for server in kept["servers"].values():
            server["version"] = "7.4"

    now = Bundle(lab.bundle).environment["server"]["version"]
    edit_environment(lab.bundle, change)
    before = contents(lab.bundle)
    refused = lab.run("resume", lab.bundle)
    assert refused.returncode == 2
    assert f"server version: 7.4 before, {now} now" in refused.stderr
    assert contents(lab.bundle) == before
    lab.wait_for(lambda: nothing_left(lab), "the end of everything")


def test_an_interrupted_study_is_resumed_to_its_end(interrupted: Lab) -> None:
    done = interrupted.run("resume", interrupted.bundle)
    assert done.returncode == 0, done.stderr
    runs = Bundle(interrupted.bundle).evidence().view("runs")
    assert sorted(zip(runs["block"], runs["option"], strict=True)) == [
        (block, option) for block in (1, 2, 3) for option in ("named", "simple")
    ]


def test_a_study_edited_since_it_began_is_not_resumed(interrupted: Lab) -> None:
    study = interrupted.folder / "small.toml"
    study.write_text(study.read_text().replace("measure_s = 0.3", "measure_s = 0.4"))
    refused = interrupted.run("resume", interrupted.bundle, study)
    assert refused.returncode == 2
    assert "edited since the start" in refused.stderr


def test_a_bundle_from_another_machine_is_not_resumed(interrupted: Lab) -> None:
    whole = (interrupted.bundle / "environment.json").read_text()
    for group, fact, value in (
        ("cpu", "model", "Z80"),
        ("kernel", "release", "2.4.37"),
        ("placement", "server_cpus", [97, 98]),
        ("steelyard", "version", "0.0.1"),
    ):
        (interrupted.bundle / "environment.json").write_text(whole)
        now = json.loads(whole)[group][fact]
        edit_environment(
            interrupted.bundle, lambda kept, at=(group, fact), to=value: kept[at[0]].update({at[1]: to})
        )
        before = contents(interrupted.bundle)
        refused = interrupted.run("resume", interrupted.bundle)
        assert refused.returncode == 2
        assert f"{group} {fact.replace('_', ' ')}: {value} before, {now} now" in refused.stderr
        assert contents(interrupted.bundle) == before


def test_a_bundle_is_never_written_over(interrupted: Lab) -> None:
    before = contents(interrupted.bundle)
    again = interrupted.run("run", "small.toml", "--bundle", interrupted.bundle)
    assert again.returncode == 2
    assert "never overwritten" in again.stderr
    assert contents(interrupted.bundle) == before


def test_an_unreachable_address_is_bad_input_and_leaves_the_bundles_folder_as_it_was(lab: Lab) -> None:
    study = with_dsn(lab.folder, "postgresql://a@127.0.0.1:1/d")
    for mode in (None, 0o700):
        if mode:
            lab.bundle.mkdir(mode=mode)
        ended = lab.run("run", study, "--bundle", lab.bundle)
        assert ended.returncode == 2
        assert "subject.dsn" in ended.stderr
        assert "Traceback" not in ended.stderr
        assert lab.bundle.exists() == bool(mode)
    assert lab.bundle.stat().st_mode & 0o777 == 0o700
    assert not list(lab.bundle.iterdir())


def test_a_study_that_is_narrow_enough_runs_no_further_block_when_resumed(lab: Lab) -> None:
    study = small_study(lab.folder, blocks=9, measure_s=0.1)
    study.write_text(study.read_text().replace("[plan]", "[plan]\nstop = { half_width_percent = 1e6 }"))
    for done in (lab.run("run", study, "--bundle", lab.bundle), lab.run("resume", lab.bundle)):
        assert done.returncode == 0, done.stderr
        assert set(Bundle(lab.bundle).evidence().view("runs")["block"]) == {1, 2, 3, 4, 5}


def test_a_killed_engine_voids_its_run_and_the_block_is_redone(lab: Lab) -> None:
    study = small_study(lab.folder, blocks=1, measure_s=2)
    process = lab.start("run", study, "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.ours(ENGINE) and lab.ours(NULL_SERVER), "a run under load")
    os.kill(lab.ours(ENGINE)[0], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    rows = Bundle(lab.bundle).columns("select status, cause, attempt from runs order by run")
    assert list(rows["status"]) == ["void", "done", "done"]
    assert "SIGKILL" in rows["cause"][0]
    assert list(rows["attempt"]) == [1, 2, 2]
    lab.wait_for(lambda: nothing_left(lab), "the end of everything")


def test_a_server_that_fails_twice_fails_the_study(lab: Lab) -> None:
    study = small_study(lab.folder, blocks=1, measure_s=2)
    process = lab.start("run", study, "--bundle", lab.bundle)
    earlier: set[int] = set()
    for _ in range(2):
        known = frozenset(earlier)
        # one engine per option of the block
        lab.wait_for(lambda known=known: len(set(lab.ours(ENGINE)) - known) == 2, "load")
        engines = frozenset(lab.ours(ENGINE)) - known
        os.kill(min(engines), signal.SIGKILL)
        lab.wait_for(lambda engines=engines: not engines & set(lab.ours(ENGINE)), "the end of the attempt")
        earlier |= engines
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "failed twice" in err
    lab.wait_for(lambda: nothing_left(lab), "the end of everything")


def test_a_full_disk_ends_the_study_and_keeps_finished_runs(lab: Lab) -> None:
    disk = lab.folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a small file system needs root")
    try:
        study = small_study(lab.folder, blocks=50)
        ended = lab.run("run", study, "--bundle", disk / "b.bundle")
        assert ended.returncode == 1
        assert "could not be written" in ended.stderr
        assert "Traceback" not in ended.stderr
        assert (
            len(Bundle(disk / "b.bundle").evidence().view("runs")["run"])
            == len(list(disk.glob("b.bundle/runs/[0-9]*")))
            >= 1
        )
        assert not list(disk.glob("b.bundle/runs/.*.draft"))
        lab.wait_for(lambda: nothing_left(lab), "the end of everything")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_setting_that_the_server_does_not_take_fails_the_study_by_name(lab: Lab) -> None:
    # a server takes any name with a dot
    study = small_study(lab.folder, subject="postgres", blocks=1)
    settings = "{ 'pg_stat_statements.max' = 100 }"
    study.write_text(
        study.read_text().replace('kind = "postgres"', f'kind = "postgres"\nsettings = {settings}')
    )
    ended = lab.run("run", study, "--bundle", lab.bundle)
    assert ended.returncode == 2
    assert "subject.settings.pg_stat_statements.max: option simple: " in ended.stderr
    lab.wait_for(lambda: nothing_left(lab), "the end of everything")
