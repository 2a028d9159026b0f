"""Data directories of new servers are made once, kept in the user's cache, and copied after that."""

from __future__ import annotations

import os
import shutil
import signal
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest
from laboratory import ENGINE, Lab, made_lab, small_study
from needs import needs, needs_root

from steelyard.host.cpus.scheduling import place
from steelyard.host.processes.guard import Guard
from steelyard.study.load_study import plan_study
from steelyard.subjects import Bench
from steelyard.subjects.mariadb.data_directory import beside, find_server
from steelyard.subjects.postgres.binaries import embedded_bindir, installed_bindirs, reachable
from steelyard.subjects.postgres.cluster import make_cluster
from steelyard.subjects.servers.daemon import Daemon
from steelyard.workflow.exit_codes import Exit

STUDY = """\
name = "s"
question = "?"
[subject]
kind = "postgres"
[factors.memory]
scope = "server"
levels = { less = {}, more = { work_mem = "8MB" } }
"""


class Clusters:
    """Makes clusters as a study does, each in a folder of its own; the cache is in `folder`."""

    def __init__(self, folder: Path, guard: Guard) -> None:
        found = next(iter(installed_bindirs()), None) or embedded_bindir()
        if found is None:
            pytest.skip("no PostgreSQL on this machine")
        study, options = plan_study(STUDY, "study.toml")
        self.bench = Bench(study, options, {}, folder, place(1, False), guard)
        self.folder = folder
        self.bindir = reachable(found)
        self.daemon = Daemon(self.bench, "PostgreSQL", "server.log", "socket", 5432)
        self.numbers = count(1)

    def make(self, *options: str) -> Path:
        data = self.folder / f"data{next(self.numbers)}"
        make_cluster(self.daemon, self.bindir, data, options)
        return data

    def new(self) -> int:
        """The identifier of another cluster: each one that initdb makes has its own."""
        data = self.make()
        found = identifier(data)
        shutil.rmtree(data)
        return found

    @property
    def templates(self) -> list[Path]:
        return sorted((self.folder / "cache" / "steelyard" / "templates").iterdir())


def identifier(data: Path) -> int:
    # the first field of struct ControlFileData
    return struct.unpack("Q", (data / "global" / "pg_control").read_bytes()[:8])[0]


@pytest.fixture(scope="module")
def clusters() -> Iterator[Clusters]:
    with made_lab() as lab, Guard() as guard, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(lab.folder / "cache"))
        yield Clusters(lab.folder, guard)


def programs(subject: str, folder: Path) -> str:
    """A folder of the server's programs, whose maker of data directories fails where NOT_AGAIN is set."""
    if subject == "postgres":
        maker = reachable(embedded_bindir() or installed_bindirs()[0]) / "initdb"
        others = [place for place in maker.parent.iterdir() if place != maker]
    else:
        needs("MariaDB")
        others = [find_server(None)]
        maker = beside(others[0], "mariadb-install-db")
    folder.mkdir()
    for other in others:
        (folder / other.name).symlink_to(other)
    script = folder / maker.name
    script.write_text(
        f'#!/bin/sh\n[ -z "$NOT_AGAIN" ] || {{ echo "made again" >&2; exit 1; }}\nexec {maker} "$@"\n'
    )
    script.chmod(0o755)
    return maker.name


def loads(lab: Lab, study: Path, **environment: str) -> None:
    """Runs the study until its server is under load."""
    started = lab.start("run", study, "--bundle", lab.folder / f"{len(lab.processes)}.bundle", **environment)
    lab.wait_for(lambda: lab.ours(ENGINE) or started.poll() is not None, "a run under load")
    started.send_signal(signal.SIGINT)
    _, told = started.communicate()
    assert started.returncode == Exit.INTERRUPTED, told


@pytest.mark.parametrize("subject", ["postgres", "mariadb"])
def test_the_second_study_copies_the_data_directory_that_the_first_one_made(lab: Lab, subject: str) -> None:
    maker = programs(subject, lab.folder / "bin")
    study = small_study(lab.folder, subject, blocks=1, measure_s=0.1)
    study.write_text(study.read_text().replace("[subject]", f'[subject]\nbindir = "{lab.folder}/bin"'))
    cache = {"XDG_CACHE_HOME": str(lab.folder)}
    failed = lab.run("run", study, "--bundle", lab.folder / "0.bundle", NOT_AGAIN="1", **cache)
    assert failed.returncode == 2 and f"{maker} failed: made again" in failed.stderr
    loads(lab, study, NOT_AGAIN="", **cache)
    loads(lab, study, NOT_AGAIN="1", **cache)
    assert len(list((lab.folder / "steelyard" / "templates").iterdir())) == 1


def test_a_copy_is_like_the_original_and_a_change_of_one_leaves_the_next(clusters: Clusters) -> None:
    first, second = clusters.make(), clusters.make()
    assert identifier(first) == identifier(second)
    for cluster in (first, second):
        assert (cluster.stat().st_mode & 0o777, cluster.owner()) == (0o700, clusters.daemon.account.owner)
        assert {place.owner() for place in cluster.rglob("*")} == {clusters.daemon.account.owner}
        assert not (cluster / "postmaster.pid").exists()
    assert {p.relative_to(first) for p in first.rglob("*")} == {
        p.relative_to(second) for p in second.rglob("*")
    }
    (second / "PG_VERSION").write_text("0")
    assert (clusters.make() / "PG_VERSION").read_bytes() == (first / "PG_VERSION").read_bytes()
    (template,) = clusters.templates
    assert template.stat().st_mode & 0o777 == 0o700


def truncate(template: Path) -> None:
    os.truncate(template / "data" / "base" / "1" / "1259", 8192)


def add_a_file(template: Path) -> None:
    (template / "data" / "postmaster.pid").write_text("1")


def open_the_data(template: Path) -> None:
    (template / "data").chmod(0o755)


def open_the_template(template: Path) -> None:
    template.chmod(0o777)


def spoil_the_list(template: Path) -> None:
    (template / "contents").write_bytes(b"\xff\0")


def give_to_another(template: Path) -> None:
    os.chown(template, 65534, 65534)


@pytest.mark.parametrize(
    "damage",
    [
        truncate,
        add_a_file,
        open_the_data,
        open_the_template,
        spoil_the_list,
        pytest.param(give_to_another, marks=needs_root),
    ],
)
def test_a_template_that_is_not_as_it_was_made_is_made_anew(
    clusters: Clusters, damage: Callable[[Path], None]
) -> None:
    clusters.new()
    (template,) = clusters.templates
    before = identifier(template / "data")
    damage(template)
    after = clusters.new()
    assert after != before
    assert clusters.new() == after
    assert clusters.templates == [template]


def test_a_cache_that_others_write_to_is_neither_read_nor_written(clusters: Clusters) -> None:
    before = clusters.new()
    (template,) = clusters.templates
    folder = template.parent
    folder.chmod(0o777)
    made = template.stat()
    assert clusters.new() != before
    assert template.stat() == made
    folder.chmod(0o700)
    assert clusters.new() == before
    moved = folder.rename(folder.with_name("moved"))
    folder.symlink_to(moved)
    assert clusters.new() != before
    folder.unlink()
    moved.rename(folder)


@needs_root
def test_root_with_the_home_of_another_user_writes_nothing_there(
    clusters: Clusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = clusters.folder / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME")
    clusters.new()
    assert not list(home.iterdir())


def test_where_no_cache_can_be_each_study_makes_its_own(
    clusters: Clusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/proc")
    made: list[int] = []
    for cache in ("/sys", "/proc/version", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", cache)
        made += [clusters.new()]
    assert len(set(made)) == 3
    assert not Path("relative").exists()


def test_two_studies_at_once_each_have_a_whole_one_and_leave_one_template(clusters: Clusters) -> None:
    shutil.rmtree(clusters.folder / "cache", ignore_errors=True)
    with ThreadPoolExecutor() as pool:
        made = [future.result() for future in [pool.submit(clusters.make) for _ in range(2)]]
    names = [{place.relative_to(cluster) for place in cluster.rglob("*")} for cluster in made]
    assert names[0] == names[1]
    assert len(clusters.templates) == 1
    assert clusters.new() in set(map(identifier, made))


def test_other_options_and_another_time_zone_have_another_template_and_eight_are_kept(
    clusters: Clusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = clusters.new()
    assert identifier(clusters.make("--wal-segsize=4")) != usual
    for number in range(8):
        old = clusters.templates[0].parent / f"old{number}"
        old.mkdir()
        os.utime(old, (number, number))
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert "timezone = 'Asia/Tokyo'" in (clusters.make() / "postgresql.conf").read_text()
    assert len(clusters.templates) == 8
    assert not {"old0", "old1", "old2"} & {place.name for place in clusters.templates}
    monkeypatch.delenv("TZ")
    assert clusters.new() == usual
