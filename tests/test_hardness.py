"""Whatever ends a study, finished runs stay readable and nothing of ours stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from laboratory import Lab, small_study, text_of
from steelyard.bundle.reader import Bundle
from steelyard.bundle.storage.checksum import seal
from steelyard.host.cpus.scheduling import tasks
from steelyard.host.processes.signals import Interrupts

ENGINE = "steelyard.lab.engines.process"
NULL_SERVER = "stub_serve"


def under_load(lab: Lab) -> bool:
    """Whether an engine's loop is running, all its clients connected."""
    return any(text_of(task, "comm").strip() == "load-0" for pid in lab.ours(ENGINE) for task in tasks(pid))


def nothing_left(lab: Lab) -> bool:
    return not lab.ours() and not lab.traces()


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_keeps_finished_runs_and_leaves_nothing(lab: Lab, kind: signal.Signals) -> None:
    study = small_study(lab.folder, blocks=20, measure_s=1)
    process = lab.start("run", study, "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.runs() >= 2 and lab.ours(ENGINE), "a third run under load")
    process.send_signal(kind)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert 0 <= err.index("interrupted: ending the run") < err.index(f"resume {lab.bundle}")
    assert err.count("interrupted") == 1
    lab.wait_for(lambda: nothing_left(lab), f"the end of {lab.ours()} {lab.traces()}")
    assert len(Bundle(lab.bundle).evidence().runs["run"]) == lab.runs() >= 2


def test_an_interrupt_is_one_whatever_a_library_makes_of_it() -> None:
    heard: list[str] = []
    with pytest.raises(KeyboardInterrupt), Interrupts(lambda: heard.append("first")).raised():
        try:
            # not SIGINT, which whoever runs in a background has ignored
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(10)
        except KeyboardInterrupt:
            # what DuckDB says when one falls into a query
            raise RuntimeError("Query interrupted") from None
    assert heard == ["first"]


def test_an_interrupt_within_a_finalizer_is_not_lost() -> None:
    class Finalized:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt), Interrupts().raised():
        Finalized()
        time.sleep(10)
        pytest.fail("the signal had no effect")


def test_an_interrupt_waits_until_what_is_written_is_written() -> None:
    written: list[str] = []
    interrupts = Interrupts()
    with pytest.raises(KeyboardInterrupt), interrupts.raised():
        with interrupts.held():
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
            written.append("all of it")
        written.append("and more")
    assert written == ["all of it"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_announced_is_kept(lab: Lab, number: signal.Signals) -> None:
    process = lab.start("run", small_study(lab.folder, blocks=50), "--bundle", lab.bundle)
    assert process.stderr is not None
    while "2 of 100 runs" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(number)
    process.communicate(timeout=60)
    assert len(Bundle(lab.bundle).evidence().runs["run"]) >= 2


def test_kill_9_of_the_lab_keeps_finished_runs_and_stops_the_server(lab: Lab) -> None:
    study = small_study(lab.folder, subject="postgres", blocks=20, measure_s=1)
    process = lab.start("run", study, "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.runs() >= 1 and lab.ours(ENGINE), "a second run under load")
    assert lab.ours("postgres")
    process.kill()
    process.wait()
    lab.wait_for(lambda: nothing_left(lab), f"the end of {lab.ours()} {lab.traces()}")
    assert len(Bundle(lab.bundle).evidence().runs["run"]) == lab.runs() >= 1


def test_an_interrupted_study_is_resumed_to_its_end(lab: Lab) -> None:
    study = small_study(lab.folder, blocks=3)
    process = lab.start("run", study, "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.runs() >= 3, "half of the second block")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    done = lab.run("resume", lab.bundle)
    assert done.returncode == 0, done.stderr
    runs = Bundle(lab.bundle).evidence().runs
    assert sorted(zip(runs["block"], runs["option"], strict=True)) == [
        (block, option) for block in (1, 2, 3) for option in ("named", "simple")
    ]


def test_a_study_edited_since_it_began_is_not_resumed(lab: Lab) -> None:
    study = small_study(lab.folder, blocks=1)
    assert lab.run("run", study, "--bundle", lab.bundle).returncode == 0
    study.write_text(study.read_text().replace("measure_s = 0.3", "measure_s = 0.4"))
    refused = lab.run("resume", lab.bundle, study)
    assert refused.returncode == 2
    assert "edited since the start" in refused.stderr


def interrupted(lab: Lab, study: Path) -> None:
    process = lab.start("run", study, "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.runs() >= 2, "the second run")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


def contents(folder: Path) -> dict[Path, bytes]:
    return {place: place.read_bytes() for place in folder.rglob("*") if place.is_file()}


@pytest.mark.parametrize(
    ("group", "fact", "value"),
    [
        ("cpu", "model", "Z80"),
        ("kernel", "release", "2.4.37"),
        ("placement", "server_cpus", [97, 98]),
        ("steelyard", "version", "0.0.1"),
    ],
)
def test_a_bundle_from_another_machine_is_not_resumed(lab: Lab, group: str, fact: str, value: object) -> None:
    interrupted(lab, small_study(lab.folder, blocks=20))
    place = lab.bundle / "environment.json"
    kept = json.loads(place.read_text())
    now = kept[group][fact]
    kept[group][fact] = value
    place.write_text(json.dumps(seal(kept)))
    before = contents(lab.bundle)
    refused = lab.run("resume", lab.bundle)
    assert refused.returncode == 2
    assert f"{group} {fact.replace('_', ' ')}: {value} before, {now} now" in refused.stderr
    assert contents(lab.bundle) == before


def test_a_bundle_of_another_server_is_not_resumed(lab: Lab) -> None:
    interrupted(lab, small_study(lab.folder, subject="postgres", blocks=20))
    place = lab.bundle / "environment.json"
    kept = json.loads(place.read_text())
    now = kept["server"]["version"]
    for server in kept["servers"].values():
        server["version"] = "7.4"
    place.write_text(json.dumps(seal(kept)))
    before = contents(lab.bundle)
    refused = lab.run("resume", lab.bundle)
    assert refused.returncode == 2
    assert f"server version: 7.4 before, {now} now" in refused.stderr
    assert contents(lab.bundle) == before
    lab.wait_for(lambda: nothing_left(lab), "the end of everything")


def test_a_bundle_that_is_being_written_is_not_resumed(lab: Lab) -> None:
    process = lab.start("run", small_study(lab.folder, blocks=50), "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.runs() >= 1, "a first run")
    refused = lab.run("resume", lab.bundle)
    assert refused.returncode == 2
    assert "another steelyard process is writing to it" in refused.stderr
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 3


def test_a_study_that_is_narrow_enough_runs_no_further_block_when_resumed(lab: Lab) -> None:
    study = small_study(lab.folder, blocks=9, measure_s=0.1)
    study.write_text(study.read_text().replace("[plan]", "[plan]\nstop = { half_width_percent = 1e6 }"))
    for command in (("run", study, "--bundle", lab.bundle), ("resume", lab.bundle)):
        done = lab.run(*command)
        assert done.returncode == 0, done.stderr
        assert set(Bundle(lab.bundle).evidence().runs["block"]) == {1, 2, 3, 4, 5}


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


def test_a_crashed_server_voids_its_run_and_its_last_words_are_kept(lab: Lab) -> None:
    study = small_study(lab.folder, subject="postgres", blocks=1, measure_s=3)
    process = lab.start("run", study, "--bundle", lab.bundle)
    lab.wait_for(lambda: under_load(lab), "a run under load")
    postmaster = next(pid for pid in lab.ours("postgres -D") if parent_is_not_postgres(pid))
    os.kill(postmaster, signal.SIGKILL)
    _, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    rows = Bundle(lab.bundle).columns("select status, cause from runs order by run")
    assert list(rows["status"]) == ["void", "done", "done"]
    assert "connections were lost" in rows["cause"][0]
    assert "ready to accept connections" in (lab.bundle / "logs" / "0001.log").read_text()
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


def parent_is_not_postgres(pid: int) -> bool:
    # a backend may have gone since it was listed
    words = text_of(pid, "stat").rpartition(")")[2].split()
    return bool(words) and "postgres" not in text_of(int(words[1]), "comm")


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
            len(Bundle(disk / "b.bundle").evidence().runs["run"])
            == len(list(disk.glob("b.bundle/runs/[0-9]*")))
            >= 1
        )
        assert not list(disk.glob("b.bundle/runs/.*.draft"))
        lab.wait_for(lambda: nothing_left(lab), "the end of everything")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def with_dsn(folder: Path, dsn: str) -> Path:
    study = small_study(folder, subject="postgres")
    study.write_text(study.read_text().replace('kind = "postgres"', f'kind = "postgres"\ndsn = "{dsn}"'))
    return study


def test_an_unreachable_address_is_bad_input(lab: Lab) -> None:
    ended = lab.run("run", with_dsn(lab.folder, "postgresql://a@127.0.0.1:1/d"), "--bundle", lab.bundle)
    assert ended.returncode == 2
    assert "subject.dsn" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not lab.bundle.exists()


def test_a_folder_that_was_there_before_stays_when_the_input_is_bad(lab: Lab) -> None:
    lab.bundle.mkdir(mode=0o700)
    ended = lab.run("run", with_dsn(lab.folder, "postgresql://a@127.0.0.1:1/d"), "--bundle", lab.bundle)
    assert ended.returncode == 2
    assert lab.bundle.stat().st_mode & 0o777 == 0o700
    assert not list(lab.bundle.iterdir())


def test_a_bundle_is_never_written_over(lab: Lab) -> None:
    study = small_study(lab.folder, blocks=1)
    assert lab.run("run", study, "--bundle", lab.bundle).returncode == 0
    before = (lab.bundle / "bundle.json").read_text()
    again = lab.run("run", study, "--bundle", lab.bundle)
    assert again.returncode == 2
    assert "never overwritten" in again.stderr
    assert (lab.bundle / "bundle.json").read_text() == before


def test_a_setting_that_the_server_does_not_take_fails_the_study_by_name(lab: Lab) -> None:
    # a server takes any name with a dot; whether it has it shows only when it runs
    study = small_study(lab.folder, subject="postgres", blocks=1)
    settings = "{ 'pg_stat_statements.max' = 100 }"
    study.write_text(
        study.read_text().replace('kind = "postgres"', f'kind = "postgres"\nsettings = {settings}')
    )
    ended = lab.run("run", study, "--bundle", lab.bundle)
    assert ended.returncode == 1
    assert "pg_stat_statements.max" in ended.stderr
    lab.wait_for(lambda: nothing_left(lab), "the end of everything")
