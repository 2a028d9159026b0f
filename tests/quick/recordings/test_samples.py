"""Reports of real systems, whose figures were read by eye; they are not ours to publish.

STEELYARD_SAMPLES names the folder that holds them.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from readings import readings
from real_reports import figures, needs_reports, only, parts, read

from steelyard.recordings.registry import reports_in
from steelyard.recordings.report import Report

pytestmark = needs_reports


def samples(report: Report, entity: str) -> dict[str, float]:
    return {s.metric: s.value for s in readings(report.samples) if s.entity == entity}


def test_monitor_tables_and_a_part_of_sysmon_in_one_file() -> None:
    source, part = parts("ase_mda_live_busy.txt")
    statements, engines, spinlocks = reports_in(source)
    (sysmon,) = reports_in(part)
    assert source.skipped.count + part.skipped.count == 2
    cache = {"totalsizekb": 204_800, "usedsizekb": 8216, "usedsizekb_limit": 204_800, "numstatements": 0,
             "numsearches_total": 85_291, "hitcount_total": 85_291, "numinserts_total": 0,
             "numremovals_total": 0}  # fmt: skip
    assert samples(statements, "instanceid 0") == cache
    busy = {"systemtime": 13.33, "usertime": 86.66, "iotime": 0, "idletime": 3.33}
    assert samples(engines, "enginenumber 0") == busy
    assert [(row["latch"], row["gets"], row["misses"]) for row in spinlocks.rows["latches"]] == [
        ("default data cache", 10_264_374, 405_564),
        ("Resource->rdesmgr_spin", 2_388_383, 17_811),
        ("Resource->rprocmgr_spin", 1_440_264, 10_800),
        ("SSQLCACHE_SPIN[i]", 373_228, 2409),
        ("Resource->rqueryplan_spin[i]", 4_272_404, 817),
    ]
    assert [s.value for s in readings(spinlocks.samples)] == [
        54_489_379,
        16_736_488,
        1_281_964,
        424_599,
        684_881,
    ]
    assert sysmon.seconds == 45.0
    found = samples(sysmon, "SQL Statement Cache / Statements Found in Cache")
    assert found == {"count": 123_360, "rate_per_s": pytest.approx(2741.3, abs=0.05)}
    assert samples(sysmon, "SQL Statement Cache / Statements Restored")["count"] == 10


def test_monitorconfig() -> None:
    report = only("ase_monitorconfig.txt", 3)
    assert report.began == datetime(2002, 10, 25, 10, 36)
    assert samples(report, "procedure cache size") == {
        "num_active": 1000, "num_active_limit": 7000, "active_percent": pytest.approx(14.29, abs=0.005),
        "max_used": 1200, "reused_total": 0,
    }  # fmt: skip


def test_sysmon_of_process_mode() -> None:
    report = only("ase_sysmon_process_kernel.txt")
    assert (report.server, report.began) == ("server_name_A", datetime(2020, 5, 9, 22, 9, 26))
    assert report.seconds == 15.0 and report.facts["Sample Mode"] == "Reset Counters"
    busy = {name: value for name, value in figures(report).items() if "server" in name and value}
    assert sum(busy.values()) == pytest.approx(0.6)
    assert figures(report) == {
        "cpu_yields_per_s": pytest.approx(1191.2),
        "engine_busy_cpu_percent": pytest.approx(0.6 / 20),
        "engine_busy_io_percent": pytest.approx(99.4 / 20),
        "engine_busy_idle_percent": pytest.approx(1900 / 20),
        **{f"engine_busy_server_engine_{i}_percent": 0 for i in range(20) if i not in busy},
        **busy,
    }
    yields = [samples(report, f"cpu yields by engine / Engine {i}")["count"] for i in range(20)]
    middle = [937, 935, 936, 936, 936, 935, 936, 931, 935, 935, 936, 935, 935, 147, 935, 933, 936, 934]
    assert yields == [889, *middle, 936]
    for path, count in {"Total CPU Yields": 17_868, "Network Checks / Non-Blocking": 3_394_706,
                        "Network Checks / Blocking": 17_720, "Total Network IO Checks": 3_412_426,
                        "Disk IO Checks / Total Disk IO Checks": 3_416_122,
                        "Disk IO Checks / Checks Returning IO": 2_719_548}.items():  # fmt: skip
        assert samples(report, f"cpu yields by engine / {path}")["count"] == count
    assert samples(report, "cpu yields by engine / Avg Net IOs per Check") == {"average": 0.00012}


def test_sysmon_of_threaded_mode() -> None:
    report = only("ase_sysmon_threaded_16sp2.txt")
    assert (report.server, report.began) == ("GORAN_UB3_DS", datetime(2016, 5, 18, 22, 21, 58))
    assert report.seconds == 120.0 and report.work is not None and report.work.transactions == 20
    found = figures(report)
    assert found["os_cpu_of_threads_percent"] == 0.3 and found["xacts_per_cpu_unit"] == 44.4
    assert (found["engine_ticks_io_percent"], found["engine_ticks_idle_percent"]) == (0.1, 99.9)
    assert found["procedure_requests_per_s"] == pytest.approx(2 / 120)
    due = {"Voluntary Yields": 68, "Cache Search Misses": 66, "Exceeding I/O batch size": 17,
           "System Disk Writes": 131, "Last Log Page Writes": 5, "Latch Contention": 0,
           "Other Causes": 358}  # fmt: skip
    for cause, count in due.items():
        entity = f"task management / Task Context Switches Due To / {cause}"
        assert samples(report, entity)["count"] == count
    # a state has no rate: 'per sec' is n/a
    assert samples(report, "metadata cache summary / Open Object Usage / Active") == {"count": 499}
    reuse = "metadata cache summary / Open Object Usage / Reuse Requests / Succeeded"
    assert samples(report, reuse) == {"count": 4702}
    assert samples(report, "server Server Summary Total")["os_threads_idle_percent"] == 799.6
    assert samples(report, "page faults at os / Minor Faults")["count"] == 31


def test_a_perf_report_and_a_perf_script() -> None:
    found = read("perf_report_script.txt")
    assert {row["stack"]: row["samples"] for row in found["kernel/perf_report"].rows["profile"]} == {
        # of 227 samples 27.75 %, 20.26 % and so on
        "python3;unicodekeys_lookup_unicode": 63, "python3;_PyEval_EvalFrameDefault": 46,
        "python3;_Py_dict_lookup": 20, "python3;insertdict": 15, "python3;_PyObject_Free": 14,
        "python3;_PyLong_New": 9, "python3;_PyObject_Malloc": 9, "functions not listed": 51,
    }  # fmt: skip
    (row,) = found["kernel/perf_script"].rows["profile"]
    assert row["samples"] == 1
    assert row["stack"] == (
        "bash;_Fork;entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];__do_sys_clone_[k];kernel_clone_[k];"
        "copy_process_[k];dup_mmap_[k];anon_vma_fork_[k];anon_vma_clone_[k];down_write_[k]"
    )


def test_hammerdb() -> None:
    report = only("hammerdb_cli_output.txt")
    assert figures(report) == {"nopm": 128_176, "tpm": 298_394}
    assert (report.clients, report.began) == (24, datetime(2025, 4, 14, 17, 9, 41))
    counts = [s.value for s in readings(report.samples) if s.metric == "tpm"]
    assert (len(counts), counts[:3], counts[-1]) == (43, [0, 185_196, 309_240], 305_400)
    # 17:09:41 to 17:16:42
    assert report.seconds == 421.0
    delivery = {"elapsed_ms": 414_691.5, "calls": 180_264, "min_ms": 1.651, "avg_ms": 10.186,
                "max_ms": 108.887, "total_ms": 1_836_174.18, "p99_ms": 20.46, "p95_ms": 15.917,
                "p50_ms": 9.601, "sd": 3354.046, "ratio_pct": 9.225}  # fmt: skip
    assert samples(report, "procedure DELIVERY") == delivery
    assert samples(report, "procedure SLEV")["calls"] == 180_616


def test_locks_and_profiles_of_four_tools() -> None:
    found = read("linux_locks.txt", 7)
    total, queue, caller = found["kernel/lockmeter"].rows["locks"]
    assert found["kernel/lockmeter"].seconds == 640.61
    assert [row["acquisitions"] for row in (total, queue, caller)] == [320_195_677, 2_666_132, 1_124_063]
    assert [row["hold_mean_ns"] for row in (total, queue, caller)] == [2200, 1700, 700]
    assert [row["wait_max_ns"] for row in (total, queue, caller)] == [488_000_000, 29_000_000, 0]
    assert (queue["utilisation_percent"], caller["call_site"]) == (7.5, "net_tx_action+0x240")
    (one,) = found["kernel/lock_stat"].rows["locks"]
    assert (one["contended"], one["wait_total_ns"], one["wait_max_ns"]) == (84, 16_371_530, 939_100)
    (one,) = found["kernel/perf_lock"].rows["locks"]
    assert (one["contended"], one["wait_total_ns"]) == (6, 6_030_000_000)
    ticks = {row["stack"]: row["samples"] for row in found["kernel/readprofile"].rows["profile"]}
    assert ticks == {"default_idle_[k]": 27_173_178, "functions not listed_[k]": 62_551_761 - 27_173_178}


def test_vmstat_of_two_kernels() -> None:
    report = only("linux_vmstat_t.txt")
    assert report.began == datetime(2026, 11, 21, 5, 31, 40) and report.seconds == 2.0
    assert [s.value for s in readings(report.samples) if s.metric == "cs"] == [35_737, 46_877]
    assert [s.value for s in readings(report.samples) if s.metric == "us_percent"] == [79, 74]
    old = only("linux24_vmstat_jc_reads_empty.txt")
    assert samples(old, "host") == {
        "r": 1, "b": 0, "w": 0, "swpd": 0, "free": 430_412, "buff": 22_956, "cache": 415_696, "si": 0,
        "so": 0, "bi": 4, "bo": 6, "in": 106, "cs": 132,
    }  # fmt: skip
    assert samples(old, "cpu all") == {"us_percent": 1, "sy_percent": 1, "id_percent": 98}


def test_latches_of_awr_as_markdown() -> None:
    report = only("oracle_awr_latch.txt", 5)
    rows = [[row.get(n) for n in ("gets", "misses", "sleeps", "spin_gets")] for row in report.rows["latches"]]
    assert rows == [
        [4_639_396_987, 192_545, 122, 192_419], [58_616_559, 25_026, 23, 25_003], [6_012_944, 1423, 42, 1382],
        [0, None, None, None],
    ]  # fmt: skip
    assert samples(report, "mutex Library Cache at kglhdgn2 106") == {"sleeps": 8, "wait_ms": 0}


def test_pgbench() -> None:
    events, plain, lag, by_second, of_lag = [
        report for part in parts("pgbench_logs.txt") for report in reports_in(part)
    ]
    assert [r.work.transactions for r in (events, plain, lag) if r.work] == [2, 2, 2]
    # the first transaction began 1156 µs before its end at 1795239007.267490
    assert events.began == datetime(2026, 11, 21, 5, 30, 7, 266_334, tzinfo=UTC)
    assert by_second.work is not None and by_second.work.by_second == ((0, 217, 0), (1, 1693, 0))
    assert of_lag.work is not None and of_lag.work.by_second == ((0, 106, 0), (1, 205, 0))
    assert figures(of_lag)["latency_mean"] == pytest.approx((1_035_029 + 2_580_897) / 311 / 1e3)
    progress = only("pgbench_progress.txt")
    assert [s.value for s in readings(progress.samples) if s.metric == "tps"] == [529.3, 491.8, 474.4]
    assert [s.value for s in readings(progress.samples) if s.metric == "latency_mean_ms"] == [
        7.410,
        8.120,
        8.442,
    ]
    summary = only("pgbench_summary.txt")
    assert summary.work is not None and (summary.work.transactions, summary.work.errors) == (2996, 0)
    assert summary.clients == 4 and summary.seconds == pytest.approx(2996 / 500.230998)
    assert figures(summary) == {
        "latency_mean": 7.982, "latency_stddev": 5.723, "initial_connection_time": 31.495,
    }  # fmt: skip
    means = [s.value for s in readings(summary.samples) if s.metric == "latency_mean_ms"]
    assert means == [0.002, 0.001, 0.002, 0.001, 0.548, 0.501, 0.723, 0.936, 2.472, 0.508, 2.291]


def test_sadf() -> None:
    report = only("sadf_head.json")
    assert (report.server, report.seconds) == ("vm", 3.0)
    assert report.began == datetime(2026, 11, 21, 5, 31, 51, tzinfo=UTC)
    by_metric = {(s.entity, s.metric, s.at_s): s.value for s in readings(report.samples)}
    assert [by_metric["cpu all", "cpu_load_user", at] for at in (1.0, 2.0, 3.0)] == [67.84, 70.5, 72.14]
    assert figures(report)["cpu_busy_sar"] == pytest.approx((100 + 100 + 99.5) / 3)


def test_tools_of_solaris_in_one_file() -> None:
    found = read("solaris.txt")
    cpu = samples(found["solaris/stat"], "cpu 0")
    assert list(cpu.values()) == [236, 0, 81, 227, 8, 81, 1, 4, 6, 0, 505, 1, 1, 0, 98]
    thread = samples(found["solaris/prstat"], "74241 dnx/29")
    assert list(thread.values()) == [4.9, 4.9, 0, 0, 0, 0, 90, 0.5, 917, 15, 11_000, 0]
    (lock,) = found["solaris/lockstat"].rows["locks"]
    assert (lock["contended"], lock["wait_total_ns"]) == (13_750, 13_750 * 72)
    assert samples(found["solaris/lockstat"], "Adaptive mutex spin") == {"events": 41_411}
    last = samples(found["solaris/dispadmin"], "priority 59")
    assert list(last.values()) == [20, 49, 59, 32_000, 59]
    assert samples(found["solaris/mdb"], "Kernel") == {"pages": 221_753, "mb": 1732}


def test_sysbench() -> None:
    report = only("sysbench.txt")
    assert report.work is not None and (report.work.transactions, report.work.errors) == (1486, 0)
    assert (report.clients, report.seconds) == (2, 4.0183)
    assert figures(report) == {"latency_min": 0.73, "latency_mean": 5.39, "latency_max": 19.67, "p99": 13.7}
    assert [s.value for s in readings(report.samples) if s.metric == "tps"] == [345.94, 395.91]
    assert [s.value for s in readings(report.samples) if s.metric == "p99_ms"] == [14.46, 12.52]
    queries = {name: samples(report, "sysbench")[f"queries_{name}"] for name in ("read", "write", "other")}
    assert queries == {"read": 20_804, "write": 0, "other": 2972}
    fair = {"events_mean": 743, "events_stddev": 0, "execution_time_mean": 4.0084, "execution_time_stddev": 0}
    assert samples(report, "threads") == fair
