"""MariaDB as a subject: a server of our own for each run, its settings read back, its counters watched."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from in_process import assert_done, measured
from laboratory import Lab, made_lab, small_study
from mariadb_server import Server, mariadb
from needs import needs

from steelyard.bundle.reader import Bundle
from steelyard.monitors import Target, Unavailable
from steelyard.monitors.mariadb import MariaDBMonitor
from steelyard.report.about.provenance import about_bundle


@pytest.fixture(autouse=True)
def installed() -> None:
    needs("MariaDB")


@pytest.fixture(scope="module")
def weighed() -> Iterator[Bundle]:
    """Two ways to send a lookup, with settings of the server and of the session."""
    needs("MariaDB")
    with made_lab() as lab:
        study = small_study(lab.folder, "mariadb", blocks=1)
        lines = 'settings = { query_cache_type = "OFF" }\nsession = { sort_buffer_size = 300000 }'
        text = study.read_text().replace('"mariadb"', f'"mariadb"\n{lines}')
        yield measured(text + "mariadb = 5\n", str(study), lab.folder)


def test_a_handle_reaches_the_server_and_a_session_setting_acts(weighed: Bundle) -> None:
    assert_done(weighed)
    executed = weighed.columns(
        "select o.option, max(s.value) - min(s.value) as executions from samples s join runs o using (run)"
        " where metric = 'executions_total' group by all order by o.option"
    )
    by_option = dict(zip(executed["option"], executed["executions"], strict=True))
    # text for one option, executions of what was prepared for the other
    assert by_option["simple"] == 0 and by_option["named"] > 0


def test_the_settings_that_the_server_chose_itself_are_on_the_page(weighed: Bundle) -> None:
    shown = about_bundle(weighed).server_settings
    assert shown["max_connections"] == "200" and "thread_cache_size" in shown


def test_a_setting_that_is_taken_otherwise_stops_the_study(lab: Lab) -> None:
    study = small_study(lab.folder, "mariadb")
    # the server rounds it down to its own grain and warns in its log only
    text = study.read_text().replace('"mariadb"', '"mariadb"\nsettings = { max_allowed_packet = 1900 }')
    study.write_text(text)
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode != 0
    assert "did not take max_allowed_packet = 1900" in done.stderr
    assert lab.ours() == [] and lab.traces() == []


def test_statements_left_behind_reach_the_limit_and_the_report_says_so(lab: Lab) -> None:
    study = small_study(lab.folder, "mariadb", blocks=1, measure_s=1, think_ms=0)
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


def test_a_session_setting_that_is_none_is_refused(lab: Lab) -> None:
    study = small_study(lab.folder, "mariadb", blocks=1)
    study.write_text(study.read_text().replace('"mariadb"', '"mariadb"\nsession = { no_such = 1 }'))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode != 0 and "no_such" in done.stderr


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
    study = small_study(lab.folder, "mariadb", blocks=1, measure_s=1, think_ms=0)
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
    assert all(found[name][0] is np.ma.masked for name in ("misses", "sleeps", "wait_ns"))
    # its time is that of all gets, and is called so
    assert found["get_ns"][0] > 0
    assert "cost 7 to 30 % of the CPU" in " ".join(done.stdout.split())


def test_a_study_that_fails_before_its_first_run_leaves_no_bundle(lab: Lab) -> None:
    study = small_study(lab.folder, "mariadb")
    # the program accepts it; the data have another one
    text = study.read_text().replace('"mariadb"', '"mariadb"\nsettings = { innodb_page_size = "4k" }', 1)
    study.write_text(text)
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 2 and "page size" in done.stderr
    assert not lab.bundle.exists()
