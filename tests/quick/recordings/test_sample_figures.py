"""Every figure of the reports that test_samples reads in part: expected values were typed from the reports.

STEELYARD_SAMPLES names the folder that holds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from readings import readings
from real_reports import figures, needs_reports, only, parts, read

from steelyard.recordings.registry import reports_in
from steelyard.recordings.report import Report
from steelyard.recordings.schedule import FileChoice

pytestmark = needs_reports

# name, per second as printed, count, per cent of the total; - : not printed
PROCESS_MODE = """
Total CPU Yields                          |   1191.2 |   17868 | -
Network Checks / Non-Blocking             | 226313.7 | 3394706 | 99.5
Network Checks / Blocking                 |   1181.3 |   17720 | 0.5
Total Network IO Checks                   | 227495.1 | 3412426 | -
Disk IO Checks / Total Disk IO Checks     | 227741.5 | 3416122 | -
Disk IO Checks / Checks Returning IO      | 181303.2 | 2719548 | 79.6
"""
YIELDS_OF_ENGINES = [
    (59.3, 889, 5.0), (62.5, 937, 5.2), (62.3, 935, 5.2), (62.4, 936, 5.2), (62.4, 936, 5.2),
    (62.4, 936, 5.2), (62.3, 935, 5.2), (62.4, 936, 5.2), (62.1, 931, 5.2), (62.3, 935, 5.2),
    (62.3, 935, 5.2), (62.4, 936, 5.2), (62.3, 935, 5.2), (62.3, 935, 5.2), (9.8, 147, 0.8),
    (62.3, 935, 5.2), (62.2, 933, 5.2), (62.4, 936, 5.2), (62.3, 934, 5.2), (62.4, 936, 5.2),
]  # fmt: skip
THREADED_MODE = """
cpu yields by engine / syb_default_pool / Engine 0 / Full Sleeps        | 52.7 | 6326 | 100.0
cpu yields by engine / syb_default_pool / Engine 0 / Interrupted Sleeps |  0.0 |    1 | 0.0
page faults at os / Minor Faults                                        |  0.3 |   31 | 100.0
page faults at os / Major Faults                                        |  0.0 |    0 | 0.0
page faults at os / Total Page Faults                                   |  0.3 |   31 | 100.0
task management / Connections Opened                                    |  0.0 |    0 | -
task management / syb_default_pool / Task Context Switches by Engine / Engine 0 | 5.4 | 645 | 100.0
task management / Task Context Switches Due To / Voluntary Yields       |  0.6 |   68 | 10.5
task management / Task Context Switches Due To / Cache Search Misses    |  0.6 |   66 | 10.2
task management / Task Context Switches Due To / Exceeding I/O batch size | 0.1 |  17 | 2.6
task management / Task Context Switches Due To / System Disk Writes     |  1.1 |  131 | 20.3
task management / Task Context Switches Due To / Last Log Page Writes   |  0.0 |    5 | 0.8
task management / Task Context Switches Due To / Other Causes           |  3.0 |  358 | 55.5
transaction summary / Committed Xacts                                   |  0.2 |   20 | -
procedure cache management / Procedure Requests                         |  0.0 |    2 | -
procedure cache management / Procedure Reads from Disk                  |  0.0 |    2 | 100.0
procedure cache management / Procedure Writes to Disk                   |  0.0 |    1 | 50.0
procedure cache management / Procedure Removals                         |  0.0 |    3 | -
procedure cache management / Procedure Recompilations                   |  0.0 |    1 | -
procedure cache management / Recompilations Requests / Execution Phase  |  0.0 |    0 | 0.0
procedure cache management / Recompilations Requests / Compilation Phase | 0.0 |    0 | 0.0
procedure cache management / Recompilations Requests / Execute Cursor Execution | 0.0 | 0 | 0.0
procedure cache management / Recompilations Requests / Redefinition Phase | 0.0 |   1 | 100.0
procedure cache management / Recompilation Reasons / Table Missing      |  0.0 |    1 | -
"""
NO_SWITCHES = (
    "Logical Lock Contention", "Address Lock Contention", "Latch Contention", "Physical Lock Transition",
    "Logical Lock Transition", "Object Lock Transition", "Log Semaphore Contention",
    "IMRSLog Semaphore Contention", "PLCBLOCK flush", "PLC Lock Contention", "Group Commit Sleeps",
    "Modify Conflicts", "I/O Device Contention", "Network Packet Received", "Network Packet Sent",
    "Interconnect Message Sleeps", "Network services",
)  # fmt: skip
NO_RECOMPILATIONS = ("Temporary Table Missing", "Schema Change", "Index Change", "Isolation Level Change",
                     "Permissions Change", "Cursor Permissions Change")  # fmt: skip
NO_STATEMENTS = ("Cached", "Found in Cache", "Not Found", "Dropped", "Restored", "Not Cached")
# active, most since the boot, free, reuse succeeded, failed
OPEN = {"Object": (499, 500, 1, 4702, 0), "Index": (129, 138, 371, 0, 0), "Partition": (129, 138, 371, 0, 0),
        "Database": (6, 6, 6, 0, 0)}  # fmt: skip
SPINLOCKS = ("Object Manager", "Object", "Index", "Index Hash", "Partition", "Partition Hash")


def everything(report: Report) -> dict[str, dict[str, float]]:
    """Values by entity and metric, of a report that reads each once."""
    found: dict[str, dict[str, float]] = {}
    for sample in readings(report.samples):
        of_entity = found.setdefault(sample.entity, {})
        assert sample.metric not in of_entity
        of_entity[sample.metric] = sample.value
    return found


def over_time(report: Report, entity: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for sample in readings(report.samples):
        if sample.entity == entity:
            found.setdefault(sample.metric, []).append(sample.value)
    return found


def counted(table: str, prefix: str = "") -> Iterator[tuple[str, float, int, float | None]]:
    for line in table.strip().splitlines():
        name, per_s, count, share = (cell.strip() for cell in line.split("|"))
        yield prefix + name, float(per_s), int(count), None if share == "-" else float(share)


def expected(per_s: float, count: int, share: float | None) -> dict[str, object]:
    rate = pytest.approx(per_s, abs=0.051)
    found: dict[str, object] = {"count": count, "rate_per_s": rate}
    return found if share is None else {**found, "of_total_percent": share}


def test_sysmon_of_process_mode_gives_every_figure() -> None:
    yields = "cpu yields by engine / "
    due: dict[str, object] = {
        f"server Engine {i}": engine(0.0, 0.0, 100.0) if i != 14 else engine(0.6, 99.4, 0.0)
        for i in range(20)
    }
    due |= {"server Summary Total": engine(0.6, 99.4, 1900.0), "server Average": engine(0.0, 5.0, 95.0)}
    due |= {f"{yields}Engine {i}": expected(*row) for i, row in enumerate(YIELDS_OF_ENGINES)}
    due |= {name: expected(*row) for name, *row in counted(PROCESS_MODE, yields)}
    due |= {f"{yields}Avg Net IOs per Check": {"average": 0.00012},
            f"{yields}Disk IO Checks / Avg Disk IOs Returned": {"average": 0.001}}  # fmt: skip
    assert everything(only("ase_sysmon_process_kernel.txt")) == due


def engine(cpu: float, io: float, idle: float) -> dict[str, float]:
    return {"engine_busy_cpu_percent": cpu, "engine_busy_io_percent": io, "engine_busy_idle_percent": idle}


def threads(user: float, system: float, idle: float) -> dict[str, float]:
    return {
        "os_threads_user_percent": user, "os_threads_system_percent": system, "os_threads_idle_percent": idle,
    }  # fmt: skip


def test_sysmon_of_threaded_mode_gives_every_figure() -> None:
    loads = {"1_min": 0.0, "5_min": 0.0, "15_min": 0.0}
    none = {"count": 0, "rate_per_s": 0.0}
    due: dict[str, object] = {name: expected(*row) for name, *row in counted(THREADED_MODE)}
    switches = "task management / Task Context Switches Due To / "
    due |= {switches + name: {**none, "of_total_percent": 0.0} for name in NO_SWITCHES}
    cache = "procedure cache management / "
    due |= {f"{cache}Recompilation Reasons / {name}": none for name in NO_RECOMPILATIONS}
    due |= {f"{cache}SQL Statement Cache / Statements {name}": none for name in NO_STATEMENTS}
    for name, (active, most, free, reused, failed) in OPEN.items():
        usage = f"metadata cache summary / Open {name} Usage / "
        counts = {"Active": active, "Max Ever Used Since Boot": most, "Free": free,
                  "Reuse Requests / Succeeded": reused, "Reuse Requests / Failed": failed}  # fmt: skip
        due |= {usage + what: {"count": count} for what, count in counts.items()}
    due["metadata cache summary / Descriptors immediately discarded"] = {"count": 11}
    due |= {f"metadata cache summary / {name} Spinlock Contention": {"of_total_percent": 0.0}
            for name in SPINLOCKS}  # fmt: skip
    runnable = "average runnable tasks / "
    due |= {
        f"{runnable}syb_default_pool / Global Queue": {**loads, "of_total_percent": 0.0},
        f"{runnable}syb_default_pool / Engine 0": {**loads, "of_total_percent": 100.0},
        f"{runnable}Server Summary Total": loads,
        f"{runnable}Server Summary Total / Average": loads,
        "syb_default_pool Engine 0": {
            "engine_ticks_user_percent": 0.0, "engine_ticks_system_percent": 0.0,
            "engine_ticks_io_percent": 0.1, "engine_ticks_idle_percent": 99.9,
        },
        "syb_default_pool Thread 2 (Engine 0)": threads(0.3, 0.0, 99.7),
        "syb_system_pool Thread 1 (Signal Handler)": threads(0.0, 0.0, 100.0),
        "syb_system_pool Thread 8 (DiskController)": threads(0.0, 0.0, 100.0),
        "syb_system_pool Pool Summary Total": threads(0.0, 0.0, 300.0),
        "syb_system_pool Average": threads(0.0, 0.0, 100.0),
        "server Server Summary Total": threads(0.3, 0.0, 799.6),
        "server Average": threads(0.0, 0.0, 100.0),
    }  # fmt: skip
    report = only("ase_sysmon_threaded_16sp2.txt")
    assert everything(report) == due
    assert figures(report)["cpu_units"] == 0.0
    assert report.facts["Counters Last Cleared"] == "Apr 09, 2016 14:47:36"
    assert report.facts["Sample Mode"] == "No Clear"


def test_the_statement_cache_of_a_busy_server() -> None:
    _, part = parts("ase_mda_live_busy.txt")
    (sysmon,) = reports_in(part)
    rows = {"Cached": (0.0, 0), "Found in Cache": (2741.3, 123_360), "Not Found": (0.0, 0),
            "Dropped": (0.0, 0), "Restored": (0.2, 10), "Not Cached": (0.0, 0)}  # fmt: skip
    assert everything(sysmon) == {
        f"SQL Statement Cache / Statements {name}": expected(*row, None) for name, row in rows.items()
    }


TPM = [
    0, 185196, 309240, 303012, 308850, 300828, 294708, 291780, 309612, 292572, 308898, 294198, 295320,
    296226, 292506, 296832, 298662, 296694, 304416, 295938, 295140, 300540, 297570, 296370, 298410, 299760,
    297546, 296340, 297756, 291090, 294612, 309450, 295866, 291948, 297936, 294774, 295446, 301026, 304896,
    303936, 303192, 308934, 305400,
]  # fmt: skip
# calls, min, avg, max, total, p99, p95, p50, sd, ratio; all lasted 414,691.5 ms
PROCEDURES = {
    "DELIVERY": (180264, 1.651, 10.186, 108.887, 1836174.18, 20.46, 15.917, 9.601, 3354.046, 9.225),
    "OSTAT": (182140, 0.258, 2.176, 97.373, 396506.022, 6.151, 4.458, 1.927, 1304.251, 1.992),
    "SLEV": (180616, 0.446, 2.175, 72.883, 392867.218, 5.919, 4.215, 1.914, 1205.891, 1.974),
}
TIMINGS = ("calls", "min_ms", "avg_ms", "max_ms", "total_ms", "p99_ms", "p95_ms", "p50_ms", "sd", "ratio_pct")


def test_hammerdb_gives_every_count_and_time() -> None:
    report = only("hammerdb_cli_output.txt")
    counts = [(s.at_s, s.value) for s in readings(report.samples) if s.entity == "hammerdb"]
    # every 10 s; once 11 s, from 17:12:01 to 17:12:12
    times = [10 * i + (i > 14) for i in range(43)]
    assert counts == list(zip(times, TPM, strict=True))
    for name, row in PROCEDURES.items():
        timings = {key: values[0] for key, values in over_time(report, f"procedure {name}").items()}
        assert timings == {"elapsed_ms": 414_691.5, **dict(zip(TIMINGS, row, strict=True))}
    # its name is before the beginning of the sample
    assert over_time(report, "procedure not named") == {
        "max_ms": [101.212], "total_ms": [6_701_684.17], "p99_ms": [8.856], "p95_ms": [6.463],
        "p50_ms": [3.422], "sd": [1702.923], "ratio_pct": [33.668],
    }  # fmt: skip


def test_sadf_gives_every_figure() -> None:
    report = only("sadf_head.json")
    assert report.facts == {"host": "vm", "CPUs": "2"}
    assert over_time(report, "cpu all") == {
        "cpu_load_user": [67.84, 70.5, 72.14], "cpu_load_nice": [0, 0, 0],
        "cpu_load_system": [32.16, 29.5, 27.36], "cpu_load_iowait": [0, 0, 0],
        "cpu_load_steal": [0, 0, 0.5], "cpu_load_idle": [0, 0, 0],
    }  # fmt: skip
    assert over_time(report, "host") == {
        "process_and_context_switch_proc": [43.56, 35, 28],
        "process_and_context_switch_cswch": [53146.53, 54797, 55995],
        "memory_memfree": [18268216, 18309904, 18308416], "memory_avail": [21956568, 21996880, 21995612],
        "memory_memused": [1287592, 1247372, 1248636], "memory_memused_percent": [5.22, 5.05, 5.06],
        "memory_buffers": [15372, 15380, 15384], "memory_cached": [4757048, 4755476, 4755684],
        "memory_commit": [6363268, 6359760, 6354580], "memory_commit_percent": [25.78, 25.76, 25.74],
        "memory_active": [2285284, 2285608, 2285608], "memory_inactive": [3572000, 3536488, 3539960],
        "memory_dirty": [12920, 11420, 11300], "queue_runq_sz": [25, 20, 23], "queue_plist_sz": [226] * 3,
        "queue_ldavg_1": [18.85] * 3, "queue_ldavg_5": [19.6] * 3, "queue_ldavg_15": [16.84] * 3,
        "queue_blocked": [0, 0, 0],
    }  # fmt: skip


def test_vmstat_gives_every_figure_but_the_row_since_the_boot() -> None:
    report = only("linux_vmstat_t.txt")
    assert over_time(report, "host") == {
        "r": [24, 20], "b": [0, 0], "swpd": [0, 0], "free": [18155928] * 2, "buff": [15200] * 2,
        "cache": [5211292] * 2, "si": [0, 0], "so": [0, 0], "bi": [512, 996], "bo": [256, 0],
        "in": [1004, 2040], "cs": [35737, 46877],
    }  # fmt: skip
    assert over_time(report, "cpu all") == {
        "us_percent": [79, 74], "sy_percent": [22, 26], "id_percent": [0, 0], "wa_percent": [0, 0],
        "st_percent": [0, 0],
    }  # fmt: skip
    assert figures(report) == {"cpu_busy_vmstat": 100.0}


def test_sysbench_gives_every_figure() -> None:
    report = only("sysbench.txt")
    found = over_time(report, "sysbench")
    assert found == {
        "tps": [345.94, 395.91], "qps": [5540.10, 6338.57], "reads_per_s": [4847.21, 5546.75],
        "writes_per_s": [0, 0], "others_per_s": [692.89, 791.82], "p99_ms": [14.46, 12.52],
        "errors_per_s": [0, 0], "reconnects_per_s": [0, 0], "queries_read": [20804], "queries_write": [0],
        "queries_other": [2972], "queries_total": [23776], "reconnects": [0], "latency_sum_ms": [8016.72],
    }  # fmt: skip
    assert report.work is not None and report.seconds is not None
    assert report.work.transactions / report.seconds == pytest.approx(369.65, rel=5e-4)
    assert found["queries_total"][0] / report.seconds == pytest.approx(5914.34, rel=5e-4)


def test_pgbench_gives_every_figure() -> None:
    zeros = [0.0] * 3
    assert over_time(only("pgbench_progress.txt"), "pgbench") == {
        "tps": [529.3, 491.8, 474.4], "latency_mean_ms": [7.410, 8.120, 8.442],
        "latency_stddev_ms": [4.290, 5.488, 7.117], "failed": zeros, "retried": zeros, "retries": zeros,
    }  # fmt: skip
    summary = only("pgbench_summary.txt")
    found = everything(summary)
    assert found.pop("pgbench in all") == {"retried": 0, "retries": 0}
    assert len(found) == 11 and all(of["failures"] == of["retries"] == 0 for of in found.values())
    assert {name: text for name, text in summary.facts.items() if name != "driver"} == {
        "transaction type": "<builtin: TPC-B (sort of)>", "scaling factor": "2", "query mode": "prepared",
        "number of threads": "2",
        "maximum number of tries": "3",
    }  # fmt: skip
    assert summary.work is not None and summary.seconds is not None
    assert summary.work.transactions / summary.seconds == pytest.approx(500.230998)


def test_intervals_of_pgbench_give_every_figure() -> None:
    *_, plain, lag = [report for part in parts("pgbench_logs.txt") for report in reports_in(part)]
    counts = {"skipped": [0, 0], "retried": [0, 0], "retries": [0, 0]}
    assert over_time(plain, "pgbench") == {
        "transactions": [217, 1693], **counts, "latency_min_us": [120, 84], "latency_max_us": [5729, 9309],
        "latency_mean_us": pytest.approx([126_964 / 217, 999_264 / 1693]),
    }  # fmt: skip
    assert over_time(lag, "pgbench") == {
        "transactions": [106, 205], **counts, "skipped": [12, 31], "latency_min_us": [2227, 2234],
        "latency_max_us": [30_444, 32_331], "lag_min_us": [43, 16], "lag_max_us": [19_731, 19_938],
        "latency_mean_us": pytest.approx([1_035_029 / 106, 2_580_897 / 205]),
        "lag_mean_us": pytest.approx([603_864 / 106, 1_665_945 / 205]),
    }  # fmt: skip
    assert ("skipped", "43 transactions were skipped, and are not counted") in lag.notices


def test_the_lag_is_read_where_a_schedule_says_so() -> None:
    chosen = [
        replace(part, choices=FileChoice(files="", seventh="lag")) for part in parts("pgbench_logs.txt")
    ]
    found = [report for part in chosen for report in reports_in(part)]
    assert figures(found[2]) == {"lag_mean": pytest.approx(0.073), "lag_max": 0.074}


def test_awr_gives_nowait_requests() -> None:
    assert everything(only("oracle_awr_latch.txt", 5)) == {
        "latch write info latch": {"nowait_requests": 428_044, "pct_nowait_miss": 0.03},
        "mutex Library Cache at kglhdgn2 106": {"sleeps": 8, "wait_ms": 0},
    }


def test_tools_of_solaris_give_every_figure() -> None:
    found = read("solaris.txt")
    assert everything(found["solaris/stat"]) == {
        "cpu 0": {"minf": 236, "mjf": 0, "xcal": 81, "intr": 227, "ithr": 8, "csw": 81, "icsw": 1, "migr": 4,
                  "smtx": 6, "srw": 0, "syscl": 505, "usr_percent": 1, "sys_percent": 1, "wt_percent": 0,
                  "idl_percent": 98},
    }  # fmt: skip
    assert everything(found["solaris/prstat"]) == {
        "74241 dnx/29": {
            "usr_percent": 4.9, "sys_percent": 4.9, "trp_percent": 0, "tfl_percent": 0, "dfl_percent": 0,
            "lck_percent": 0, "slp_percent": 90, "lat_percent": 0.5, "vcx": 917, "icx": 15, "scl": 11_000,
            "sig": 0,
        },
    }  # fmt: skip
    names = ("ts_quantum_ms", "ts_tqexp", "ts_slpret", "ts_maxwait", "ts_lwait")
    assert everything(found["solaris/dispadmin"]) == {
        "priority 0": dict(zip(names, (200, 0, 50, 0, 50), strict=True)),
        "priority 59": dict(zip(names, (20, 49, 59, 32_000, 59), strict=True)),
    }
    assert found["solaris/dispadmin"].facts["RES"] == "1000"
    assert found["solaris/lockstat"].seconds == 5.011


def test_waits_of_lockmeter_are_of_those_that_spun() -> None:
    total, queue, caller = read("linux_locks.txt", 7)["kernel/lockmeter"].rows["locks"]
    # 19.0 % spun, 33.1 % were rejected without a wait; both found it held
    assert queue["contended"] == round(0.520 * 2_666_132)
    assert queue["wait_total_ns"] == pytest.approx(0.190 * 2_666_132 * 175_000, rel=1e-6)
    assert total["wait_total_ns"] == pytest.approx(0.031 * 320_195_677 * 12e6, rel=1e-6)
    assert (caller["contended"], caller["wait_total_ns"]) == (round(0.785 * 1_124_063), 0)
    percents = [row["wait_cpu_percent"] for row in (total, queue, caller)]
    assert percents == [35.1, 4.7, None]
    assert [row["hold_max_ns"] for row in (total, queue, caller)] == [102_000_000, 257_000, 125_000]
    assert caller["utilisation_percent"] == 1.2
