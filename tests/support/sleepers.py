"""Sleeps of a PostgreSQL for its latches: a study that probes them, and what it finds on each build."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import servers
from laboratory import Lab

from steelyard import _core
from steelyard.bundle.reader import Bundle
from steelyard.host.kernel import new_group
from steelyard.lab.observe.latch_rows_postgres import OTHERS
from steelyard.subjects.postgres.binaries import embedded_bindir, installed_bindirs
from steelyard.subjects.postgres.facts import tranche_names

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


def unavailable(bundle: Bundle) -> list[str]:
    rows = bundle.duckdb.execute(
        "select distinct text from notices where code = 'probe-unavailable'"
    ).fetchall()
    return [str(text) for (text,) in rows if str(text).startswith(("latches", "gets"))]


def sleeps_for_the_log(lab: Lab, bindir: Path) -> None:
    bundle = run(lab, weighed(lab, bindir, ORDERS, clients=16, measure_s=1))
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


def reads_without_sleep(lab: Lab, bindir: Path) -> None:
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


def names_the_tranches(bindir: Path) -> None:
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


def gets_of_a_look_up(lab: Lab, bindir: Path) -> None:
    study = weighed(lab, bindir, LOOKUPS, clients=4, measure_s=0.3)
    study.write_text(study.read_text() + "\n[probes]\nlatch_count_s = 0.5\n")
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
