"""Monitors by SQL, as a user declares them: what they read, and what they refuse."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from h2_server import BY_JDBC, h2_server
from laboratory import Lab
from needs import JDBC
from servers import postgres
from sql_queries import problem

from steelyard.bundle.reader import Bundle
from steelyard.monitors import Target
from steelyard.monitors.sql.queries import Query

H2 = "com.h2database:h2:2.3.232"
needs_java = pytest.mark.needs(*JDBC)
STUDY = """
name = "own"
question = "What does it count?"
subject.kind = "postgres"
[workload]
kind = "sql"
schema_sql = '''
create table latch (name text primary key, gets bigint, misses bigint, sleeps bigint, wait_time_us bigint);
insert into latch values ('Result Cache: RC Latch', 1000, 100, 10, 5), ('idle', 7, 0, 0, 0)
'''
[workload.statements.get]
sql = '''update latch set gets = gets + 4, misses = misses + 2, sleeps = sleeps + 1,
    wait_time_us = wait_time_us + 3 where name <> 'idle' '''
{more}
[plan]
clients = [1]
warm_up_s = 0.3
measure_s = 1
cool_down_s = 0
blocks = {blocks}
"""


def run(lab: Lab, more: str, blocks: int = 1, text: str = STUDY) -> subprocess.CompletedProcess[str]:
    file = lab.folder / "study.toml"
    file.write_text(text.replace("{more}", more).replace("{blocks}", str(blocks)))
    return lab.run("run", file, "--bundle", lab.bundle)


def rates_per_transaction(bundle: Bundle, monitor: str) -> dict[tuple[str, str], float]:
    evidence = bundle.evidence()
    (transactions,), (seconds,) = evidence.view("points")["transactions"], evidence.view("points")["seconds"]
    table = evidence.view("rates")
    columns = (table[name].tolist() for name in ("monitor", "entity", "metric", "rate_per_s"))
    return {
        (entity, metric): rate * seconds / transactions
        for name, entity, metric, rate in zip(*columns, strict=True)
        if name == monitor
    }


@pytest.fixture(scope="module")
def counted(lab_of_module: Lab) -> Bundle:
    """Of known SQL: every transaction adds 4 gets, 2 misses, 1 sleep and 3 us to one of two latches."""
    (lab_of_module.folder / "sums.sql").write_text(
        "select sum(gets) as gets, count(*) as rows_of_latch, 8 as ROWS_OF_LATCH_LIMIT from latch"
    )
    done = run(
        lab_of_module,
        """
[monitors.latch]
sql = "select name, gets, misses, sleeps, wait_time_us * 1000 as wait_ns, null::int as get_ns from latch"
by = "name"
counters = ["gets", "misses", "sleeps", "wait_ns", "get_ns"]
latches = true
every_s = 0.2
[monitors.sums]
sql_file = "sums.sql"
every_s = 0.2
counters = ["gets"]
gauges = ["rows_of_latch", "rows_of_latch_limit"]
[monitors.flaky]
sql = "select 1 / case when sum(gets) > 1007 then 0 else 1 end as x from latch"
gauges = ["x"]
every_s = 0.1
[monitors.falling]
sql = "select 1e12 - extract(epoch from clock_timestamp()) as falls"
counters = ["falls"]
every_s = 0.1
""",
    )
    assert done.returncode == 0, done.stderr
    return Bundle(lab_of_module.bundle)


def test_columns_are_counters_gauges_and_latches_per_transaction(counted: Bundle) -> None:
    bundle = counted
    busy = rates_per_transaction(bundle, "latch")
    name = "Result Cache: RC Latch"
    expected = {"gets_total": 4, "misses_total": 2, "sleeps_total": 1, "wait_ns_total": 3000}
    for metric, each in expected.items():
        # the first and the last reading are not at the edges of the load
        assert busy[name, metric] == pytest.approx(each, rel=0.2)
        assert busy["idle", metric] == 0
    # NULL is not 0: the column that has no value has no samples
    assert not any(metric == "get_ns_total" for _, metric in busy)
    assert rates_per_transaction(bundle, "sums")["sums", "gets_total"] == pytest.approx(4, rel=0.2)
    ((gauge, limit),) = bundle.duckdb.execute(
        "select distinct value, (select max(value) from samples where metric = 'rows_of_latch_limit')"
        " from samples where metric = 'rows_of_latch'"
    ).fetchall()
    assert (gauge, limit) == (2, 8)
    columns = "latch, gets, misses, sleeps, wait_ns, get_ns"
    rows = bundle.duckdb.execute(
        f"select {columns} from latches semi join used_runs using (run) where gets > 0"
    ).fetchall()
    ((latch, gets, misses, sleeps, wait_ns, get_ns),) = rows
    assert latch == name and get_ns is None
    assert gets == 4 * sleeps and misses == 2 * sleeps and wait_ns == 3000 * sleeps
    # the monitor's own cost
    costs = dict(
        bundle.duckdb.execute(
            "select entity, max(value) from samples where metric = 'reading_ns' group by 1"
        ).fetchall()
    )
    assert costs["latch"] > 0 and costs["sums"] > 0
    page = (bundle.path / "report.html").read_text()
    assert name in page and "Counters by SQL" in page


def test_in_turns_each_option_has_its_own_counts(lab: Lab) -> None:
    more = """
[factors.handle]
scope = "client"
setting = "handle"
levels = { NONE = "none", NAMED = "named" }
[monitors.latch]
sql = "select sum(gets) as gets from latch"
counters = ["gets"]
"""
    done = run(lab, more)
    assert done.returncode == 0, done.stderr
    assert "take turns" in done.stderr
    evidence = Bundle(lab.bundle).evidence()
    table = evidence.view("rates")
    mine = table["monitor"] == "latch"
    per_s = dict(zip(table["run"][mine].tolist(), table["rate_per_s"][mine].tolist(), strict=True))
    points = (evidence.view("points")[name].tolist() for name in ("run", "transactions", "seconds"))
    each = [per_s[run] * seconds / transactions for run, transactions, seconds in zip(*points, strict=True)]
    assert each == [pytest.approx(4, rel=0.1)] * 2
    # read at both edges of each turn, and each reading took its time
    page = (lab.bundle / "report.html").read_text()
    assert "per reading" in page


def test_a_query_that_fails_at_times_and_a_counter_that_falls_are_notices(counted: Bundle) -> None:
    bundle = counted
    texts = " ".join(text for _, text in bundle.duckdb.execute("select code, text from notices").fetchall())
    assert "readings failed: division by zero" in texts
    assert "falling: falls fell in" in texts
    assert rates_per_transaction(bundle, "falling") == {("falling", "falls_total"): 0.0}


# by the query and its columns
REFUSED: dict[str, Mapping[str, Any]] = {
    'relation "nowhere" does not exist': {"sql": "select nothing from nowhere", "counters": ["x"]},
    "it has no column x; its columns: y": {"sql": "select 1 as y", "counters": ["x"]},
    "it returns 2 rows": {"sql": "select 1 as x from generate_series(1, 2)", "counters": ["x"]},
    "column x: 'a' is no number": {"sql": "select 'a' as x", "counters": ["x"]},
    'two rows have n "1"': {
        "sql": "select 1 as n, 1 as x from generate_series(1, 2)", "by": "n", "counters": ["x"]
    },
    "more than 2,000 rows": {
        "sql": "select n, 1 as x from generate_series(1, 3000) n", "by": "n", "counters": ["x"]
    },
    "statement timeout": {"sql": "select 1 as x, pg_sleep(9)", "counters": ["x"]},
    "read-only transaction": {"sql": "create table t (x int)", "counters": ["x"]},
}  # fmt: skip


def test_a_query_that_cannot_be_read_has_its_cause_and_changes_nothing() -> None:
    with postgres() as server:
        target = Target(dsn=f"host={server.folder} port={server.port} user=postgres dbname=postgres")
        for cause, keys in REFUSED.items():
            assert cause in problem("own", Query.model_validate(keys), target)
        assert server.ask("select count(*) from pg_tables where tablename = 't'") == 0


def test_a_query_that_the_server_refuses_is_an_error_before_the_first_run(lab: Lab) -> None:
    done = run(lab, '[monitors.own]\nset = "mariadb-status"')
    assert done.returncode == 2, done.stderr
    said = " ".join(done.stderr.split())
    assert "study.toml:15: monitors.own.set: option postgres: the query cannot be read" in said
    assert lab.runs() == 0


@pytest.fixture(scope="module")
def h2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with h2_server(tmp_path_factory.mktemp("h2")) as url:
        yield url


@needs_java
def test_a_server_behind_a_jdbc_driver_is_read_by_a_process_of_its_own(lab: Lab, h2: str) -> None:
    done = run(lab, "", text=BY_JDBC.format(url=h2, sql="select n from hit"))
    assert done.returncode == 0, done.stderr
    bundle = Bundle(lab.bundle)
    assert rates_per_transaction(bundle, "hits")["hits", "n_total"] == pytest.approx(5, rel=0.3)
    (most,) = (
        bundle.duckdb.execute("select max(value) from samples where metric = 'sessions'").fetchone() or ()
    )
    # two clients, and one connection for both monitors
    assert most == 3
    assert not lab.ours("steelyard.Main")


@needs_java
def test_a_killed_lab_leaves_no_process_of_a_driver(lab: Lab, h2: str) -> None:
    file = lab.folder / "study.toml"
    study = BY_JDBC.format(url=h2, sql="select n from hit")
    file.write_text(study.replace("measure_s = 1\n", "measure_s = 60\n"))
    process = lab.start("run", file, "--bundle", lab.bundle)
    # that of the load has its plan as argument
    lab.wait_for(lambda: lab.ours("steelyard.Main query"), "the monitors' process starts")
    lab.wait_for(lambda: lab.ours("steelyard.Main /proc"), "the load starts")
    process.kill()
    lab.wait_for(lambda: not lab.ours("steelyard.Main"), "the processes end")
