"""Monitors by SQL, as a user declares them: what they read, and what they refuse."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from laboratory import Lab
from steelyard.bundle.reader import Bundle
from steelyard.monitors.sql.growth import Growth
from steelyard.subjects.drivers.jars import jars
from steelyard.subjects.drivers.java import java

H2 = "com.h2database:h2:2.3.232"
needs_java = pytest.mark.skipif(
    not (shutil.which("java") and shutil.which("mvn")), reason="needs Java 17 and Maven"
)
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
    (transactions,), (seconds,) = evidence.points["transactions"], evidence.points["seconds"]
    table = evidence.rates
    columns = (table[name].tolist() for name in ("monitor", "entity", "metric", "rate_per_s"))
    return {
        (entity, metric): rate * seconds / transactions
        for name, entity, metric, rate in zip(*columns, strict=True)
        if name == monitor
    }


@pytest.mark.server
def test_columns_are_counters_gauges_and_latches_per_transaction(lab: Lab) -> None:
    """Of known SQL: every transaction adds 4 gets, 2 misses, 1 sleep and 3 us to one of two latches."""
    (lab.folder / "sums.sql").write_text(
        "select sum(gets) as gets, count(*) as rows_of_latch, 8 as ROWS_OF_LATCH_LIMIT from latch"
    )
    done = run(
        lab,
        """
[monitors.latch]
sql = "select name, gets, misses, sleeps, wait_time_us * 1000 as wait_ns, null::int as get_ns from latch"
by = "name"
counters = ["gets", "misses", "sleeps", "wait_ns", "get_ns"]
latches = true
every_s = 0.2
[monitors.sums]
sql_file = "sums.sql"
counters = ["gets"]
gauges = ["rows_of_latch", "rows_of_latch_limit"]
""",
    )
    assert done.returncode == 0, done.stderr
    bundle = Bundle(lab.bundle)
    busy = rates_per_transaction(bundle, "latch")
    name = "Result Cache: RC Latch"
    expected = {"gets_total": 4, "misses_total": 2, "sleeps_total": 1, "wait_ns_total": 3000}
    for metric, each in expected.items():
        assert busy[name, metric] == pytest.approx(each, rel=0.1)
        assert busy["idle", metric] == 0
    # NULL is not 0: the column that has no value has no samples
    assert not any(metric == "get_ns_total" for _, metric in busy)
    assert rates_per_transaction(bundle, "sums")["sums", "gets_total"] == pytest.approx(4, rel=0.1)
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
    page = (lab.bundle / "report.html").read_text()
    assert name in page and "Counters by SQL" in page


@pytest.mark.server
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
    table = evidence.rates
    mine = table["monitor"] == "latch"
    per_s = dict(zip(table["run"][mine].tolist(), table["rate_per_s"][mine].tolist(), strict=True))
    points = (evidence.points[name].tolist() for name in ("run", "transactions", "seconds"))
    each = [per_s[run] * seconds / transactions for run, transactions, seconds in zip(*points, strict=True)]
    assert each == [pytest.approx(4, rel=0.1)] * 2
    # read at both edges of each turn, and each reading took its time
    page = (lab.bundle / "report.html").read_text()
    assert "per reading" in page


@pytest.mark.server
def test_a_query_that_fails_at_times_and_a_counter_that_falls_are_notices(lab: Lab) -> None:
    done = run(
        lab,
        """
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
    bundle = Bundle(lab.bundle)
    texts = " ".join(text for _, text in bundle.duckdb.execute("select code, text from notices").fetchall())
    assert "readings failed: division by zero" in texts
    assert "falling: falls fell in" in texts
    assert rates_per_transaction(bundle, "falling") == {("falling", "falls_total"): 0.0}


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (
            'sql = "select nothing from nowhere"\ncounters = ["x"]',
            "option postgres: the query cannot be read",
        ),
        ('sql = "select 1 as y"\ncounters = ["x"]', "it has no column x; its columns: y"),
        ('sql = "select 1 as x from generate_series(1, 2)"\ncounters = ["x"]', "it returns 2 rows"),
        ('sql = "select \'a\' as x"\ncounters = ["x"]', "column x: 'a' is no number"),
        (
            'sql = "select 1 as n, 1 as x from generate_series(1, 2)"\nby = "n"\ncounters = ["x"]',
            'two rows have n "1"',
        ),
        (
            'sql = "select n, 1 as x from generate_series(1, 3000) n"\nby = "n"\ncounters = ["x"]',
            "more than 2,000 rows",
        ),
        ('sql = "select 1 as x, pg_sleep(9)"\ncounters = ["x"]', "statement timeout"),
        ('sql = "create table t (x int)"\ncounters = ["x"]', "read-only transaction"),
        ('set = "mariadb-status"', "monitors.own.set: option postgres: the query cannot be read"),
    ],
)
@pytest.mark.server
def test_a_query_that_the_server_refuses_is_an_error_before_the_first_run(
    lab: Lab, lines: str, cause: str
) -> None:
    done = run(lab, f"[monitors.own]\n{lines}")
    assert done.returncode == 2, done.stderr
    said = " ".join(done.stderr.split())
    assert cause in said
    assert "study.toml:15: monitors.own" in said
    assert lab.runs() == 0


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        ("[monitors.own]\nset = 'oracle-latch'", 'no set "oracle-latch"; did you mean "oracle-latches"?'),
        ("[monitors.own]\nsq = 'select 1'", 'monitors.own.sq: unknown key "sq"; did you mean "sql"?'),
        ("[monitors.own]\nsql = 'select 1'", "counters or gauges is needed"),
        ("[monitors.own]\ncounters = ['x']", "the query is needed"),
        ("[monitors.own]\nset = 'postgres-wal'\nby = 'x'", "by: the set has its own"),
        ("[monitors.own]\nsql = 'select 1'\ncounters = ['X']", "invalid column"),
        ("[monitors.own]\nsql = 'select 1'\ngauges = ['x_total']", "belongs to a counter"),
        ("[monitors.own]\nsql = 'select 1'\ncounters = ['x']\ngauges = ['x']", "x stands in two places"),
        ("[monitors.own]\nsql = 'select 1'\ncounters = ['gets']\nlatches = true", "names a latch is needed"),
        ("[monitors.own]\nsql_file = 'no.sql'\ncounters = ['x']", "no such file"),
        ("[monitors.own]\nsql = 'select 1'\ncounters = ['x']\nevery_s = 0", "greater than or equal to 0.01"),
        ("[monitors.engine]\nsql = 'select 1'\ncounters = ['x']", "a name of steelyard's own"),
        ("[monitors.postgres]\nsql = 'select 1'\ncounters = ['x']", "a name of steelyard's own"),
        ("[monitors]\nown = 'x'", "should be a valid number"),
    ],
)
def test_wrong_keys_are_errors_with_file_and_line(lab: Lab, lines: str, cause: str) -> None:
    done = run(lab, lines)
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert cause in said and "study.toml:" in said


def test_a_subject_without_sql_connections_refuses_them(lab: Lab) -> None:
    text = (
        'name = "s"\nquestion = "?"\nsubject.kind = "sqlite"\nworkload = { kind = "lookup", rows = 10 }\n'
        "[monitors.own]\nsql = 'select 1 as x'\ngauges = ['x']\n"
    )
    done = run(lab, "", text=text)
    assert done.returncode == 2
    assert "SQLite takes no monitors by SQL" in done.stderr


def test_a_counter_that_was_null_or_fell_never_invents_growth() -> None:
    growth = Growth()
    key = ("series", "column")
    assert [growth.value(key, read) for read in (5, 7, None, 9, 2, 4)] == [5, 7, None, 9, 9, 11]
    assert list(growth.remarks()) == [
        "column fell in 1 reading (a restart, a reset, or entries that were evicted): what it counted"
        " meanwhile is missing from its rate"
    ]
    late = Growth()
    assert [late.value(key, read) for read in (None, 1e9, 1e9 + 3)] == [None, 0, 3]


# H2 as a server of its own, which two processes can reach


@pytest.fixture
def h2(tmp_path: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (jar,) = jars(H2, Path())
    server = subprocess.Popen(
        [java(), "-cp", jar, "org.h2.tools.Server", "-tcp", "-tcpPort", str(port), "-ifNotExists",
         "-baseDir", tmp_path],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for _ in range(300):
            time.sleep(0.1)
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
        url = f"jdbc:h2:tcp://127.0.0.1:{port}/./own"
        script = "create table hit (id int primary key, n bigint); insert into hit values (1, 0)"
        shell = [java(), "-cp", jar, "org.h2.tools.Shell", "-url", url, "-user", "sa", "-password", ""]
        subprocess.run([*shell, "-sql", script], check=True, capture_output=True, timeout=60)
        yield url
    finally:
        server.kill()
        server.wait()


JDBC = """
name = "own"
question = "What does it count?"
[subject]
kind = "jdbc"
dsn = "{url}"
[workload]
kind = "sql"
driver = "com.h2database:h2:2.3.232"
driver_heap_mib = 64
driver_properties = {{ user = "sa" }}
[workload.statements.hit]
sql = "update hit set n = n + 5 where id = 1"
[monitors.hits]
sql = "{sql}"
counters = ["n"]
every_s = 0.3
[monitors.sessions]
sql = "select count(*) as sessions from information_schema.sessions"
gauges = ["sessions"]
[plan]
clients = [2]
warm_up_s = 0
measure_s = 1.5
cool_down_s = 0
blocks = 1
"""


@needs_java
def test_a_server_behind_a_jdbc_driver_is_read_by_a_process_of_its_own(lab: Lab, h2: str) -> None:
    done = run(lab, "", text=JDBC.format(url=h2, sql="select n from hit"))
    assert done.returncode == 0, done.stderr
    bundle = Bundle(lab.bundle)
    assert rates_per_transaction(bundle, "hits")["hits", "n_total"] == pytest.approx(5, rel=0.1)
    (most,) = (
        bundle.duckdb.execute("select max(value) from samples where metric = 'sessions'").fetchone() or ()
    )
    # two clients, and one connection for both monitors
    assert most == 3
    assert not lab.ours("steelyard.Main")


@needs_java
def test_a_killed_lab_leaves_no_process_of_a_driver(lab: Lab, h2: str) -> None:
    file = lab.folder / "study.toml"
    file.write_text(JDBC.format(url=h2, sql="select n from hit").replace("measure_s = 1.5", "measure_s = 60"))
    process = lab.start("run", file, "--bundle", lab.bundle)
    # that of the load has its plan as argument
    lab.wait_for(lambda: lab.ours("steelyard.Main query"), "the monitors' process starts")
    lab.wait_for(lambda: lab.ours("steelyard.Main /proc"), "the load starts")
    process.kill()
    lab.wait_for(lambda: not lab.ours("steelyard.Main"), "the processes end")


@needs_java
def test_a_query_that_a_driver_refuses_is_an_error_of_the_study(lab: Lab, h2: str) -> None:
    done = run(lab, "", text=JDBC.format(url=h2, sql="select m from hit"))
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "monitors.hits.sql" in said and '"M" not found' in said


@needs_java
@pytest.mark.parametrize("url", ["jdbc:h2:{folder}/own", "jdbc:h2:mem:own", "jdbc:derby:memory:own"])
def test_a_database_in_the_loads_process_has_no_second_connection(lab: Lab, url: str) -> None:
    done = run(lab, "", text=JDBC.format(url=url, sql="select n from hit"))
    assert done.returncode == 2
    assert "has no second connection" in " ".join(done.stderr.split())
