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
from sleepers import (
    BUILDS,
    LOOKUPS,
    ORDERS,
    gets_of_a_look_up,
    names_the_tranches,
    needs_uprobes,
    probed,
    run,
    sleeps_for_the_log,
    unavailable,
    weighed,
)

from steelyard import _core
from steelyard.host.kernel import new_group, standing, take_away
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects.postgres.workload_tables import load_statements
from steelyard.workloads import work_of


@needs_uprobes
def test_who_commits_at_once_sleeps_for_the_write_of_the_log(lab: Lab) -> None:
    sleeps_for_the_log(lab, BUILDS[0])


@pytest.mark.skipif(not BUILDS, reason="no PostgreSQL on this machine")
def test_names_are_those_of_the_server_itself() -> None:
    names_the_tranches(BUILDS[0])


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


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can give up capabilities"
)
def test_without_rights_the_waits_stay_sampled_and_the_reason_is_told(lab: Lab) -> None:
    if int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) < 1:
        pytest.skip("perf_event_paranoid lets everybody look at all CPUs")
    bare = Lab(lab.folder, prefix=("setpriv", "--bounding-set=-perfmon,-sys_admin"))
    bundle = run(bare, weighed(lab, BUILDS[0], ORDERS, clients=2, measure_s=0.5))
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
def test_gets_are_those_that_a_look_up_takes(lab: Lab) -> None:
    gets_of_a_look_up(lab, BUILDS[0])


@needs_uprobes
def test_gets_cost_nothing_outside_their_windows() -> None:
    group = new_group()
    with servers.postgres(BUILDS[0]) as server, server.connect() as connection:
        latches = {"program": str(BUILDS[0] / "postgres"), "group": group, "gets": True}
        roots = [{"pid": connection.info.backend_pid, "role": "server"}]
        it = _core.Probe(json.dumps({"roots": roots, "latches": latches}))
        # other processes of the program may meet it before it is off
        before = hits(group)
        it.open("measure", 0, 0, 2**63)
        connection.execute(b"select count(*) from pg_class")
        it.close()
        assert hits(group) == before
        it.open("latch-count", 0, 0, 2**63)
        for _ in range(50):
            connection.execute(b"select count(*) from pg_class")
        it.close()
        counted = hits(group)
        connection.execute(b"select count(*) from pg_class")
        assert hits(group) == counted > 1000
        result = json.loads(it.finish() or "{}")
    # one in 31 on each CPU; a reader without a CPU loses some, and the kernel counts other servers too
    found = sum(result["latch_gets"]["gets"]) + 31 * result["lost"]
    assert 0.5 * counted < found < counted + 31 * (os.cpu_count() or 1)
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
