import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest
from live_postgres import ENTRIES_MAX, Server, values

from steelyard.monitors import Target, Unavailable
from steelyard.monitors.postgres.connection import APPLICATION_NAME
from steelyard.monitors.postgres.counters import PostgresMonitor
from steelyard.monitors.postgres.waits import RUNNING, PostgresWaitsMonitor


def flush(connection: psycopg.Connection) -> None:
    """Has a backend report its counters at once; older servers do so within a second."""
    if connection.info.server_version >= 150000:
        connection.execute("select pg_stat_force_next_flush()")
    else:
        time.sleep(1.2)
    connection.execute("select 1")


@contextmanager
def busy(server: Server, query: str, **options: str) -> Iterator[psycopg.Connection]:
    """A session that executes a query until it is cancelled; afterwards it is not active any more."""
    with closing(server.connect(**options)) as connection:
        # a worker process is not a client, and samples of it would not count
        connection.execute("set max_parallel_workers_per_gather = 0")
        connection.pgconn.send_query(query.encode())
        yield connection
        connection.cancel_safe()
        while connection.pgconn.get_result():
            pass


def unread(monitor: PostgresMonitor) -> None:
    """Makes the entries of statements due, which are read less often."""
    monitor._entries_due_s = 0.0


def test_transactions_rows_blocks_and_wal_are_counted(server, opened):
    monitor = opened(PostgresMonitor(), server.target())
    with server.connect() as connection:
        connection.execute("drop table if exists counted")
        connection.execute("create table counted (i int)")
        flush(connection)
        before = values(monitor.read())
        for i in range(50):
            connection.execute("insert into counted values (%s)", (i,))
        for _ in range(3):
            with pytest.raises(psycopg.Error):
                connection.execute("select 1 / 0")
        flush(connection)
        after = values(monitor.read())

    def grown(entity: str, metric: str) -> float:
        return after[entity, metric] - before[entity, metric]

    assert grown("database", "rows_written_total") == 50
    assert 50 <= grown("database", "commits_total") < 65
    assert grown("database", "rollbacks_total") == 3
    assert grown("database", "blocks_hit_total") >= 50
    assert grown("wal", "records_total") >= 100
    assert grown("wal", "bytes_total") > 50 * 32


def test_sessions_are_those_of_others(server, opened):
    target = server.target()
    monitor = opened(PostgresMonitor(), target)
    opened(PostgresWaitsMonitor(), target)
    assert len(target.own_backends) == 2
    before = values(monitor.read())["database", "sessions"]
    with server.connect(), server.connect():
        assert values(monitor.read())["database", "sessions"] == before + 2


def test_closing_disconnects_and_forgets_the_backend(server):
    target = server.target()
    monitor = PostgresMonitor()
    monitor.open(target)
    monitor.close()
    monitor.close()
    assert target.own_backends == set()


def test_every_metric_is_a_finite_number_and_counters_do_not_fall(server, opened):
    monitor = opened(PostgresMonitor(), server.target())
    before: dict[tuple[str, str], float] = {}
    for _ in range(5):
        unread(monitor)
        after = values(monitor.read())
        assert all(isinstance(value, float) and value >= 0 for value in after.values())
        assert all(after[key] >= value for key, value in before.items() if key[1].endswith("_total"))
        before = after
    assert not monitor.missing
    assert {entity for entity, _ in before} == {
        "database",
        "wal",
        "io",
        "checkpoints",
        "statements",
    }


def test_entries_and_evicted_ones_add_up_to_the_statements_executed(server, opened):
    monitor = opened(PostgresMonitor(), server.target())
    with server.connect() as connection:
        connection.execute("select pg_stat_statements_reset()")
        for n in range(1, 4 * ENTRIES_MAX + 1):
            connection.execute("select " + ", ".join(["1"] * n))
    found = values(monitor.read())
    assert found["statements", "entries_limit"] == ENTRIES_MAX
    assert found["statements", "entries"] <= ENTRIES_MAX
    assert found["statements", "eviction_passes_total"] > 10
    seen = found["statements", "entries"] + found["statements", "evicted_total"]
    # the reset itself is a statement too
    assert 4 * ENTRIES_MAX <= seen <= 4 * ENTRIES_MAX + 5
    assert found["statements", "texts_bytes"] > 0


def test_our_own_queries_are_not_among_the_entries(server, opened):
    monitor = opened(PostgresMonitor(), server.target())
    waits = opened(PostgresWaitsMonitor(), server.target())
    with server.connect() as connection:
        connection.execute("select pg_stat_statements_reset()")
        for _ in range(3):
            unread(monitor)
            monitor.read()
            waits.read()
        queries = [q for (q,) in connection.execute("select query from pg_stat_statements")]
    assert not [q for q in queries if "pg_stat_database" in q or "pg_stat_get_activity" in q]


def test_missing_statement_statistics_are_named(server, opened):
    target = Target(pids={"server": server.pid}, dsn=server.dsn(database="template1"))
    monitor = opened(PostgresMonitor(), target)
    unread(monitor)
    assert ("statements", "entries") not in values(monitor.read())
    assert any("create extension pg_stat_statements" in reason for reason in monitor.missing)


def test_an_unprivileged_user_gets_what_it_may_see(server, opened):
    with server.connect() as connection:
        connection.execute("drop role if exists nobody_special")
        connection.execute("create role nobody_special login")
    dsn = server.dsn(user="nobody_special")
    monitor = opened(PostgresMonitor(), Target(dsn=dsn))
    assert ("database", "commits_total") in values(monitor.read())
    assert any("pg_read_server_files" in reason for reason in monitor.missing)
    with pytest.raises(Unavailable, match="grant pg_monitor"):
        PostgresWaitsMonitor().open(Target(dsn=dsn))
    with server.connect() as connection:
        connection.execute("drop role nobody_special")


def test_a_backend_elsewhere_is_not_taken_for_a_process_here(server, opened):
    target = Target(pids={"monitors": os.getpid()}, dsn=server.dsn())
    opened(PostgresMonitor(), target)
    assert target.own_backends == set()


def test_waits_are_counted_by_event_and_only_of_active_clients(server, opened):
    monitor = opened(PostgresWaitsMonitor(), server.target())
    # closing, as a psycopg connection commits at the end of its block
    with closing(server.connect()) as holder:
        holder.execute("select pg_advisory_lock(7)")
        with busy(server, "select pg_advisory_lock(7)"):
            deadline = time.monotonic() + 10
            found = values(monitor.read())
            while ("Lock:advisory", "samples_total") not in found and time.monotonic() < deadline:
                found = values(monitor.read())
            first = found["Lock:advisory", "samples_total"]
            for _ in range(4):
                found = values(monitor.read())
    assert found["Lock:advisory", "samples_total"] == first + 4
    assert found["sessions", "active_samples_total"] >= first + 4
    assert not [event for event, _ in found if event.startswith(("Client:", "Activity:"))]


# the second is the name behind PgBouncer with application_name_add_host
@pytest.mark.parametrize("name", [APPLICATION_NAME, f"{APPLICATION_NAME} - 10.0.0.7:6432"])
def test_our_own_sessions_are_never_sampled(server, opened, name):
    monitor = opened(PostgresWaitsMonitor(), server.target())
    active = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'"
    with busy(server, "select pg_sleep(60)", more=f"application_name='{name}'"):
        with closing(server.connect()) as connection:
            while connection.execute(active).fetchone() == (0,):
                time.sleep(0.01)
        for _ in range(10):
            found = values(monitor.read())
    assert found["sessions", "readings_total"] == 10
    assert found["sessions", "active_samples_total"] == 0


def test_a_session_on_the_cpu_waits_for_nothing(server, opened):
    monitor = opened(PostgresWaitsMonitor(), server.target())
    with busy(server, "select count(*) from generate_series(1, 3000000)"):
        deadline = time.monotonic() + 10
        while (RUNNING, "samples_total") not in (found := values(monitor.read())):
            assert time.monotonic() < deadline, found


@pytest.mark.parametrize("monitor", [PostgresMonitor, PostgresWaitsMonitor])
def test_a_server_that_went_away_is_unavailable(mortal_server: Server, opened, monitor):
    it = opened(monitor(), mortal_server.target())
    it.read()
    os.kill(mortal_server.pid, signal.SIGQUIT)
    mortal_server.process.wait(20)
    with pytest.raises(Unavailable, match="stopped answering"):
        it.read()


@pytest.mark.parametrize("monitor", [PostgresMonitor, PostgresWaitsMonitor])
def test_no_reason_holds_a_password(tmp_path, monitor):
    for dsn in (
        f"host={tmp_path} password=tiger-secret",
        "postgresql://u:tiger-secret@127.0.0.1:1/x?connect_timeout=1",
        "tiger-secret",
        "postgresql://u:tiger-secret@[::1",
        "host=x password='tiger-secret",
        "",
    ):
        with pytest.raises(Unavailable) as caught:
            monitor().open(Target(dsn=dsn))
        assert "tiger" not in str(caught.value)
        assert caught.value.__cause__ is None or "tiger" not in str(caught.value.__cause__)
