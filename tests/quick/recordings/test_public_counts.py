"""Files in the shape of public reports whose counts, waits or names once were mixed in silence."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorded_cases import codes, figures, of_text, series, work

_INDEX = """Index Management                  per sec      per xact       count  % of total
  Nonclustered Maintenance        per sec      per xact       count  % of total
  -------------------------  ------------  ------------  ----------  ----------
    Ins/Upd Requiring Maint         61.0           1.0        3660       n/a
      # of NC Ndx Maint             56.0           0.9        3360       n/a
    Deletes Requiring Maint         10.0           0.2         600       n/a
      # of NC Ndx Maint              5.0           0.1         300       n/a
"""
_POOLS = """Bucketpool Name            BucketSize      Allocs       Frees  Found empty
  -------------------------  ------------  ----------  ----------  -----------
    LFB memory pool                    32        4120        4100            0
    LFB memory pool                    64          30          29            0
"""
_BEGINS = "      Sybase Adaptive Server Enterprise System Performance Report\nSample Interval    00:01:00\n"


def test_rows_below_a_row_of_sysmon_are_of_it(tmp_path: Path) -> None:
    (report,), _ = of_text(tmp_path, _BEGINS + _INDEX)
    counts = {name: of[0][1] for (name, metric), of in series(report).items() if metric == "count"}
    below = {
        name.rpartition("Maint / ")[0][-24:]: n
        for name, n in counts.items()
        if name.endswith("# of NC Ndx Maint")
    }
    assert sorted(below.values()) == [300, 3360] and len(below) == 2, counts


def test_buckets_of_two_sizes_are_two(tmp_path: Path) -> None:
    (report,), _ = of_text(tmp_path, _BEGINS + _POOLS)
    found = {entity[-2:]: of[0][1] for (entity, metric), of in series(report).items() if metric == "allocs"}
    assert found == {"32": 4120, "64": 30}


def test_a_thing_that_stands_twice_is_not_understood(tmp_path: Path) -> None:
    """Without its leading blanks a report does not tell pools apart."""
    trimmed = "\n".join(map(str.strip, (_BEGINS + _INDEX).splitlines())) + "\n"
    (report,), source = of_text(tmp_path, trimmed)
    assert all(len(of) == 1 for of in series(report).values())
    assert any("300" in text for _, text in source.skipped.lines)


_MISSES = """WORKLOAD REPOSITORY report for

Latch Miss Sources                                 DB/Inst: ORCL/orcl  Snaps: 1-2

                                                     NoWait              Waiter
Latch Name               Where                       Misses     Sleeps   Sleeps
------------------------ -------------------------- ------- ---------- --------
redo allocation          kcrfw_redo_gen: redo alloc       0        210        7
redo allocation          kcrfw_redo_gen: redo alloc       0         90        8
row cache objects        kqrpre: find obj                 3         40       20
"""
_MUTEXES = """STATSPACK report for

Mutex Sleep  DB/Inst: ORCL/orcl  Snaps: 1-2

                                                                         Wait
Mutex Type         Location                                 Sleeps   Time (s)
------------------ -------------------------------- -------------- ----------
Cursor Pin         kksfbc [KKSCHLFSP2]                      12,345       67.8
"""


def test_places_of_a_latch_that_are_cut_off_alike_are_not_one(tmp_path: Path) -> None:
    (report,), source = of_text(tmp_path, _MISSES)
    found = series(report)
    sleeps = {entity: [v for _, v in of] for (entity, metric), of in found.items() if metric == "sleeps"}
    assert sleeps == {
        "latch redo allocation in kcrfw_redo_gen: redo alloc": [210],
        "latch row cache objects in kqrpre: find obj": [40],
    }
    assert found["latch row cache objects in kqrpre: find obj", "waiter_sleeps"] == [(0, 20)]
    assert found["latch row cache objects in kqrpre: find obj", "nowait_misses"] == [(0, 3)]
    assert any(" 90 " in text for _, text in source.skipped.lines)


def test_statspack_gives_the_seconds_of_mutexes(tmp_path: Path) -> None:
    (report,), _ = of_text(tmp_path, _MUTEXES)
    assert series(report)["mutex Cursor Pin at kksfbc [KKSCHLFSP2]", "wait_s"] == [(0, 67.8)]


_DISKS = """Linux 5.10.0 (db1) \t11/24/2026 \t_x86_64_\t(4 CPU)

10:00:01          DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     svctm     %util
10:00:11          sda    100.00   1600.00      0.00     16.00      1.00     10.00      1.00     10.00

10:00:11          DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     svctm     %util
10:00:21          sda      0.00      0.00      0.00      0.00      0.00      0.00      0.00      0.00
"""


_READS = """Linux 5.10.0 (db1) \t11/24/2026 \t_x86_64_\t(4 CPU)

Device            r/s     rkB/s  r_await rareq-sz     w/s     wkB/s  w_await wareq-sz  aqu-sz  %util
zram0       250000.00 1000000.00     {}     4.00    0.00      0.00     0.00     0.00    1.00  50.00
"""


def test_requests_that_take_no_time_are_read(tmp_path: Path) -> None:
    later = "\n" + _READS.format("0.01").partition("\n\n")[2]
    first = _READS.format("0.00")
    (report,), _ = of_text(tmp_path, first + later + later.replace("0.01", "0.00"))
    means = {metric: value for (_, metric), value in report.samples.means().items()}
    assert means["r_await"] == pytest.approx(0.005) and "w_await" not in means


def test_a_time_without_requests_has_no_waits_of_disks(tmp_path: Path) -> None:
    (report,), _ = of_text(tmp_path, _DISKS)
    means = {metric: value for (_, metric), value in report.samples.means().items()}
    assert (means["await"], means["areq_sz"], means["svctm"]) == (10, 16, 1)
    assert (means["tps"], means["aqu_sz"]) == (50, 0.5)


@pytest.mark.parametrize(
    ("columns", "cells", "done", "failed"),
    [
        ("responseCode", ("200", "500", "Non HTTP response code: x"), 1, 2),
        ("responseCode,success", ("200,true", "200,false", "500,true"), 2, 1),
        ("responseCode,SampleCount,ErrorCount", ("200,1,1", "200,1,0", "200,1,0"), 2, 1),
        ("responseCode", ("OK", "0", "14"), 3, 0),
        ("SampleCount,ErrorCount", ("1,0", "1,1", "1,0"), 2, 1),
        ("responseMessage", ("OK", "OK", "OK"), 3, 0),
    ],
)
def test_samples_of_jmeter_fail_by_what_their_columns_say(
    tmp_path: Path, columns: str, cells: tuple[str, ...], done: int, failed: int
) -> None:
    rows = [f"{1_662_749_136_000 + 1000 * n},100,get,T 1-1,{more}" for n, more in enumerate(cells)]
    text = "\n".join([f"timeStamp,elapsed,label,threadName,{columns}", *rows]) + "\n"
    (report,), _ = of_text(tmp_path, text, "a.jtl")
    assert work(report)[:2] == (done, failed)
    assert ("source-warns" in codes(report)) == (not {"success", "ErrorCount"} & {*columns.split(",")})


_SUMMARY = """transaction type: <builtin: TPC-B (sort of)>
scaling factor: 1
number of clients: 10
{}
latency average = 10.000 ms
initial connection time = {} ms
tps = {} (without initial connection time)
"""


def test_progress_of_pgbench_is_not_added_to_its_totals(tmp_path: Path) -> None:
    skipped = "progress: {}.0 s, 45.0 tps, lat 10.000 ms stddev 1.000, 0 failed, lag 1.000 ms, {} skipped\n"
    progress = skipped.format(5, 200) + skipped.format(10, 300)
    counts = (
        "number of transactions actually processed: 900/2000\nnumber of transactions skipped: 500 (25.000%)"
    )
    (report,), _ = of_text(tmp_path, progress + _SUMMARY.format(counts, 5, "90.0"))
    assert any(text.startswith("pgbench: 600 of 2,000") for _, text in report.notices)
    found = series(report)
    assert found["pgbench", "skipped"] == [(5, 200), (10, 300)]
    assert found["pgbench in all", "skipped"] == [(0, 500)]


def test_the_time_of_pgbench_ends_while_its_clients_connect(tmp_path: Path) -> None:
    counts = "duration: 10 s\nnumber of transactions actually processed: 7000"
    (report,), _ = of_text(tmp_path, _SUMMARY.format(counts, "3000.000", "1000.0"))
    assert work(report) == (7000, 0, 7, 10) and "does-not-foot" not in codes(report)
    assert figures(report)["initial_connection_time"] == 3000


def test_the_lag_of_pgbench_is_read_and_latencies_begin_as_planned(tmp_path: Path) -> None:
    counts = "duration: 10 s\nnumber of transactions actually processed: 1000"
    lag = "rate limit schedule lag: avg 500.000 (max 900.000) ms\n"
    (report,), _ = of_text(tmp_path, _SUMMARY.format(counts, "5.000", "100.0") + lag)
    assert figures(report)["lag_mean"] == 500 and figures(report)["lag_max"] == 900
    # 10 clients x 10 s would be 10 ms each: latency counts from the planned start
    assert work(report)[0] == 1000


def test_other_metrics_of_k6_are_readings_at_their_times(tmp_path: Path) -> None:
    point = (
        '{{"metric":"{}","type":"Point","data":{{"time":"2026-10-06T10:00:0{}Z","value":{},"tags":{{}}}}}}\n'
    )
    request = point.format("http_req_duration", 1, 100.0).replace('"tags":{}', '"tags":{"status":"200"}')
    (report,), _ = of_text(tmp_path, request + point.format("iteration_duration", 2, 250.0), "a.json")
    assert work(report)[0] == 1
    ((at, value),) = series(report)["k6", "iteration_duration"]
    assert (round(at, 1), value) == (1.1, 250)


def test_events_of_lockstat_that_are_no_waits_are_readings(tmp_path: Path) -> None:
    text = (
        "Adaptive mutex hold: 30 events in 2.000 seconds (15 events/sec)\n\n"
        "Count indv cuml rcnt     nsec Lock                   Caller\n"
        "-------------------------------------------------------------------------------\n"
        "   30 100% 100% 0.00     4200 0xffffff01             ufs_getpage+0x10\n"
    )
    (report,), _ = of_text(tmp_path, text)
    found = series(report)
    assert found["Adaptive mutex hold: 0xffffff01 at ufs_getpage+0x10", "mean_ns"] == [(0, 4200)]
    assert found["Adaptive mutex hold: 0xffffff01 at ufs_getpage+0x10", "events"] == [(0, 30)]
    assert not report.rows
