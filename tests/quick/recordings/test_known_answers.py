"""The numbers of each format, read by eye in the layouts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import layouts
import pytest
from readings import readings

from steelyard.bundle.evidence.histograms import quantiles, summary
from steelyard.errors import InputError
from steelyard.recordings.registry import reports_in
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source


def read(folder: Path, text: str) -> list[Report]:
    place = folder / "report.txt"
    place.write_text(text)
    return reports_in(Source(place))


One = Callable[[str], Report]


def figures(report: Report) -> dict[str, float]:
    return {figure.name: figure.value for figure in report.figures}


def samples(report: Report) -> dict[tuple[float, str, str], float]:
    return {(s.at_s, s.entity, s.metric): s.value for s in readings(report.samples)}


def test_sysmon_of_threaded_mode_over_two_pools(one: One) -> None:
    report = one(layouts.SYSMON_THREADED)
    found = figures(report)
    assert (report.server, report.began, report.seconds) == ("LAB_DS", datetime(2026, 3, 2, 10), 60.0)
    assert report.facts["kernel mode"] == "threaded"
    # the count over the interval, not the rounded 10.0 per second
    assert report.work is not None and report.work.transactions == 601 and not report.work.driver
    assert found["engine_ticks_user_percent"] == pytest.approx((40 + 20 + 30) / 3)
    assert found["os_cpu_of_threads_percent"] == pytest.approx(41 + 3 + 22 + 4)
    assert found["procedure_requests_per_s"] == pytest.approx(1203 / 60)
    assert found["object_manager_spinlock_contention_percent"] == 1.5
    assert samples(report)[0, "reports_pool Engine 2", "engine_ticks_user_percent"] == 30.0
    # pools and engines: user and system time, without waits for I/O
    assert {name: value for name, value in found.items() if "_pool_" in name} == {
        "engine_ticks_syb_default_pool_percent": pytest.approx(33),
        "engine_ticks_syb_default_pool_engine_0_percent": pytest.approx(42),
        "engine_ticks_syb_default_pool_engine_1_percent": pytest.approx(24),
        "engine_ticks_reports_pool_percent": pytest.approx(30),
        "engine_ticks_reports_pool_engine_2_percent": pytest.approx(30),
    }
    sleeps = "cpu yields by engine / syb_default_pool / Engine 0 / Full Sleeps"
    assert samples(report)[0, sleeps, "rate_per_s"] == 50.0


def test_sysmon_of_process_mode_whose_header_lost_its_colons(one: One) -> None:
    report = one(layouts.SYSMON_PROCESS)
    found = figures(report)
    assert (report.began, report.seconds) == (datetime(2026, 3, 2, 12, 5), 30.0)
    assert report.facts["kernel mode"] == "process"
    assert found["engine_busy_cpu_percent"] == 50.0
    assert found["engine_busy_io_percent"] == 15.0
    assert found["cpu_yields_per_s"] == pytest.approx(602 / 30)
    # it has another name than the ticks of the threaded mode, which count something else
    assert "engine_ticks_user_percent" not in found


def test_a_total_below_the_engines_of_a_pool_is_the_servers(one: One) -> None:
    table = """
Task Management                   per sec      per xact       count  % of total
---------------------------  ------------  ------------  ----------  ----------

  Task Context Switches by Engine

  ThreadPool : syb_default_pool
    Engine 0                         10.0           1.0         600      60.0 %

  ThreadPool : reports_pool
    Engine 1                          6.7           0.7         400      40.0 %

  -------------------------  ------------  ------------  ----------
    Total Context Switches           16.7           1.7        1000
"""
    found = samples(one(layouts.SYSMON_THREADED + table))
    switches = "Task Context Switches by Engine"
    assert found[0, f"task management / reports_pool / {switches} / Engine 1", "count"] == 400
    assert found[0, f"task management / {switches} / Total Context Switches", "count"] == 1000


def test_several_sysmon_reports_in_one_file(tmp_path: Path) -> None:
    found = read(tmp_path, layouts.SYSMON_PROCESS + layouts.SYSMON_THREADED)
    assert [report.server for report in found] == ["OLD_DS", "LAB_DS"]


def test_monitorconfig_has_a_limit_and_its_times(one: One) -> None:
    report = one(layouts.MONITORCONFIG)
    found = samples(report)
    assert report.began == datetime(2026, 3, 2, 10) and report.seconds == 300.0
    assert found[0.0, "procedure cache size", "num_active"] == 3000
    assert found[300.0, "procedure cache size", "num_active"] == 9980
    assert found[300.0, "procedure cache size", "num_active_limit"] == 10_000
    assert found[300.0, "procedure cache size", "active_percent"] == pytest.approx(99.8)
    assert found[0.0, "number of open objects", "reused_total"] == 12


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (layouts.MONITOR_TABLES, ("default data cache", 1_000_000, 4500)),
        (layouts.MONITOR_CSV, ("default data cache", 1000, 30)),
    ],
)
def test_spinlocks_are_latches_by_their_counts(one: One, text: str, expected: tuple[str, int, int]) -> None:
    row = one(text).rows["latches"][0]
    assert (row["latch"], row["gets"], row["misses"]) == expected


def of_dbxtune(folder: Path, table: str, text: str) -> Report:
    place = folder / f"{table}.csv"
    place.write_text(text)
    (report,) = reports_in(Source(place))
    return report


def test_tables_of_dbxtune(tmp_path: Path) -> None:
    report = of_dbxtune(tmp_path, "CmEngines_abs", layouts.DBXTUNE_ENGINES)
    found = samples(report)
    assert (report.began, report.seconds) == (datetime(2026, 3, 2, 10, 0, 0, 123_000), 60.0)
    assert found[0.0, "CmEngines 0", "contextswitches_total"] == 1000
    assert found[60.0, "CmEngines 0", "contextswitches_total"] == 4000
    # NULL is not 0
    assert found[0.0, "CmEngines 0", "cputime_total"] == 12.5
    assert (60.0, "CmEngines 0", "cputime") not in found
    cache = samples(of_dbxtune(tmp_path, "CmStatementCache_abs", layouts.DBXTUNE_CACHE))
    assert cache[0.0, "CmStatementCache", "usedsizekb_limit"] == 20_480
    spinlocks = of_dbxtune(tmp_path, "CmSpinlockActivity_diff", layouts.DBXTUNE_SPINLOCKS)
    assert spinlocks.rows["latches"] == [{"latch": "default data cache", "gets": 1_000_500, "misses": 4510}]


def test_a_table_of_dbxtune_as_csv(tmp_path: Path) -> None:
    place = tmp_path / "CmSpMonitorConfig_abs.csv"
    place.write_text(layouts.DBXTUNE_CSV)
    (report,) = reports_in(Source(place))
    found = samples(report)
    assert report.seconds == 300.0
    assert found[300.0, "CmSpMonitorConfig procedure cache size", "numactive"] == 9980
    assert found[300.0, "CmSpMonitorConfig procedure cache size", "numactive_limit"] == 10_000


def test_rates_of_dbxtune_are_refused_with_the_table_that_counts(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        of_dbxtune(tmp_path, "CmEngines_rate", layouts.DBXTUNE_ENGINES)
    assert "CmEngines_abs" in refused.value.hint


def test_a_database_of_h2_is_refused_with_the_command_that_exports_it(tmp_path: Path) -> None:
    place = tmp_path / "LAB_DS.mv.db"
    place.write_bytes(b"H:2,block:5,blockSize:1000,chunk:1,clean:1,created:19" + bytes(4096))
    with pytest.raises(InputError, match="which only Java reads") as refused:
        reports_in(Source(place))
    assert "csvwrite" in refused.value.hint


def test_statement_cache_of_the_monitor_tables(one: One) -> None:
    found = samples(one(layouts.MONITOR_TABLES))
    assert found[0, "instanceid 0", "usedsizekb"] == 4200
    assert found[0, "instanceid 0", "usedsizekb_limit"] == 100_000
    assert found[0, "instanceid 0", "hitcount_total"] == 8990


def test_awr_takes_exact_counts_and_leaves_rounded_ones_open(one: One) -> None:
    report = one(layouts.AWR)
    latches = {row["latch"]: row for row in report.rows["latches"]}
    assert report.began == datetime(2026, 3, 2, 10) and report.seconds == 600.0
    assert report.work is not None and report.work.transactions == 60_000
    assert latches["cache buffers chains"] == {
        "latch": "cache buffers chains", "gets": 4_000_000_001, "misses": 192_545, "sleeps": 122,
        "spin_gets": 192_419, "wait_ns": 2_000_000_000,
    }  # fmt: skip
    # 0 s is less than a second, and ##### is unknown: neither is 0
    assert latches["undo global data"] == {"latch": "undo global data", "gets": 2_453_181}
    assert latches["wide latch"] == {"latch": "wide latch"}


def test_a_row_of_awr_without_all_its_cells_is_left_out_and_said(tmp_path: Path) -> None:
    place = tmp_path / "latches.txt"
    place.write_text(
        "Latch Sleep Breakdown\n\nLatch Name| Get Requests| Misses| Sleeps| Spin Gets\n"
        "whole| 1000| 40| 3| 37|\ncut off| 1000| 40\n"
    )
    source = Source(place)
    (report,) = reports_in(source)
    assert report.rows["latches"] == [
        {"latch": "whole", "gets": 1000, "misses": 40, "sleeps": 3, "spin_gets": 37}
    ]
    assert [line for _, line in source.skipped.lines] == ["cut off| 1000| 40"]


def test_awr_as_html(one: One) -> None:
    report = one(layouts.AWR_HTML)
    assert report.seconds == 600.0
    assert report.rows["latches"] == [
        {"latch": "shared pool", "gets": 6_012_944, "misses": 1423, "sleeps": 42, "spin_gets": 1382}
    ]


def test_two_captures_of_v_latch_are_subtracted(one: One) -> None:
    (row,) = one(layouts.V_LATCH).rows["latches"]
    assert row == {"latch": "Result Cache: RC Latch", "gets": 500_001, "misses": 2000, "sleeps": 4,
                   "spin_gets": 1996, "wait_ns": 1_000_000}  # fmt: skip


def test_a_counter_that_went_back_is_reported_and_not_subtracted(one: One) -> None:
    with pytest.raises(InputError, match="the counts of Result Cache: RC Latch went back"):
        one(layouts.V_LATCH.replace("501001", "   901"))


def test_statistics_of_the_result_cache(one: One) -> None:
    found = samples(one(layouts.RESULT_CACHE))
    assert found[0, "result cache", "block_count_current"] == 512
    assert found[0, "result cache", "block_count_current_limit"] == 1024
    assert found[0, "result cache", "find_count_total"] == 250_000


def test_lockmeter_with_callers_and_reader_writer_locks(one: One) -> None:
    report = one(layouts.LOCKMETER)
    rows = report.rows["locks"]
    assert report.seconds == 60.5
    assert [(r["lock"], r["type"], r["call_site"]) for r in rows] == [
        ("*TOTAL*", "", ""),
        ("net_device->queue_lock", "spinlock", ""),
        ("net_device->queue_lock", "spinlock", "net_tx_action+0x240"),
        ("tasklist_lock", "rwlock:R", ""),
        ("tasklist_lock", "rwlock:W", ""),
    ]
    assert [r["acquisitions"] for r in rows] == [1_000_000, 2000, 1000, 40_000, 500]
    assert [r["contended"] for r in rows] == [30_000, 1000, 800, 400, 10]
    # 17 % spun; the others that found it held were rejected, and did not wait
    assert (rows[1]["wait_total_ns"], rows[1]["wait_max_ns"]) == (340 * 175_000, 29_000_000)
    assert rows[1]["utilisation_percent"] == 7.5 and rows[0]["utilisation_percent"] is None
    assert rows[1]["wait_cpu_percent"] == 4.7
    assert dict(report.notices)["source-warns"].endswith("Read Lock table overflowed.")


def test_lockmeter_with_wrapped_lines(one: One) -> None:
    rows = one(layouts.LOCKMETER_WRAPPED).rows["locks"]
    assert [(r["lock"], r["acquisitions"]) for r in rows] == [
        ("*TOTAL*", 65_591_728),
        ("do_ipsintr+0x24", 1_326_034),
    ]
    assert rows[1]["wait_max_ns"] == 202_000 and rows[1]["hold_mean_ns"] == 63_000


def test_lock_stat_in_both_versions(one: One) -> None:
    (new,) = one(layouts.LOCK_STAT).rows["locks"]
    assert (new["lock"], new["type"], new["contended"]) == ("&mm->mmap_sem-W", "rwsem:W", 84)
    assert (new["wait_total_ns"], new["wait_max_ns"]) == (16_371_530, 939_100)
    assert (new["acquisitions"], new["hold_mean_ns"]) == (2_922_365, 1000.0)
    read = {(s.entity, s.metric): s.value for s in readings(one(layouts.LOCK_STAT).samples)}
    assert read == {
        ("&mm->mmap_sem-W", "contention_bounces_total"): 46,
        ("&mm->mmap_sem-W", "wait_min_ns"): 260,
        ("&mm->mmap_sem-W", "acquisition_bounces_total"): 47_291,
        ("&mm->mmap_sem-W", "hold_min_ns"): 160,
        ("&mm->mmap_sem-W", "hold_ns_total"): 2_922_365_000,
        ("&mm->mmap_sem at vm_munmap+0x41/0x80", "contentions"): 45,
        ("&mm->mmap_sem at vm_munmap+0x41/0x80", "waited_for"): 84,
    }
    (old,) = one(layouts.LOCK_STAT_OLD).rows["locks"]
    assert (old["contended"], old["wait_total_ns"], old["acquisitions"]) == (3, 4500, 2000)
    assert old["hold_mean_ns"] == 2000.0


def test_perf_report_with_empty_columns_after_the_symbol(one: One) -> None:
    heading = "# Overhead  Command  Shared Object         Symbol             IPC   [IPC Coverage]"
    text = layouts.PERF_REPORT.replace("# Overhead  Command  Shared Object         Symbol", heading)
    text = text.replace("futex_wake\n", "futex_wake         -      -            \n")
    assert one(text).rows == one(layouts.PERF_REPORT).rows


def test_perf_lock_contention(one: One) -> None:
    rows = one(layouts.PERF_LOCK).rows["locks"]
    assert [(r["type"], r["contended"], r["wait_total_ns"], r["wait_max_ns"]) for r in rows] == [
        ("spinlock", 6, 6_030_000_000, 6_030_000_000),
        ("rwsem:W", 20, 400_000, 90_000),
    ]
    assert rows[1]["call_site"] == "do_mmap+0x5b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            layouts.READPROFILE,
            {"default_idle_[k]": 27_000_000, "schedule_[k]": 1_000_000, "do_page_fault_[k]": 500_000,
             "functions not listed_[k]": 33_500_000},
        ),
        (
            layouts.KERNPROF,
            {"USER": 2_159_334, "default_idle_[k]": 759_032, "do_ipsintr_[k]": 76_169,
             "functions not listed_[k]": 142_520},
        ),
        (
            layouts.PERF_REPORT,
            {"mariadbd;row_search_mvcc(unsigned char*, page_cur_mode_t)": 55,
             "mariadbd;futex_wake_[k]": 20,
             "V8 DefaultWorke;0x0000000003caba11": 10, "swapper;default_idle_[k]": 5,
             "functions not listed": 110},
        ),
        (layouts.PERF_SCRIPT, {"bash;_Fork;down_write_[k]": 2, "swapper;default_idle_[k]": 1}),
    ],
)  # fmt: skip
def test_profiles_by_function(one: One, text: str, expected: dict[str, int]) -> None:
    assert {r["stack"]: r["samples"] for r in one(text).rows["profile"]} == expected


def test_vmstat_leaves_out_what_counts_since_the_boot(one: One) -> None:
    report = one(layouts.VMSTAT)
    # a reading stands for the second before it: two of them from 10:00:00 to 10:00:02
    assert report.began == datetime(2026, 3, 2, 10) and report.seconds == 2.0
    # 100 less idle and waiting: 90 and 70
    assert figures(report) == {"cpu_busy_vmstat": 80.0}
    assert samples(report)[2.0, "cpu all", "wa_percent"] == 10
    assert samples(report)[1.0, "host", "cs"] == 35_737


def test_vmstat_of_linux_2_4(one: One) -> None:
    report = one(layouts.VMSTAT_24)
    assert figures(report) == {"cpu_busy_vmstat": 3.0}
    assert {code for code, _ in report.notices} == {"since-boot", "interval-unknown"}


def test_mpstat_by_cpu(one: One) -> None:
    report = one(layouts.MPSTAT)
    assert report.began == datetime(2026, 3, 27, 10) and report.seconds == 2.0
    assert report.facts["CPUs"] == "2"
    assert figures(report) == {"cpu_busy_mpstat": 70.0}
    assert samples(report)[2.0, "cpu 0", "usr_percent"] == 80.0


def test_pidstat_names_processes_with_blanks(one: One) -> None:
    found = samples(one(layouts.PIDSTAT))
    assert found[2.0, "pid 4711 postgres: lab lab idle", "cpu_percent"] == 50.0


def test_pidstat_with_all_columns_in_one_table(one: One) -> None:
    found = samples(one(layouts.PIDSTAT_ALL))
    assert found[1.0, "pid 1021 postgres", "cpu_percent"] == 52.0
    # the number of the CPU where it ran last is no figure
    assert not any(metric == "cpu" for *_, metric in found)


def test_filesystems_of_sar_without_their_summary(tmp_path: Path) -> None:
    place = tmp_path / "sar.txt"
    place.write_text(layouts.SAR_FILESYSTEMS)
    source = Source(place)
    (report,) = reports_in(source)
    assert samples(report)[2.0, "filesystem /dev/sda1", "mbfsused"] == 10340
    assert source.skipped.lines == []


def test_iostat_with_decimal_commas(one: One) -> None:
    report = one(layouts.IOSTAT)
    assert figures(report) == {"cpu_busy_iostat": 50.0}
    assert samples(report)[0.0, "device sda", "w_per_s"] == 50.5


def test_iostat_at_its_times(one: One) -> None:
    report = one(layouts.IOSTAT_TIMES)
    assert report.began == datetime(2026, 3, 2, 10, tzinfo=UTC) and report.seconds == 4.0
    assert figures(report) == {"cpu_busy_iostat": 80.0}
    assert samples(report)[2.0, "device vda", "util_percent"] == 20.0


def test_queues_of_sar(one: One) -> None:
    found = samples(one(layouts.SAR_QUEUE))
    assert (found[1.0, "host", "runq_sz"], found[1.0, "cpu all", "nice_percent"]) == (5, 90.51)


def test_sar_over_midnight(one: One) -> None:
    report = one(layouts.SAR)
    assert report.began == datetime(2026, 3, 2, 23, 59, 59)
    assert report.seconds == 2.0 and figures(report) == {"cpu_busy_sar": 60.0}


def test_sadf_is_in_utc(one: One) -> None:
    report = one(layouts.SADF)
    # its first reading, at 10:00:00, stands for one second
    assert report.began == datetime(2026, 3, 2, 9, 59, 59, tzinfo=UTC) and report.seconds == 3.0
    assert figures(report) == {"cpu_busy_sar": 70.0}
    assert samples(report)[3.0, "host", "queue_runq_sz"] == 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (layouts.SOLARIS_MPSTAT, {"cpu_busy_mpstat": 70.0}),
        (layouts.SOLARIS_VMSTAT, {"cpu_busy_vmstat": 80.0}),
    ],
)
def test_mpstat_and_vmstat_of_solaris(one: One, text: str, expected: dict[str, float]) -> None:
    assert figures(one(text)) == expected


def test_the_two_sy_of_vmstat_are_told_apart(one: One) -> None:
    found = samples(one(layouts.SOLARIS_VMSTAT))
    assert (found[0, "host", "sy"], found[0, "host", "sys_percent"]) == (8200, 18)


def test_prstat_with_a_user_beside_its_process(one: One) -> None:
    found = samples(one(layouts.PRSTAT))
    assert found[0, "74241 dnx/29", "scl"] == 11_000
    assert found[0, "123456 dataserver/3", "usr_percent"] == 60
    assert found[0, "123456 dataserver/3", "vcx"] == 2000
    assert found[0, "123456 dataserver/3", "scl"] == 2_000_000
    assert found[0, "host", "lwps"] == 456


def test_lockstat_of_solaris(one: One) -> None:
    report = one(layouts.SOLARIS_LOCKSTAT)
    first, second = report.rows["locks"]
    assert report.seconds == 5.011
    assert (first["lock"], first["contended"], first["wait_total_ns"]) == (
        "vm_page_queue_free_mtx",
        13_750,
        990_000,
    )
    assert (second["call_site"], second["wait_total_ns"]) == ("pcx_get+0x5b", 800_000)


def test_a_dispatch_table_in_its_own_resolution(one: One) -> None:
    found = samples(one(layouts.DISPADMIN))
    assert found[0, "priority 0", "ts_quantum_ms"] == 200
    assert found[0, "priority 59", "ts_quantum_ms"] == 20
    assert found[0, "priority 59", "ts_maxwait"] == 32_000


def test_captures_of_mdb(one: One) -> None:
    found = samples(one(layouts.MDB))
    assert found[0, "cpu 0", "runnable_threads"] == 2
    assert found[0, "waiting java ffffff00cd4b8d40", "priority"] == 29
    assert found[0, "Kernel", "pages"] == 221_753
    assert found[0, "threads run at priority 29", "threads"] == 2


def test_pgbench_by_count_and_rate(one: One) -> None:
    report = one(layouts.PGBENCH)
    assert report.work is not None and (report.work.transactions, report.work.errors) == (1000, 2)
    assert (report.clients, report.seconds) == (4, 2.0)
    assert figures(report)["latency_mean"] == 7.75
    assert samples(report)[2.0, "pgbench", "tps"] == 520.0


def test_pgbench_log_by_second_client_and_latency(one: One) -> None:
    report = one(layouts.PGBENCH_LOG)
    assert report.work is not None
    assert (report.work.transactions, report.work.errors) == (3, 1)
    assert report.work.by_second == ((0, 2, 0), (1, 1, 1))
    assert report.clients == 2 and report.seconds == pytest.approx(0.801)
    (latency,) = report.rows["latency"]
    count, lowest, mean, highest = summary(latency["histogram"], "")
    assert (count, round(mean, -4)) == (3, 1_830_000)
    assert lowest == pytest.approx(1e6, rel=1e-3) and highest == pytest.approx(3e6, rel=1e-3)
    assert quantiles(latency["histogram"], [0.5], "")[0] == pytest.approx(1.5e6, rel=1e-3)
    assert [row["transactions"] for row in report.rows["clients"]] == [2, 1]
    assert "1 transactions were skipped" in dict(report.notices)["skipped"]


def test_a_seventh_column_of_a_pgbench_log_is_not_guessed(one: One) -> None:
    report = one(layouts.PGBENCH_LOG.replace("\n", " 7\n"))
    assert report.work is not None and report.work.transactions == 3
    assert "lag or a number of retries" in dict(report.notices)["column-not-read"]


def test_pgbench_by_intervals(one: One) -> None:
    report = one(layouts.PGBENCH_AGGREGATE)
    assert report.work is not None and report.work.by_second == ((0, 217, 0), (1, 1693, 0))
    assert report.seconds == 2.0
    assert figures(report)["latency_mean"] == pytest.approx((126964 + 999264) / 1910 / 1e3)


def test_sysbench(one: One) -> None:
    report = one(layouts.SYSBENCH)
    assert report.work is not None and (report.work.transactions, report.work.errors) == (1486, 3)
    assert (report.clients, report.seconds) == (2, 4.0)
    assert figures(report) == {"latency_min": 0.73, "latency_mean": 5.39, "latency_max": 19.67, "p99": 13.7}
    assert samples(report)[1.0, "sysbench", "tps"] == 345.94


def test_hammerdb(one: One) -> None:
    report = one(layouts.HAMMERDB)
    assert figures(report) == {"nopm": 128_176, "tpm": 300_000}
    assert report.clients == 24 and report.seconds == 20.0
    assert report.work is not None and report.work.transactions == 100_000
    assert samples(report)[10.0, "hammerdb", "tpm"] == 185_196
    assert samples(report)[0, "procedure NEWORD", "calls"] == 1802


def test_benchbase(one: One) -> None:
    report = one(layouts.BENCHBASE)
    assert report.began == datetime(2026, 3, 2, 10, tzinfo=UTC) and report.seconds == 60.0
    assert report.work is not None and (report.work.transactions, report.work.errors) == (6000, 10)
    assert figures(report) == {"latency_mean": 2.5, "p99": 9.0}


def test_benchbase_raw(one: One) -> None:
    report = one(layouts.BENCHBASE_RAW)
    assert report.work is not None and report.work.transactions == 3 and report.clients == 2
    assert report.began == datetime(2026, 3, 2, 10, 0, 0, 500_000, tzinfo=UTC)


def test_go_tpc(one: One) -> None:
    report = one(layouts.GO_TPC)
    assert report.work is not None and (report.work.transactions, report.work.errors) == (2670, 3)
    assert report.seconds == 60.0
    assert figures(report) == {"tpmc": 1200.1, "tpm_total": 2670.3}


def test_specjbb2005(one: One) -> None:
    assert figures(one(layouts.SPECJBB)) == {
        "warehouse_least": 120_000, "warehouse_most": 126_000, "thread_spread": 5.0, "bops": 243_639.70,
    }  # fmt: skip


def test_jmeter_by_the_names_of_its_columns(one: One) -> None:
    report = one(layouts.JMETER)
    assert report.work is not None and (report.work.transactions, report.work.errors) == (2, 1)
    assert report.clients == 2 and report.seconds == pytest.approx(1.1)


def test_k6(one: One) -> None:
    report = one(layouts.K6)
    assert report.work is not None and report.work.by_second == ((0, 1, 0), (1, 0, 1))
    assert report.clients == 4
    (latency,) = report.rows["latency"]
    assert summary(latency["histogram"], "")[2] == pytest.approx(12.5e6, rel=1e-3)


def test_outputs_of_sysstat_in_one_file(tmp_path: Path) -> None:
    place = tmp_path / "all.txt"
    place.write_text("".join([layouts.MPSTAT, layouts.IOSTAT_TIMES, layouts.PIDSTAT]))
    source = Source(place)
    found = {report.format: report for report in reports_in(source)}
    assert source.skipped.lines == []
    assert [*found] == ["system/mpstat", "system/iostat", "system/pidstat"]
    assert figures(found["system/iostat"]) == {"cpu_busy_iostat": 80.0}


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        (layouts.PERF_REPORT + "---\n" + layouts.PERF_SCRIPT, ["kernel/perf_report", "kernel/perf_script"]),
        (layouts.MPSTAT + layouts.VMSTAT, ["system/mpstat", "system/vmstat"]),
        (f"### a ###\n{layouts.VMSTAT}### b ###\n{layouts.LOCK_STAT}", ["system/vmstat", "kernel/lock_stat"]),
    ],
)
def test_outputs_of_two_tools_in_one_file_are_refused_by_name(
    tmp_path: Path, text: str, tools: list[str]
) -> None:
    with pytest.raises(InputError) as refused:
        read(tmp_path, text)
    assert all(tool in str(refused.value) for tool in tools) and "one file per tool" in refused.value.hint


def test_a_part_of_a_sysmon_report_below_its_title(tmp_path: Path) -> None:
    part = (
        '--- sp_sysmon "00:00:30" ---\n  SQL Statement Cache:\n'
        "    Statements Cached                 0.1           0.0           3       n/a\n"
        "    Statements Found in Cache        20.0           0.6         601       n/a\n"
    )
    (report,) = read(tmp_path, part)
    assert report.seconds == 30.0
    assert figures(report) == {
        "statements_cached_per_s": 0.1, "statements_found_in_cache_per_s": pytest.approx(601 / 30),
    }  # fmt: skip


def test_a_state_that_sysmon_prints_has_no_rate(one: One) -> None:
    state = "  Active                            n/a           n/a         499       n/a\n"
    found = samples(one(layouts.SYSMON_THREADED.replace("\n  SQL Statement Cache:", f"\n{state}\n  SQL:")))
    assert [(m, v) for (_, e, m), v in found.items() if e.endswith("/ Active")] == [("count", 499)]
