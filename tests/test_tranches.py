"""Sleeps for latches of a live PostgreSQL: of which latch, beside what the server says of itself."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

import servers
from laboratory import Lab
from steelyard import _core
from steelyard.bundle.reader import Bundle
from steelyard.host.kernel.uprobes import new_group, standing, take_away
from steelyard.lab.observe.latch_rows_postgres import OTHERS, Tranches
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects.postgres.binaries import embedded_bindir, installed_bindirs
from steelyard.subjects.postgres.lwlocks import tranche_names
from steelyard.subjects.postgres.workload_tables import load_statements
from steelyard.workloads import work_of

BUILDS = [*filter(None, [embedded_bindir()]), *installed_bindirs()]


def probed(program: Path | str, group: str) -> _core.Probe:
    return _core.Probe(json.dumps({"roots": [], "latches": {"program": str(program), "group": group}}))


def refusal() -> str:
    if not BUILDS:
        return "no PostgreSQL on this machine"
    it = probed(BUILDS[0] / "postgres", new_group())
    it.finish()
    return dict(it.refused).get("latches", "")


needs_uprobes = pytest.mark.skipif(bool(refusal()), reason=refusal() or "permitted")
each_build = pytest.mark.parametrize("bindir", BUILDS, ids=lambda bindir: bindir.parent.name)

STUDY = """\
name = "sleepers"
question = "For what do they sleep?"

[subject]
kind = "postgres"
bindir = "{bindir}"
settings = {{ fsync = {fsync} }}

[workload]
{workload}

[factors.handle]
scope = "client"
levels = {{ unnamed = "unnamed", named = "named" }}

[plan]
clients = [{clients}]
warm_up_s = 0.3
measure_s = {measure_s}
cool_down_s = 0.1
blocks = 1
turns = false

[monitors]
processes = 5
postgres-waits = 50
"""
ORDERS = 'kind = "orders"\nrows = 20000'
LOOKUPS = "rows = 1000"


def weighed(
    lab: Lab, bindir: Path, workload: str, clients: int, fsync: str = "true", measure_s: float = 2
) -> Path:
    study = lab.folder / "sleepers.toml"
    study.write_text(
        STUDY.format(bindir=bindir, workload=workload, clients=clients, fsync=fsync, measure_s=measure_s)
    )
    return study


def run(lab: Lab, study: Path) -> Bundle:
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    return Bundle(lab.bundle)


@needs_uprobes
@each_build
def test_who_commits_at_once_sleeps_for_the_write_of_the_log(lab: Lab, bindir: Path) -> None:
    bundle = run(lab, weighed(lab, bindir, ORDERS, clients=16))
    rows = bundle.duckdb.execute(
        "select latch, sleeps, wait_ns, octet_length(wait_histogram) > 0, gets, misses"
        " from latches where run = 1"
    ).fetchall()
    found = {latch: values for latch, *values in rows}
    sleeps, wait_ns, timed, gets, misses = found["WALWrite"]
    assert sleeps > 100 and wait_ns > 0 and timed
    assert (gets, misses) == (None, None)
    assert found[OTHERS][:2] == [0, 0]
    # what the server said of the same sleeps when it was asked now and then
    sampled = bundle.duckdb.execute(
        "select entity, max(value) from samples where monitor = 'postgres-waits' and entity like 'LWLock:%'"
        " and run = 1 group by entity having max(value) >= 5"
    ).fetchall()
    assert {entity.partition(":")[2] for entity, _ in sampled} <= found.keys()
    page = (bundle.path / "report.html").read_text()
    assert "Sleeps for the server" in page and "lower bound of misses" in page
    assert not unavailable(bundle)


@needs_uprobes
@each_build
def test_who_reads_alone_does_not_sleep_and_that_is_told(lab: Lab, bindir: Path) -> None:
    bundle = run(lab, weighed(lab, bindir, LOOKUPS, clients=1, measure_s=1))
    ((rows, sleeps),) = bundle.duckdb.execute(
        "select count(*) filter (latch = 'other latches' and sleeps = 0), sum(sleeps) from latches"
    ).fetchall()
    ((done,),) = bundle.duckdb.execute(
        "select sum(count) from throughput where statement = 'transaction' and second >= 0"
    ).fetchall()
    assert rows == 2 and done > 100
    # the server's own processes and the monitors' sessions may be in the way once
    assert sleeps <= done / 1000
    assert not unavailable(bundle)


def unavailable(bundle: Bundle) -> list[str]:
    rows = bundle.duckdb.execute(
        "select distinct text from notices where code = 'probe-unavailable'"
    ).fetchall()
    return [str(text) for (text,) in rows if str(text).startswith(("latches", "gets"))]


@each_build
def test_names_are_those_of_the_server_itself(bindir: Path) -> None:
    with servers.postgres(bindir) as server, server.connect() as connection:
        names = tranche_names(connection.info.backend_pid)
        # src/backend/storage/lmgr/lwlocknames.txt, the same in all versions
        assert (names[4], names[8], names[9]) == ("ProcArray", "WALWrite", "ControlFile")
        if connection.info.server_version < 160000:
            # src/include/storage/lwlock.h of PostgreSQL 15
            assert (names[55], names[56], names[60]) == ("WALInsert", "BufferContent", "BufferMapping")
            assert max(names) < 100
        if connection.info.server_version >= 170000:
            told = server.ask("select string_agg(name, ' ') from pg_wait_events where type = 'LWLock'")
            # from a database without an encoding text comes as bytes
            assert set(names.values()) == set(told.decode().split())


@needs_uprobes
def test_after_kill_9_no_probe_of_ours_stays_in_the_kernel(lab: Lab) -> None:
    study = weighed(lab, BUILDS[0], LOOKUPS, clients=2, measure_s=60)
    process = lab.start("run", study, "--bundle", lab.bundle)
    group = f"steelyard_{process.pid}_"
    lab.wait_for(lambda: has_probes(group), "probes in the kernel")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    lab.wait_for(lambda: not has_probes(group), "no probes any more")
    lab.wait_for(lambda: not lab.ours(), "nothing of ours")


def has_probes(beginning: str) -> bool:
    for place in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"):
        if (file := Path(place) / "uprobe_events").exists():
            return f":{beginning}" in file.read_text()
    return False


@needs_uprobes
def test_what_a_killed_process_left_is_taken_away_by_its_name() -> None:
    group = new_group()
    plan = {"roots": [], "latches": {"program": str(BUILDS[0] / "postgres"), "group": group}}
    body = (
        "import json, os, signal, sys\nfrom steelyard import _core\n"
        "it = _core.Probe(sys.argv[1])\nassert not it.refused\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", body, json.dumps(plan)], check=False)
    assert len(standing(group)) == 2
    take_away(group)
    assert standing(group) == []


@needs_uprobes
def test_a_program_is_probed_wherever_it_lies_and_left_as_it_was(tmp_path: Path) -> None:
    place = tmp_path / "a folder"
    place.mkdir()
    program = shutil.copy(BUILDS[0] / "postgres", place)
    group = new_group()
    it = probed(program, group)
    assert not it.refused
    assert len(standing(group)) == 2
    it.finish()
    assert standing(group) == []


@needs_uprobes
def test_a_program_that_is_no_postgres_is_refused_by_the_name_that_it_lacks() -> None:
    (refused,) = probed(sys.executable, new_group()).refused
    assert refused[0] == "latches"
    assert "has no symbol PGSemaphoreLock" in refused[1]
    (missing,) = probed(f"/nowhere/{uuid4().hex}", new_group()).refused
    assert "/nowhere/" in missing[1]


def test_sleeps_that_were_missed_are_not_told_as_none() -> None:
    quiet = Tranches(os.getpid(), "group", tranche_names)
    quiet.measured(0)
    nobody = {name: [] for name in ("point", "role", "event", "sleeps", "wait_ns", "wait_histogram_base64")}
    quiet.take(nobody, {name: [] for name in ("point", "role", "tranche", "gets")}, ())
    quiet.compare(sampled(3))
    assert quiet.rows()["sleeps"] == [0] and not list(quiet.notices())
    quiet.compare(sampled(40))
    assert quiet.rows()["sleeps"] == []
    ((_, told),) = quiet.notices()
    assert "this build sleeps elsewhere" in told


GETS = {
    "point": [0, 0, 1],
    "role": ["server", "engine", "server"],
    "tranche": [56, 56, 56],
    "gets": [310, 31, 62],
}
COUNTED = {
    "phases": {"point": [0, 1], "phase": ["latch-count", "latch-count"], "start_ns": [1000, 5000]},
    "asides": {"point": [0, 1], "phase": ["latch-count", "latch-count"], "transactions": [100, 20]},
}
SLEPT = ("point", "role", "event", "sleeps", "wait_ns", "wait_histogram_base64")


def test_gets_stand_beside_sleeps_that_could_not_be_had():
    it = Tranches(os.getpid(), "group", tranche_names, gets=True)
    it.measured(0)
    it.take({name: [] for name in SLEPT}, GETS, [("latches", "no symbol")], {0: 900, 1: 4000})
    it.relate(COUNTED)
    assert it.gets() == {
        "point": [0, 1],
        "latch": ["tranche 56"] * 2,
        "gets": [310, 62],
        "transactions": [100, 20],
    }
    # not looked at, which is not none
    assert (it.rows()["latch"], it.rows()["sleeps"]) == (["tranche 56"] * 2, [None] * 2)


def test_gets_of_a_load_that_began_before_the_breakpoints_were_there_are_left_out():
    it = Tranches(os.getpid(), "group", tranche_names, gets=True)
    it.take({name: [] for name in SLEPT}, GETS, (), {0: 900, 1: 5001})
    it.relate(COUNTED)
    assert it.gets()["point"] == [0]
    assert any("before all breakpoints" in text for _, text in it.notices())


def test_who_asks_for_gets_alone_has_no_sleeps_probed():
    plan = Tranches(os.getpid(), "group", tranche_names, sleeps=False, gets=True).plan()
    assert plan is not None and (plan["sleeps"], plan["gets"]) == (False, True)


def sampled(waits: float) -> dict[str, list[object]]:
    """As the monitor reads: totals that grow."""
    return {
        "monitor": ["postgres-waits"] * 3,
        "entity": ["LWLock:WALWrite", "LWLock:WALWrite", "IO:WALSync"],
        "metric": ["samples_total"] * 3,
        "value": [1.0, waits, 1000.0],
    }


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can give up capabilities"
)
def test_without_rights_the_waits_stay_sampled_and_the_reason_is_told(lab: Lab) -> None:
    if int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) < 1:
        pytest.skip("perf_event_paranoid lets everybody look at all CPUs")
    bare = Lab(lab.folder, prefix=("setpriv", "--bounding-set=-perfmon,-sys_admin"))
    bundle = run(bare, weighed(lab, BUILDS[0], ORDERS, clients=8))
    (told,) = unavailable(bundle)
    # where tracefs is not mounted, that is the first thing missing
    assert "perf_event_open" in told or "tracefs" in told
    assert bundle.duckdb.execute("select count(*) from latches").fetchall() == [(0,)]
    ((sampled,),) = bundle.duckdb.execute(
        "select count(*) from samples where monitor = 'postgres-waits'"
    ).fetchall()
    assert sampled > 0


def test_a_server_that_is_not_ours_is_not_probed_and_the_report_says_so(lab: Lab) -> None:
    with servers.postgres() as server:
        study = weighed(lab, Path("unused"), LOOKUPS, clients=1, measure_s=0.5)
        dsn = f"postgresql://postgres@/postgres?host={server.folder}&port={server.port}"
        study.write_text(
            study.read_text()
            .replace('bindir = "unused"', f'dsn = "{dsn}"')
            .replace("settings = { fsync = true }\n", "")
        )
        with server.connect() as connection:
            connection.execute("drop table item")
            for statement in load_statements(work_of(StatementWorkload(rows=1000))):
                connection.execute(statement.encode())
        bundle = run(lab, study)
    (told,) = unavailable(bundle)
    assert "at an address" in told


@needs_uprobes
@each_build
def test_gets_are_those_that_a_look_up_takes(lab: Lab, bindir: Path) -> None:
    study = weighed(lab, bindir, LOOKUPS, clients=4, measure_s=0.5)
    study.write_text(study.read_text() + "\n[probes]\nlatch_count_s = 1\n")
    bundle = run(lab, study)
    gets = dict(
        bundle.duckdb.execute(
            "select latch, gets / transactions from latch_gets join used_runs using (run)"
            " where option = 'named'"
        ).fetchall()
    )
    # the root of the index, its leaf, the row: each page is found in the table of pages, and latched
    assert gets["BufferMapping"] == pytest.approx(3, rel=0.1)
    assert gets["BufferContent"] == pytest.approx(3, rel=0.1)
    ((phases,),) = bundle.duckdb.execute("select count(*) from phases where phase = 'latch-count'").fetchall()
    assert phases == 2
    # what is counted apart is no counter of the measured phase
    assert bundle.duckdb.execute("select count(gets), count(misses) from latches").fetchall() == [(0, 0)]
    page = (bundle.path / "report.html").read_text()
    assert "Gets were counted by sampling" in page and "gets per transaction" in page
    assert not unavailable(bundle)


@needs_uprobes
def test_gets_cost_nothing_outside_their_windows() -> None:
    group = new_group()
    with servers.postgres(BUILDS[0]) as server, server.connect() as connection:
        latches = {"program": str(BUILDS[0] / "postgres"), "group": group, "gets": True}
        roots = [{"pid": connection.info.backend_pid, "role": "server"}]
        it = _core.Probe(json.dumps({"roots": roots, "latches": latches}))
        it.open("measure", 0, 0, 2**63)
        connection.execute(b"select count(*) from pg_class")
        it.close()
        assert hits(group) == 0
        it.open("latch-count", 0, 0, 2**63)
        for _ in range(50):
            connection.execute(b"select count(*) from pg_class")
        it.close()
        counted = hits(group)
        connection.execute(b"select count(*) from pg_class")
        assert hits(group) == counted > 1000
        result = json.loads(it.finish() or "{}")
    # one in 31 on each CPU; a reader that gets no CPU loses some
    found = sum(result["latch_gets"]["gets"]) + 31 * result["lost"]
    assert found == pytest.approx(counted, abs=31 * (os.cpu_count() or 1))
    assert standing(group) == []


def hits(group: str) -> int:
    """How often the kernel met the breakpoint `get` of a group: Documentation/trace/uprobetracer.rst."""
    place = next(
        place
        for place in map(Path, ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"))
        if (place / "uprobe_profile").exists()
    )
    while True:
        # the profile has no groups, but the order of the events, unless somebody adds one meanwhile
        before, counts, after = (
            (place / name).read_text().splitlines()
            for name in ("uprobe_events", "uprobe_profile", "uprobe_events")
        )
        if before == after and len(counts) == len(before):
            pairs = zip(before, counts, strict=True)
            return sum(int(line.split()[-1]) for event, line in pairs if f":{group}/get " in event)
