"""Files in the shape of public reports, whose figures were once read wrong; each with its right result."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from readings import readings
from recorded_cases import CASES, figures, one, read, series, work

from steelyard.bundle.reader import Bundle
from steelyard.cli.commands import cli
from steelyard.errors import InputError
from steelyard.recordings.registry import reports_in
from steelyard.recordings.source import Source


def imported(folder: Path, name: str, *more: str) -> Bundle:
    done = CliRunner().invoke(cli, ["import", str(CASES / name), *more, "-o", str(folder / "out.bundle")])
    assert done.exit_code == 0, (done.output, done.exception)
    return Bundle(folder / "out.bundle")


def points(bundle: Bundle) -> list[tuple[int, int, float]]:
    """Run, clients and throughput of each load point."""
    found = bundle.evidence().view("points")
    rates = found["transactions"] / found["seconds"]
    return [
        (int(run), int(n), round(float(rate), 6))
        for run, n, rate in zip(found["run"], found["clients"], rates, strict=True)
    ]


def test_terminals_of_benchbase_are_its_clients(tmp_path: Path) -> None:
    found = imported(tmp_path, "benchbase-terminals", "--by-folder")
    assert points(found) == [(1, 1, 50), (1, 4, 150), (1, 16, 200)]


def test_each_tpmc_of_go_tpc_ends_a_run(tmp_path: Path) -> None:
    first, second = read("go-tpc-two-runs.txt")
    assert work(first) == (1800, 0, 60, None) and work(second) == (5400, 0, 60, None)
    assert (figures(first)["tpmc"], figures(second)["tpmc"]) == (1000, 3000)
    assert points(imported(tmp_path, "go-tpc-two-runs.txt")) == [(1, 1, 30), (2, 1, 90)]


def test_users_of_hammerdb_belong_to_the_result_that_follows(tmp_path: Path) -> None:
    found = read("hammerdb-loop.txt")
    assert [report.clients for report in found] == [1, 4, 8]
    assert [figures(report) for report in found] == [
        {"nopm": 10_500, "tpm": 24_400}, {"nopm": 37_200, "tpm": 86_300}, {"nopm": 61_800, "tpm": 143_100},
    ]  # fmt: skip
    # the test period is stated, but for the last
    assert [report.seconds for report in found] == [300, 300, 60]
    assert points(imported(tmp_path, "hammerdb-loop.txt")) == [
        (1, n, round(tpm / 60, 6)) for n, tpm in ((1, 24_400), (4, 86_300), (8, 143_100))
    ]


def test_a_quoted_cell_of_jmeter_may_hold_a_line_end() -> None:
    report = one("jmeter-quoted-newline.jtl")
    assert report.work is not None
    assert (report.work.transactions, report.work.errors, report.clients) == (2, 1, 2)


def test_a_transaction_controller_of_jmeter_is_the_sum_of_other_rows() -> None:
    report = one("jmeter-transaction-controller.jtl")
    assert report.work is not None and (report.work.transactions, report.work.errors) == (3, 1)
    assert report.notices == [("sum", "2 rows are sums or parts of other rows, and are not counted")]


def test_the_mean_of_threads_is_weighted_by_their_transactions(tmp_path: Path) -> None:
    found = imported(tmp_path, "pgbench-agg-threads", "--by-folder")
    scores = found.duckdb.execute("select name, value from further_scores").fetchall()
    assert points(found) == [(1, 1, 500)] and scores == [("latency_mean", 8.0)]


def test_failures_of_pgbench_in_detail() -> None:
    report = one("pgbench-failures-detailed.txt")
    assert work(report) == (9000, 1000, 10, 8)
    assert figures(report)["latency_mean"] == 8
    found = series(report)
    assert found["pgbench in all", "serialization_failures"] == [(0, 900)]
    assert found["pgbench in all", "deadlock_failures"] == [(0, 100)]


def test_progress_of_pgbench_belongs_to_the_summary_that_follows(tmp_path: Path) -> None:
    first, second = read("pgbench-progress-loop.txt")
    assert series(first)["pgbench", "tps"] == [(1, 100), (2, 110)]
    assert series(second)["pgbench", "tps"] == [(1, 800), (2, 840), (3, 820)]
    found = imported(tmp_path, "pgbench-progress-loop.txt")
    assert points(found) == [(1, 1, 105), (1, 16, 820)]
    query = "select t_ns / 1e9, value from samples where metric = 'tps' order by t_ns"
    assert found.duckdb.execute(query).fetchall() == [(1, 100), (2, 110), (3, 800), (4, 840), (5, 820)]


def test_progress_of_pgbench_by_the_clock() -> None:
    report = one("pgbench-progress-timestamp.txt")
    assert str(report.began) == "2026-11-24 06:00:00.107000+00:00"
    assert work(report) == (1020, 0, 2, 4)
    assert series(report)["pgbench", "tps"] == [(1, 500), (2, 520)]


def test_the_rate_with_reconnections_gives_the_length() -> None:
    report = one("pgbench-reconnect-t.txt")
    assert work(report) == (2000, 0, 5, 20)
    assert figures(report) == {"latency_mean": 50, "connection_time_mean": 9.25}


def test_several_scripts_of_pgbench_have_their_figures() -> None:
    report = one("pgbench-scripts.txt")
    assert work(report) == (10_000, 0, 10, 4)
    found = series(report)
    for script, count, tps, mean in (("1: read.sql", 9010, 901, 1.5), ("2: write.sql", 990, 99, 26.75)):
        assert found[f"script {script}", "transactions"] == [(0, count)]
        assert found[f"script {script}", "tps"] == [(0, tps)]
        assert found[f"script {script}", "latency_mean_ms"] == [(0, mean)]
    statements = [value for (entity, name), [(_, value)] in found.items() if ": statement " in entity
                  and name == "latency_mean_ms"]  # fmt: skip
    assert statements == [0.002, 1.498, 0.003, 26.74]


def test_sysbench_0_5() -> None:
    report = one("sysbench-0.5.txt")
    assert work(report) == (410, 1, 4.0047, 8)
    assert figures(report) == {"latency_min": 20.1, "latency_mean": 78, "latency_max": 201.4, "p95": 89.9}
    assert series(report)["sysbench", "tps"] == [(2, 100.5), (4, 104.5)]
    assert series(report)["sysbench", "p95_ms"] == [(2, 91.2), (4, 88.1)]


def test_checkpoints_without_a_rate_of_transactions_are_added_up() -> None:
    assert work(one("sysbench-1.0-checkpoints-cpu.txt")) == (27_543, 0, 4.0001, 2)


def test_checkpoints_of_sysbench_are_added_up() -> None:
    report = one("sysbench-1.0-checkpoints.txt")
    assert work(report) == (6000, 0, 30.0003, 4)
    assert figures(report) == {"latency_min": 6, "latency_mean": 20, "latency_max": 90}


def test_a_kernel_release_with_a_point_does_not_turn_decimal_commas_off() -> None:
    report = one("iostat-comma-suse.txt")
    assert figures(report) == {"cpu_busy_iostat": 40}
    assert series(report)["device sda", "tps"] == [(0, 814)]
    assert series(report)["device sda", "util_percent"] == [(0, 64.32)]


def test_iostat_at_times_of_dotted_days() -> None:
    report = one("iostat-t-german.txt")
    assert (str(report.began), report.seconds) == ("2026-11-24 10:00:00", 20)
    assert figures(report) == {"cpu_busy_iostat": 45}
    assert series(report)["device sda", "tps"] == [(10, 814), (20, 914)]


def test_each_heading_of_iostat_begins_a_reading() -> None:
    found = series(one("iostat-xd.txt"))
    assert found["device nvme0n1", "r_per_s"] == [(0, 500), (1, 700)]
    assert found["device nvme0n1", "util_percent"] == [(0, 60), (1, 80)]


def test_a_process_that_migrates_is_one() -> None:
    found = series(one("pidstat-migrating.txt"))
    assert [v for _, v in found["pid 4711 postgres", "cpu_percent"]] == [50, 70, 30]
    assert [v for _, v in found["pid 4712 postgres", "cpu_percent"]] == [25, 27, 29]


def test_sar_of_all_shares_is_no_mpstat() -> None:
    report = one("sar-u-all-q.txt")
    assert (report.format, figures(report)) == ("system/sar", {"cpu_busy_sar": 15})
    assert series(report)["host", "runq_sz"] == [(600, 3), (1200, 5)]


def test_a_zone_behind_each_row_of_vmstat() -> None:
    report = one("vmstat-t-zone.txt")
    assert (str(report.began), report.seconds) == ("2026-11-24 10:00:00", 2)
    assert figures(report) == {"cpu_busy_vmstat": 50}
    assert series(report)["host", "r"] == [(1, 3), (2, 4)]


def test_two_captures_of_lock_stat_are_subtracted() -> None:
    (row,) = one("lock_stat-two-captures.txt").rows["locks"]
    assert (row["lock"], row["contended"], row["acquisitions"]) == ("&rq->__lock", 50, 10_000)
    assert row["wait_total_ns"] == 300_000


def test_two_captures_of_spinlocks_are_subtracted() -> None:
    report = one("mda-spinlocks-two-captures.txt")
    assert report.rows["latches"] == [
        {"latch": "default data cache", "gets": 500_000, "misses": 10_000},
        {"latch": "Kernel->erunqspinlock", "gets": 600_000, "misses": 300},
    ]
    assert [code for code, _ in report.notices] == ["interval-unknown"]


def test_one_capture_of_spinlocks_is_said_to_count_since_the_start(tmp_path: Path) -> None:
    whole = (CASES / "mda-spinlocks-two-captures.txt").read_text()
    place = tmp_path / "once.txt"
    place.write_text(whole[: whole.index(")") + 2])
    (report,) = reports_in(Source(place))
    assert [code for code, _ in report.notices] == ["counted-since-start"]


def test_json_of_mpstat_is_refused_by_its_name() -> None:
    with pytest.raises(InputError, match="JSON of mpstat or iostat is not read") as refused:
        read("mpstat-json.json")
    assert refused.value.hint == "record its text"


def test_the_column_of_samples_of_perf_report() -> None:
    assert {row["stack"]: row["samples"] for row in one("perf-report-n.txt").rows["profile"]} == {
        "postgres;hash_search_with_hash_value": 1700,
        "postgres;finish_task_switch.isra.0_[k]": 850,
        "qemu-system-aar;copy_page_[k]": 68,
        # the rows are 60.44 % of the samples, whose number perf cut off to 4K
        "functions not listed": 1714,
    }


def test_events_of_perf_report_are_not_added_up() -> None:
    report = one("perf-report-two-events.txt")
    assert {row["stack"]: row["samples"] for row in report.rows["profile"]} == {
        "postgres;ExecInitNode": 600, "postgres;memcpy": 200,
    }  # fmt: skip
    said = "several events: the profile is of cycles, cache-misses is left out"
    assert report.notices == [("event-left-out", said)]


def test_prstat_prints_100_000_as_a_tenth_of_a_million() -> None:
    found = series(one("prstat-M.txt"))
    # its first reading is of the whole life of each thread
    assert found["1310 dataserver/2", "usr_percent"] == [(0, 90)]
    assert found["1310 dataserver/2", "sys_percent"] == [(0, 9)]
    assert found["1310 dataserver/2", "scl"] == [(0, 100_000)]


def test_latches_of_statspack() -> None:
    report = one("statspack-9i.txt", 10)
    assert report.rows["latches"] == [
        {"latch": "cache buffers chains", "gets": 122_345_678, "misses": 367_037, "sleeps": 36_700,
         "wait_ns": 12_000_000_000},
        {"latch": "library cache", "gets": 1_234_567, "misses": 14_814, "sleeps": 7407,
         "wait_ns": 3_000_000_000},
        {"latch": "redo allocation", "gets": 234_567},
    ]  # fmt: skip


def test_sysmon_12_5() -> None:
    report = one("sysmon-12.5.txt")
    assert (str(report.began), report.seconds) == ("2003-11-24 10:00:00", 60)
    assert report.work is not None and report.work.transactions == 6000
    assert figures(report)["engine_busy_percent"] == 94
    busy = [v for (entity, name), [(_, v)] in series(report).items() if name == "engine_busy_percent"]
    assert busy == [98, 90]


# one figure that a file states twice is changed by 5 %
DISAGREE = [
    ("pgbench-failures-detailed.txt", "processed: 9000", "processed: 9450"),
    ("pgbench-progress-loop.txt", "tps = 820.0", "tps = 861.0"),
    ("pgbench-scripts.txt", "average = 4.000", "average = 4.200"),
    ("pgbench-scripts.txt", " 9010 transactions", " 9460 transactions"),
    ("sysbench-0.5.txt", "(102.38 per", "(107.50 per"),
    ("sysbench-0.5.txt", "78.00ms", "82.00ms"),
    ("go-tpc-two-runs.txt", "Count: 2400", "Count: 2520"),
    ("go-tpc-two-runs.txt", "tpmTotal: 5400.0", "tpmTotal: 5670.0"),
    ("benchbase-terminals/tpcc_0.summary.json", '"Measured Requests": 3000', '"Measured Requests": 3150'),
    ("statspack-9i.txt", "40,000           22.2", "40,000           23.3"),
    ("sysmon-12.5.txt", "Engine 1                        90.0", "Engine 1                        94.5"),
    ("sar-u-all-q.txt", "80.00", "84.00"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new"), DISAGREE, ids=[f"{n}-{o}" for n, o, _ in DISAGREE])
def test_figures_that_disagree_are_said_and_give_no_throughput(
    tmp_path: Path, name: str, old: str, new: str
) -> None:
    whole = (CASES / name).read_text()
    assert old in whole
    place = tmp_path / Path(name).name
    for text, disagree in ((whole, False), (whole.replace(old, new, 1), True)):
        place.write_text(text)
        found = reports_in(Source(place))
        assert any(code == "does-not-foot" for report in found for code, _ in report.notices) == disagree
        footing = all(report.work.foots for report in found if report.work)
        assert footing != disagree or "sar" in name


@pytest.mark.parametrize("name", [p.name for p in sorted(CASES.iterdir()) if p.is_file()])
def test_windows_line_ends_change_nothing(tmp_path: Path, name: str) -> None:
    if name.startswith("mpstat-json"):
        pytest.skip("refused")
    place = tmp_path / name
    place.write_bytes((CASES / name).read_bytes().replace(b"\n", b"\r\n"))
    found, plain = reports_in(Source(place)), reports_in(Source(CASES / name))
    assert [(r.figures, r.work, r.rows, r.began, list(readings(r.samples))) for r in found] == [
        (r.figures, r.work, r.rows, r.began, list(readings(r.samples))) for r in plain
    ]


def test_a_run_that_was_cut_off_gives_its_readings_to_no_other(tmp_path: Path) -> None:
    whole = (CASES / "pgbench-progress-loop.txt").read_text()
    first, second = whole.index("transaction type"), whole.index("pgbench (16.4)", 5)
    place = tmp_path / "cut-off.txt"
    place.write_text(whole[:first] + whole[second:])
    cut, run = reports_in(Source(place))
    assert [v for _, v in series(cut)["pgbench", "tps"]] == [100, 110]
    assert [code for code, _ in cut.notices] == ["summary-missing"]
    assert [v for _, v in series(run)["pgbench", "tps"]] == [800, 840, 820]
    said = CliRunner().invoke(cli, ["import", str(place), "--dry-run"]).stdout
    assert "clients 16, 2,460 done" in said
    assert "the run from line 1 on has no count of its work: left out" in said
