"""At an address the lab changes nothing of others: no session of a pooler, no row without consent."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import mariadb_server
import pytest
import servers
from at_address import LEVELS, check_behind_a_pooler, direct, left_behind, said, study
from laboratory import Lab
from mariadb_server import mariadb
from needs import needs
from sql_queries import problem

from steelyard.monitors import Monitor, Target, make
from steelyard.monitors.sql.monitor import QueryMonitor
from steelyard.monitors.sql.queries import Query


@pytest.fixture(scope="module")
def server() -> Iterator[servers.Server]:
    with servers.postgres(log_statement="all") as running:
        running.ask("create table evt (id int, v int)")
        running.ask("create sequence counted")
        running.ask(
            "create function sly(int) returns int language plpgsql as"
            " 'begin insert into evt values ($1, 1); return 1; end'"
        )
        yield running


@pytest.fixture(scope="module")
def pool(server: servers.Server) -> Iterator[str]:
    needs("pgbouncer")
    with servers.pooled(server) as port:
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"


@pytest.fixture(scope="module")
def maria() -> Iterator[mariadb_server.Server]:
    with mariadb() as running:
        running.ask("create table lab.evt (id int, v int) engine = InnoDB")
        running.ask(
            "create function lab.sly(n int) returns int begin insert into lab.evt values (n, 1);"
            " return 1; end"
        )
        yield running


def of_maria(server: mariadb_server.Server, port: int = 0) -> str:
    return f"mysql://native:${{LAB_PASSWORD}}@127.0.0.1:{port or server.port}/lab"


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"factor": LEVELS.format("session", "work_mem", '"1MB"', '"2MB"')}, "factors.tried.levels.A"),
        ({"subject": "session = { work_mem = '1MB' }"}, "subject.session.work_mem"),
        ({"factor": LEVELS.format("client", "handle", '"none"', '"per-use"')}, "factors.tried.levels.B"),
        ({"workload": 'handle = "left"'}, "workload.handle"),
        ({"workload": ""}, "workload"),
        ({"sql": "set work_mem = '1MB'", "subject": "writes = true"}, "workload.statements.own"),
        ({"sql": "select set_config('jit', 'off', false)"}, "workload.statements.own"),
        ({"sql": "select 1, pg_advisory_lock(7)"}, "workload.statements.own"),
    ],
)
def test_what_needs_a_session_of_its_own_is_refused_behind_a_pooler_before_it_is_tried(
    lab: Lab, pool: str, more: dict[str, str], place: str
) -> None:
    fresh = left_behind(pool)
    done = lab.run("run", study(lab.folder, pool, **more), "--bundle", lab.bundle)
    assert done.returncode == 2, said(done)
    assert f": {place}" in said(done) and "needs a session of its own, but the pooler" in said(done)
    assert left_behind(pool) == fresh and not lab.bundle.exists()


def test_a_schema_of_the_labs_own_is_refused_behind_a_pooler(
    lab: Lab, pool: str, server: servers.Server
) -> None:
    path = study(lab.folder, pool, subject='restore = "reload"\nwrites = true')
    workload = 'kind = "order-entry"\nhandle = "none"\n'
    head, tail = path.read_text().split('kind = "sql"')
    path.write_text(head + workload + tail[tail.index("[plan]") :])
    done = lab.run("run", path, "--dry-run")
    assert done.returncode == 2 and "restore = 'reload' needs a session of its own" in said(done)
    assert server.ask("select count(*) from pg_namespace where nspname = 'steelyard_load'") == 0


def test_no_statement_runs_on_when_a_study_has_ended(lab: Lab, server: servers.Server) -> None:
    path = study(lab.folder, direct(server), sql="select count(*) from generate_series(1, 400000000)")
    path.write_text(path.read_text().replace('kind = "sql"', 'kind = "sql"\ndeadline_ms = 1000'))
    lab.run("run", path, "--bundle", lab.bundle)
    active = (
        "select count(*) from pg_stat_activity where state = 'active' and query like '%generate_series(1, 4%'"
    )
    lab.wait_for(
        lambda: server.ask(f"{active} and pid <> pg_backend_pid()") == 0, "statements have ended", 10
    )


def test_a_study_behind_a_pooler_runs_with_its_monitors_and_leaves_the_sessions_as_they_were(
    lab: Lab, server: servers.Server
) -> None:
    check_behind_a_pooler(lab, server, "transaction")


@pytest.mark.parametrize(
    "sql",
    ["set statement_timeout = '7ms'", "select set_config('statement_timeout', '7ms', false) is null as a"],
)
def test_a_monitor_cannot_change_a_session(pool: str, server: servers.Server, sql: str) -> None:
    fresh = left_behind(pool)
    problem("own", Query(sql=sql, gauges=["a"]), Target(dsn=pool))
    assert left_behind(pool) == fresh
    # nor anything else, also directly
    for write in (
        "insert into evt values (1, 1) returning id as a",
        "select sly(1) as a",
        "select 1; commit",
    ):
        assert problem("own", Query(sql=write, gauges=["a"]), Target(dsn=direct(server))) != ""
    assert server.ask("select count(*) from evt") == 0


def test_monitors_read_whatever_the_servers_defaults_are() -> None:
    defaults = {
        "default_transaction_read_only": "on", "default_transaction_isolation": "serializable",
        "default_transaction_deferrable": "on", "lock_timeout": "1ms", "statement_timeout": "20ms",
    }  # fmt: skip
    with servers.postgres() as running:
        # in one session, which has none of them yet
        running.ask(
            ";".join(f"alter role postgres set {name} = '{value}'" for name, value in defaults.items())
        )
        target = Target(dsn=direct(running))
        own = QueryMonitor("own", Query(sql="select pg_sleep(0.05)::text = '' as a", gauges=["a"]))
        monitors: list[Monitor | QueryMonitor] = [make("postgres"), make("postgres-waits"), own]
        for monitor in monitors:
            monitor.open(target)
            try:
                assert list(monitor.read()), monitor
            finally:
                monitor.close()


WRITES = [
    ("insert into evt values (1, 1)", "own (evt)"),
    ("/* a */ with a as (delete from evt returning id) select id from a", "own (evt)"),
    ("vacuum evt", "own"),
    ("truncate table evt", "own (evt)"),
    ("commit", "own"),
    # hidden from a reader of the text
    ("select sly(5)", "own"),
    ("select nextval('counted')", "own"),
    ("select id from item where id = 3 for update", "own"),
    ("select id into made from item", "own"),
]


def refused_before_it_writes(lab: Lab, server: servers.Server, dsn: str, sql: str, named: str) -> None:
    counts = "select (select count(*) from evt) + (select last_value from counted)"
    before = server.ask(counts)
    path = study(lab.folder, dsn, sql)
    for more in (("--dry-run",), ("--bundle", lab.bundle)):
        done = lab.run("run", path, *more)
        assert done.returncode == 2, said(done)
        assert f"on a server at an address: {named} hint: writes = true under [subject]" in said(done)
    assert server.ask(counts) == before and not lab.bundle.exists()
    assert server.ask("select to_regclass('made') is null")


@pytest.mark.parametrize(("sql", "named"), WRITES)
def test_a_statement_that_writes_needs_consent_and_is_refused_before_it_writes(
    lab: Lab, server: servers.Server, sql: str, named: str
) -> None:
    refused_before_it_writes(lab, server, direct(server), sql, named)


def test_a_statement_that_writes_is_refused_behind_a_pooler_too(
    lab: Lab, server: servers.Server, pool: str
) -> None:
    fresh = left_behind(pool)
    for sql, named in WRITES:
        refused_before_it_writes(lab, server, pool, sql, named)
    assert left_behind(pool) == fresh


def test_with_consent_the_plan_names_statements_and_tables(lab: Lab, server: servers.Server) -> None:
    path = study(lab.folder, direct(server), "insert into evt values (2, 2)", subject="writes = true")
    planned = lab.run("run", path, "--dry-run")
    assert planned.returncode == 0 and "writes   own (evt)" in planned.stderr
    assert server.ask("select count(*) from evt") == 0
    done = lab.run("run", path, "--bundle", lab.bundle)
    assert done.returncode == 0 and "writes   own (evt)" in done.stderr, said(done)
    assert server.ask("select count(*) > 0 from evt where id = 2")
    server.ask("truncate evt")


def test_a_statement_that_reads_needs_no_consent(lab: Lab, server: servers.Server) -> None:
    for sql in (
        "(select 1) union (select 2)", "-- delete\nvalues (1)", "explain select 1", "show work_mem",
        "select 'a; drop table item'", "table item", "with a as (select 1) select * from a",
    ):  # fmt: skip
        done = lab.run("run", study(lab.folder, direct(server), sql), "--dry-run")
        assert done.returncode == 0, said(done)


@contextmanager
def proxied(server: mariadb_server.Server, pooled: bool) -> Generator[int]:
    """A proxy before MariaDB; pooled: it invents the number of the connection, as ProxySQL does."""

    def carry(source: socket.socket, to: socket.socket, changes: bool) -> None:
        try:
            while part := source.recv(65536):
                if changes:
                    # protocol 10, the version up to a zero byte, four bytes of the number
                    at, changes = part.index(b"\0", 5) + 1, False
                    part = part[:at] + (987654).to_bytes(4, "little") + part[at + 4 :]
                to.sendall(part)
        except OSError:
            pass
        finally:
            to.close()

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def serve() -> None:
            while True:
                try:
                    client = listener.accept()[0]
                except OSError:
                    return
                behind = socket.create_connection(("127.0.0.1", server.port))
                for source, to, changes in ((behind, client, pooled), (client, behind, False)):
                    threading.Thread(target=carry, args=(source, to, changes), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]


@pytest.mark.parametrize("pooled", [True, False])
def test_a_proxy_that_invents_sessions_is_recognised_and_one_that_passes_them_on_is_not(
    lab: Lab, maria: mariadb_server.Server, pooled: bool
) -> None:
    factor = LEVELS.format("session", "join_buffer_size", "131072", "262144")
    with proxied(maria, pooled) as port:
        path = study(lab.folder, of_maria(maria, port), kind="mariadb", factor=factor)
        done = lab.run("run", path, "--dry-run", LAB_PASSWORD="opensesame")
    assert done.returncode == (2 if pooled else 0), said(done)
    assert ("join_buffer_size needs a session of its own" in said(done)) == pooled


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("update evt set v = v + 1", "own (evt)"),
        ("create table made (a int)", "own (made)"),
        ("select sly(1)", "own"),
        ("select id from item where id = 3 for update", "own"),
        ("explain analyze format=json delete from evt", "own (evt)"),
        ("analyze delete from evt", "own (evt)"),
    ],
)
def test_mariadb_asks_for_consent_too(lab: Lab, maria: mariadb_server.Server, sql: str, named: str) -> None:
    path = study(lab.folder, of_maria(maria), sql, kind="mariadb")
    for more in (("--dry-run",), ("--bundle", lab.bundle)):
        done = lab.run("run", path, *more, LAB_PASSWORD="opensesame")
        assert done.returncode == 2, said(done)
        assert f"on a server at an address: {named} hint: writes = true" in said(done)
    assert maria.ask("select count(*) from lab.evt") == 0


def test_a_monitor_of_mariadb_sets_nothing_and_writes_nothing(maria: mariadb_server.Server) -> None:
    target = Target(dsn=f"mysql://root@localhost/lab?socket={maria.socket}")
    maria.ask("set global general_log = on")
    log = maria.ask("select concat(@@datadir, @@general_log_file)")
    assert problem("own", Query(sql="select 1 as a", gauges=["a"]), target) == ""
    for sql in (
        "select sly(1) as a",
        "insert into evt values (1, 1) returning id as a",
        "select sleep(5) as a",
    ):
        assert problem("own", Query(sql=sql, gauges=["a"]), target) != ""
    maria.ask("set global general_log = off")
    lines = Path(log).read_text(errors="replace").lower()
    assert "set session" not in lines and "set max_statement_time" not in lines
    assert maria.ask("select count(*) from lab.evt") == 0
