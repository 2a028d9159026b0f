"""MariaDB as a subject: a server of our own for each run, its settings read back, its counters watched."""

from __future__ import annotations

import math
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from laboratory import Lab, small_study
from mariadb_server import Server, mariadb, needs_mariadb
from steelyard.bundle.reader import Bundle
from steelyard.monitors import Target, Unavailable
from steelyard.monitors.mariadb.counters import MariaDBMonitor
from steelyard.report.about.provenance import about_bundle
from steelyard.subjects.mariadb.settings_read_back import taken

pytestmark = pytest.mark.server


@pytest.fixture(autouse=True)
def installed() -> None:
    needs_mariadb()


@pytest.mark.parametrize(
    ("asked", "shown"),
    [("20M", "20971520"), (True, "ON"), (False, "OFF"), (1, "ON"), (0, "OFF"), (2, "2"), (0.5, "0.500000"),
     ("pool-of-threads", "pool-of-threads"), ("1G", "1073741824")],
)  # fmt: skip
def test_a_setting_is_known_again_as_the_server_shows_it(asked: str | float, shown: str) -> None:
    assert taken(asked, shown)


@pytest.mark.parametrize(
    ("asked", "shown"), [("20M", "20971519"), (True, "OFF"), (2, "1"), ("pool-of-threads", "loaded")]
)
def test_another_value_is_not_taken_for_it(asked: str | float, shown: str) -> None:
    assert not taken(asked, shown)


def test_a_study_runs_to_a_verdict_and_its_bundle_tells_what_ran(lab: Lab) -> None:
    study = small_study(lab.folder, "mariadb")
    text = study.read_text().replace('"mariadb"', '"mariadb"\nsettings = { query_cache_type = "OFF" }')
    study.write_text(text + "mariadb = 5\n")
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert "simple" in done.stdout and "named" in done.stdout
    bundle = Bundle(lab.bundle)
    executed = bundle.columns(
        "select o.option, max(s.value) - min(s.value) as executions from samples s join runs o using (run)"
        " where metric = 'executions_total' group by all order by o.option"
    )
    by_option = dict(zip(executed["option"], executed["executions"], strict=True))
    # the handle reached the server: text for one option, executions of what was prepared for the other
    assert by_option["simple"] == 0 and by_option["named"] > 100
    assert lab.ours() == [] and lab.traces() == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("no_such_setting = 1", 'this server has no setting "no_such_setting"'),
        ("thread_handling = 'no-such-mode'", "thread_handling"),
        # the server rounds it down to its own grain and warns in its log only
        ("query_cache_size = 1000001", "did not take query_cache_size = 1000001"),
    ],
)
def test_a_setting_that_is_not_taken_stops_the_study(lab: Lab, settings: str, said: str) -> None:
    study = small_study(lab.folder, "mariadb")
    study.write_text(study.read_text().replace('"mariadb"', f'"mariadb"\nsettings = {{ {settings} }}'))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode != 0
    assert said.replace("_", "-") in done.stderr.replace("_", "-")
    assert lab.ours() == [] and lab.traces() == []


def test_statements_left_behind_reach_the_limit_and_the_report_says_so(lab: Lab) -> None:
    study = small_study(lab.folder, "mariadb", blocks=1, measure_s=1)
    # some succeed while measuring, and a busy machine reaches the limit all the same
    text = study.read_text().replace('named = "named"', 'left = "left"')
    text = text.replace("warm_up_s = 0.1", "warm_up_s = 0")
    text = text.replace('"mariadb"', '"mariadb"\nsettings = { max_prepared_stmt_count = 200 }')
    study.write_text(text + "mariadb = 10\n")
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    shown = " ".join(done.stdout.split())
    assert "statements prepared reached 100 % of its limit of 200" in shown
    assert "error 1461: max_prepared_stmt_count is reached" in shown
    failed = Bundle(lab.bundle).columns("select code, message, count from errors")
    assert set(failed["code"]) == {"42000"} and min(failed["count"]) > 0
    assert failed["message"][0].startswith("(1461) Can't create more than max_prepared_stmt_count")


def test_a_session_setting_acts_and_one_that_is_none_is_refused(lab: Lab) -> None:
    study = small_study(lab.folder, "mariadb", blocks=1)
    session = '"mariadb"\nsession = { sort_buffer_size = 300000, no_such = 1 }'
    study.write_text(study.read_text().replace('"mariadb"', session))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode != 0 and "no_such" in done.stderr
    study.write_text(study.read_text().replace(", no_such = 1", ""))
    assert lab.run("run", study, "--bundle", lab.folder / "c.bundle").returncode == 0


def test_without_the_programs_the_study_is_refused_with_what_installs_them(lab: Lab) -> None:
    study = small_study(lab.folder, "mariadb")
    empty = lab.folder / "empty"
    empty.mkdir()
    study.write_text(study.read_text().replace('"mariadb"', f'"mariadb"\nbindir = "{empty}"'))
    done = lab.run("run", study)
    assert done.returncode == 2
    assert "mariadbd" in done.stderr and "apt-get install mariadb-server" in done.stderr


def test_a_lab_that_is_killed_leaves_no_server(lab: Lab) -> None:
    study = small_study(lab.folder, "mariadb", measure_s=60)
    process = lab.start("run", study, "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.ours("mariadbd"), "a server runs")
    os.kill(process.pid, signal.SIGKILL)
    lab.wait_for(lambda: not lab.ours("mariadbd"), "the server has gone")
    lab.wait_for(lambda: not lab.traces(), "its folder has gone")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with mariadb("--query-cache-type=ON", "--query-cache-size=4M") as running:
        yield running


def test_the_monitor_tells_what_the_server_counted(server: Server) -> None:
    monitor = MariaDBMonitor()
    monitor.open(Target(dsn=f"mysql://root@localhost/lab?socket={server.socket}"))
    assert monitor.missing == ()

    def read() -> dict[tuple[str, str], float]:
        return {(entity, metric): value for entity, metric, value in monitor.read()}

    before = read()
    for _ in range(3):
        server.ask("select filler from lab.item where id = 7")
    after = read()
    monitor.close()
    grown = {key: after[key] - before[key] for key in after if key[1].endswith("_total")}
    assert grown["query cache", "inserts_total"] == 1 and grown["query cache", "hits_total"] == 2
    assert grown["statements", "prepares_total"] == 0
    assert after["statements", "prepared_limit"] == 16382
    assert 0 < after["query cache", "used_bytes"] < after["query cache", "used_bytes_limit"] == 4 * 2**20
    # nobody but the monitor is connected, and it does not count itself
    assert after["database", "sessions"] == 0


def test_the_monitor_says_why_it_cannot_watch(tmp_path: Path) -> None:
    for dsn, said in (
        ("", "no MariaDB address"),
        (f"mysql://root@localhost/lab?socket={tmp_path}/none", "Can't connect"),
    ):
        with pytest.raises(Unavailable, match=said):
            MariaDBMonitor().open(Target(dsn=dsn))


def test_a_lookup_from_the_query_cache_gets_its_lock_twice(lab: Lab) -> None:
    study = small_study(lab.folder, "mariadb", blocks=1, measure_s=1)
    settings = 'performance_schema = true, query_cache_type = "ON", query_cache_size = "16M"'
    text = study.read_text().replace('"mariadb"', f'"mariadb"\nsettings = {{ {settings} }}')
    text = text.replace("rows = 1000", "rows = 20").replace("warm_up_s = 0.1", "warm_up_s = 0.5")
    study.write_text(text + "mariadb-latches = 5\n")
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    found = Bundle(lab.bundle).columns(
        "with done as (select run, sum(count) as n from throughput"
        " where statement = 'transaction' and second >= 0 group by run)"
        " select l.gets / d.n as per_txn, l.misses, l.sleeps, l.wait_ns, l.get_ns"
        " from latches l join runs r using (run)"
        " join done d using (run) where r.option = 'simple' and latch like '%Query_cache::structure_guard%'"
    )
    # two gets a lookup, as the published study counted of Oracle's result cache
    assert found["per_txn"][0] == pytest.approx(2.0, abs=0.1)
    # what the server does not count is not 0
    assert all(math.isnan(found[name][0]) for name in ("misses", "sleeps", "wait_ns"))
    # its time is that of all gets, and is called so
    assert found["get_ns"][0] > 0
    assert "cost 7 to 30 % of the CPU" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("thread_handlin", "pool-of-threads", 'no setting "thread_handlin"; did you mean "thread_handling"?'),
        ("thread_handling", "pool-of-thread", 'no value "pool-of-thread"; did you mean "pool-of-threads"?'),
        ("thread_handling", "none", "Error while setting value 'none'"),
    ],
)
def test_a_dry_run_refuses_a_setting_with_its_line(lab: Lab, setting: str, value: str, said: str) -> None:
    study = small_study(lab.folder, "mariadb")
    factor = (
        f"\n[factors.mode]\nscope = 'server'\nsetting = '{setting}'\n"
        f"levels = {{ one = 'one-thread-per-connection', pool = '{value}' }}\n"
    )
    study.write_text(study.read_text() + factor)
    done = lab.run("run", study, "--dry-run", "--bundle", lab.bundle)
    assert done.returncode == 2
    assert said in done.stderr and f"{study.name}:" in done.stderr and "factors.mode.levels." in done.stderr


def test_more_clients_than_connections_are_refused(lab: Lab) -> None:
    study = small_study(lab.folder, "mariadb")
    study.write_text(re.sub(r"clients = \[.*\]", "clients = [256]", study.read_text()))
    done = lab.run("run", study, "--dry-run", "--bundle", lab.bundle)
    assert done.returncode == 2
    assert "plan.clients: 256 clients are more than the 200 connections" in done.stderr
    study.write_text(
        study.read_text().replace('"mariadb"', '"mariadb"\nsettings = { max_connections = 300 }', 1)
    )
    assert lab.run("run", study, "--dry-run", "--bundle", lab.bundle).returncode == 0


def test_a_study_that_fails_before_its_first_run_leaves_no_bundle(lab: Lab) -> None:
    study = small_study(lab.folder, "mariadb")
    # the program accepts it; the data have another one
    text = study.read_text().replace('"mariadb"', '"mariadb"\nsettings = { innodb_page_size = "4k" }', 1)
    study.write_text(text)
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 1 and "page size" in done.stderr
    assert not lab.bundle.exists()


def test_the_settings_that_the_server_chose_itself_are_on_the_page(lab: Lab) -> None:
    study = small_study(lab.folder, "mariadb", blocks=1)
    assert lab.run("run", study, "--bundle", lab.bundle).returncode == 0
    shown = about_bundle(Bundle(lab.bundle)).server_settings
    assert shown["max_connections"] == "200" and "thread_cache_size" in shown
