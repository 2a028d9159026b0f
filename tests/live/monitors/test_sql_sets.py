"""The sets of queries: those of PostgreSQL and MariaDB count what the servers' own monitors count."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
from live_postgres import Server
from mariadb_server import mariadb
from needs import needs

from steelyard.monitors import Monitor, Reader, Target, make
from steelyard.monitors.sql.monitor import QueryMonitor
from steelyard.monitors.sql.queries import shipped


def of_set(name: str) -> QueryMonitor:
    return QueryMonitor(name, shipped()[name])


def values(monitor: Reader, entity: str = "") -> Mapping[str, float]:
    return {metric: value for of, metric, value in monitor.read() if entity in ("", of)}


def test_the_sets_of_postgresql_count_what_its_monitor_counts(server: Server) -> None:
    own: Monitor = make("postgres")
    sets = {"database": of_set("postgres-database"), "wal": of_set("postgres-wal")}
    monitors: list[Reader] = [own, *sets.values()]
    target = server.target()
    try:
        for monitor in monitors:
            monitor.open(target)
        with server.connect() as connection:
            connection.execute("create table if not exists counted (id int)")
        time.sleep(0.2)
        before = [dict(values(one)) for one in monitors]
        with server.connect() as connection:
            for _ in range(200):
                connection.execute("insert into counted select generate_series(1, 10)")
        time.sleep(0.2)
        theirs = [dict(values(one)) for one in monitors]
    finally:
        for monitor in monitors:
            monitor.close()
    grown = [
        {name: after[name] - first[name] for name in after if name in first}
        for first, after in zip(before, theirs, strict=True)
    ]
    native, database, wal = grown
    assert database["rows_written_total"] == native["rows_written_total"] == 2000
    # each monitor's reading is a transaction as well, and a session publishes its commits up to 1 s late
    assert database["commits_total"] == pytest.approx(native["commits_total"], abs=30)
    assert wal["wal_bytes_total"] == pytest.approx(native["bytes_total"], rel=0.01, abs=20_000)


def test_the_sets_of_mariadb_count_what_its_monitors_count() -> None:
    needs("MariaDB")
    with mariadb("--performance-schema=on", "--performance-schema-instrument=wait/%=on") as server:
        target = Target(dsn=f"mysql://root@localhost/lab?socket={server.socket}")
        native, status = make("mariadb"), of_set("mariadb-status")
        theirs, latches = make("mariadb-latches"), of_set("mariadb-latches")
        monitors: list[Reader] = [native, status, theirs, latches]
        try:
            for monitor in monitors:
                monitor.open(target)
            before = [dict(values(one)) for one in (native, status)]
            for number in range(2000, 2100):
                server.ask(f"insert into lab.item values ({number}, 'x')")
            after = [dict(values(one)) for one in (native, status)]
            gets = [
                {entity: value for entity, metric, value in monitor.read() if metric == "gets_total"}
                for monitor in (theirs, latches)
            ]
        finally:
            for monitor in monitors:
                monitor.close()
    growth = [
        {name: last[name] - first[name] for name in last} for first, last in zip(before, after, strict=True)
    ]
    assert growth[0]["queries_total"] >= 100
    assert growth[1]["questions_total"] == pytest.approx(growth[0]["queries_total"], abs=5)
    assert growth[1]["commits_total"] == pytest.approx(growth[0]["commits_total"], abs=2)
    assert growth[1]["pages_requested_total"] == pytest.approx(growth[0]["requests_total"], rel=0.1, abs=200)
    common = gets[0].keys() & gets[1].keys()
    assert len(common) > 0.9 * len(gets[0])
    first, second = (sum(read[name] for name in common) for read in gets)
    assert second == pytest.approx(first, rel=0.05)
