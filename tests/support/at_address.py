"""Studies on a server at an address, alone or behind a pooler, and what they left in its sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import servers
from laboratory import Lab

from steelyard.bundle.reader import Bundle

STUDY = """\
name = "there"
question = "?"
[subject]
kind = "{kind}"
dsn = "{dsn}"
{subject}
[workload]
kind = "sql"
{workload}
[workload.statements.own]
sql = '''{sql}'''
{factor}
[plan]
clients = [3]
warm_up_s = 0.1
measure_s = 0.3
cool_down_s = 0
blocks = 1
{more}
"""
LEVELS = '[factors.tried]\nscope = "{}"\nsetting = "{}"\nlevels = {{ A = {}, B = {} }}'
HANDLES = LEVELS.format("client", "handle", '"none"', '"unnamed"')
READ = "select filler from item where id = 7"


def study(folder: Path, dsn: str, sql: str = READ, **more: str) -> Path:
    keys = {"kind": "postgres", "subject": "", "workload": 'handle = "none"', "factor": "", "more": ""}
    path = folder / "there.toml"
    path.write_text(STUDY.format(dsn=dsn, sql=sql, **(keys | more)))
    return path


def direct(server: servers.Server) -> str:
    return f"postgresql://postgres@127.0.0.1:{server.port}/postgres"


def said(done: Any) -> str:
    return " ".join((done.stdout + done.stderr).split())


_LEFT = (
    "select array[current_setting('statement_timeout'), current_setting('lock_timeout'),"
    " current_setting('jit'), current_setting('default_transaction_read_only'), current_setting('work_mem'),"
    " current_setting('pg_stat_statements.track', true)]"
    " || (select coalesce(array_agg(name::text), '{}') from pg_prepared_statements)"
)


def left_behind(dsn: str) -> set[tuple[str, ...]]:
    """Settings and prepared statements in the sessions of the pool, which others get next."""
    found: set[tuple[str, ...]] = set()
    holders = [psycopg.connect(dsn, prepare_threshold=None) for _ in range(4)]
    try:
        # within transactions: each holds a session of its own
        for holder in holders:
            row = holder.execute(_LEFT.encode()).fetchone()
            assert row is not None
            found.add(tuple(row[0]))
    finally:
        for holder in holders:
            holder.close()
    return found


def check_behind_a_pooler(lab: Lab, server: servers.Server, mode: str) -> None:
    """A study with monitors runs, and the sessions of the pool are as they were before."""
    with servers.pooled(server, pool_mode=mode, default_pool_size=30, server_reset_query="") as port:
        dsn = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        fresh = left_behind(dsn)
        more = '[monitors]\npostgres = 5\npostgres-waits = 10\n[monitors.own]\nsql = "select 1 as a"\n'
        path = study(lab.folder, dsn, factor=HANDLES, more=more + 'gauges = ["a"]')
        done = lab.run("run", path, "--bundle", lab.bundle)
        assert done.returncode == 0, said(done)
        assert "stopped answering" not in said(done)
        read = Bundle(lab.bundle).columns("select distinct monitor from samples order by 1")["monitor"]
        assert {"postgres", "postgres-waits", "own"} <= set(read)
        assert left_behind(dsn) == fresh
    log = (server.folder / "log").read_text(errors="replace")
    # pgbouncer itself keeps client_encoding and application_name per client
    assert "pg_stat_force_next_flush" not in log and "_pg3_" not in log
