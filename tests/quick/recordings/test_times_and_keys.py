"""When a reading was taken, for how long it stands, and of which thing it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorded_cases import codes, figures, of_text, series

from steelyard.recordings.importing import import_files
from steelyard.recordings.notices import lines_of_import

LINUX = "Linux 5.14.21 (db1) \t03/31/2026 \t_x86_64_\t(2 CPU)\n\n"
SAR = "{} CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
ROW = "{} all     {:5.2f}      0.00      0.00      0.00      0.00     {:5.2f}\n"
CPU = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n  {:.2f} 0.00 0.00 0.00 0.00 {:.2f}\n\n"


def busy(template: str, *values: float) -> str:
    return "".join(template.format(value, 100 - value) for value in values)


def sar(*rows: tuple[str, float]) -> str:
    return "".join(ROW.format(at, share, 100 - share) for at, share in rows)


def test_a_reading_of_sar_weighs_as_much_as_its_seconds(tmp_path: Path) -> None:
    text = LINUX + SAR.format("10:00:01") + sar(("10:10:01", 10), ("10:10:11", 90))
    (report,), _ = of_text(tmp_path, text)
    # as sar's own average: (600 x 10 + 10 x 90) / 610
    assert figures(report)["cpu_busy_sar"] == pytest.approx(6900 / 610)


def test_the_time_before_a_restart_weighs_nothing(tmp_path: Path) -> None:
    again = "\n15:00:00     LINUX RESTART\t(2 CPU)\n\n" + SAR.format("15:00:01") + sar(("15:10:01", 40))
    (report,), _ = of_text(tmp_path, LINUX + SAR.format("10:00:01") + sar(("10:10:01", 10)) + again)
    assert figures(report) == {"cpu_busy_sar": 25} and report.seconds == 18_600


def test_a_first_reading_of_unknown_length_weighs_as_the_next(tmp_path: Path) -> None:
    stamps = [
        f"03/31/2026 10:00:{second}\n{busy(CPU, share)}" for second, share in ((10, 1), (20, 10), (40, 40))
    ]
    (report,), _ = of_text(tmp_path, LINUX + "".join(stamps))
    # the first counts since the boot, and is left out
    assert figures(report)["cpu_busy_iostat"] == pytest.approx((10 * 10 + 20 * 40) / 30)


def test_sections_of_a_monitor_without_times_follow_one_another(tmp_path: Path) -> None:
    text = f"### before ###\n{LINUX}{busy(CPU, 1, 10, 10, 10)}### after ###\n{LINUX}{busy(CPU, 1, 90)}"
    (tmp_path / "iostat.txt").write_text(text)
    found = import_files([str(tmp_path / "iostat.txt")], [], folders=False, progress=lambda *_: None)
    (tables,) = found.tables
    assert tables["further_scores"]["value"] == [30]
    samples = tables["samples"]
    assert sorted(samples["t_ns"][samples["metric"] == "user_percent"] / 1e9) == [0.5, 1.5, 2.5, 3.5]


def test_stamps_of_iostat_go_on_where_the_clock_is_set_back(tmp_path: Path) -> None:
    stamps = ("02:59:50+0200", "02:59:55+0200", "02:00:00+0100", "02:00:05+0100")
    (report,), _ = of_text(tmp_path, LINUX + "".join(f"2026-10-25T{at}\n{busy(CPU, 20)}" for at in stamps))
    assert str(report.began) == "2026-10-25 00:59:50+00:00"
    assert [at for at, _ in series(report)["cpu all", "user_percent"]] == [5, 10, 15]


SADF = """{"sysstat": {"hosts": [{"nodename": "db1", "number-of-cpus": 2, "statistics": [
{"timestamp": {"date": "2026-07-31", "time": "17:00:10", "tz": "UTC", "interval": 10},
 "cpu-load": [{"cpu": "all", "user": 10.00, "idle": 90.00}],
 "serial": [{"line": 0, "rcvin": 10.00}, {"line": 1, "rcvin": 30.00}]},
{"timestamp": {"date": "2026-07-31", "time": "17:00:40", "tz": "UTC", "interval": 30},
 "cpu-load": [{"cpu": "all", "user": 50.00, "idle": 50.00}]}
]}]}}"""


def test_sadf_names_its_zone_and_weighs_by_its_intervals(tmp_path: Path) -> None:
    (report,), _ = of_text(tmp_path, SADF)
    assert str(report.began) == "2026-07-31 17:00:00+00:00"
    assert figures(report) == {"cpu_busy_sar": 40}
    assert series(report)["line 1", "serial_rcvin"] == [(10, 30)]


def test_a_clock_without_a_zone_beside_one_with_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "sadf.json").write_text(SADF)
    (tmp_path / "iostat.txt").write_text(f"{LINUX}03/31/2026 08:30:10 PM\n{busy(CPU, 10)}")
    found = import_files([str(tmp_path)], [], folders=True, progress=lambda *_: None)
    assert sum("zone-unknown" in codes(report) for report in found.runs[0].reports) == 1
    assert any("names no zone" in line for line in lines_of_import(found.runs, {}, every_line=True))


def test_the_line_of_a_run_tells_of_all_its_reports(tmp_path: Path) -> None:
    snaps = "".join(
        f"{begins} Snap:      {number} 01-Jan-01 1{number}:00:00       30       5.0\n"
        for number, begins in enumerate(("Begin", "  End"))
    )
    table = "Statistic                                    Total     per Second\n"
    table += "---------------------------- --------------------- --------------\n"
    one = f"STATSPACK report for\n\n{snaps}\n{table}user commits                 {{:>21}} {{:>14}}\n"
    (tmp_path / "two.txt").write_text(
        one.format("9,000", 2.5) + one.format("18,000", 5.0).replace(" 11:", " 12:").replace(" 10:", " 11:")
    )
    found = import_files([str(tmp_path / "two.txt")], [], folders=False, progress=lambda *_: None)
    (line, *_) = lines_of_import(found.runs, {}, every_line=False)
    assert "27,000 done" in line and "7,200 s" in line


CHILDREN = """STATSPACK report for

Begin Snap:       1 01-Jan-04 10:00:00       30       5.0
  End Snap:       2 01-Jan-04 10:15:00       30       5.0

Latch Sleep breakdown for DB: PROD  Instance: PROD  Snaps: 1 -2

Latch Name                       Requests      Misses      Sleeps
-------------------------- -------------- ----------- -----------
cache buffers chains           50,000,000      90,000       1,200

{} Latch Statistics DB: PROD  Instance: PROD  Snaps: 1 -2

Latch Name                 Num       Requests       Misses   Sleeps
---------------------- ------- -------------- ------------ --------
cache buffers chains        77      3,000,000        5,000      120

Latch Activity for DB: PROD  Instance: PROD  Snaps: 1 -2

                                     Get         Wait
Latch Name                      Requests     Time (s)
------------------------ --------------- ------------
library cache                      1,500            2
"""


@pytest.mark.parametrize("part", ["Parent", "Child"])
def test_parts_of_a_latch_are_not_the_latch(tmp_path: Path, part: str) -> None:
    text = CHILDREN.format(part).replace(
        "Latch Name                       Requests", "Latch Name                   Get Requests"
    )
    (report,), _ = of_text(tmp_path, text)
    first, second = report.rows["latches"]
    assert first == {"latch": "cache buffers chains", "gets": 50_000_000, "misses": 90_000, "sleeps": 1_200}
    assert second == {"latch": "library cache", "gets": 1_500, "wait_ns": 2_000_000_000}
    assert "left-out" in codes(report)


def ruled(*rows: str) -> str:
    """A table of isql: its first row names the columns."""
    names, *others = (row.split() for row in rows)
    lines = [names, ["-" * 20 for _ in names], *others]
    return "".join(" ".join(f"{cell:>20}" for cell in line) + "\n" for line in lines) + "\n"


def test_instances_of_a_view_are_not_its_captures(tmp_path: Path) -> None:
    pages = [ruled("INST_ID NAME GETS MISSES SLEEPS", f"{i} redo {i}000 {i}00 {i}0") for i in (1, 2)]
    (report,), _ = of_text(tmp_path, "".join(pages))
    assert [row["gets"] for row in report.rows["latches"]] == [1000, 2000]
    assert "counted-since-start" in codes(report)
    (report,), _ = of_text(tmp_path, "".join([*pages, pages[0].replace("1000", "1500"), pages[1]]))
    assert [row["gets"] for row in report.rows["latches"]] == [500, 0]


def test_children_of_a_latch_are_told_by_their_addresses(tmp_path: Path) -> None:
    pages = [ruled("ADDR NAME GETS MISSES SLEEPS", f"A{i} buffers {i}000 {i}00 {i}0") for i in (1, 2)]
    (report,), source = of_text(tmp_path, "".join(pages))
    assert [row["gets"] for row in report.rows["latches"]] == [1000] and source.skipped.count == 1


@pytest.mark.parametrize(
    ("rows", "things"),
    [
        (
            ("InstanceID Reads LogicalName", "0 5 master", "0 7 data"),
            ["logicalname data", "logicalname master"],
        ),
        (("SPID InstanceID KPID Reads", "12 0 91 5", "13 0 92 7"), ["spid 12 kpid 91", "spid 13 kpid 92"]),
        (
            ("InstanceID EngineNumber Reads", "1 0 5", "2 0 7"),
            ["enginenumber 0 instanceid 1", "enginenumber 0 instanceid 2"],
        ),
        (
            ("SPID KPID WaitEventID Waits", "12 91 29 5", "12 91 250 7"),
            ["spid 12 kpid 91 waiteventid 250", "spid 12 kpid 91 waiteventid 29"],
        ),
        # what a process waits for says nothing of which it is
        (("SPID KPID WaitEventID Reads", "12 91 29 5", "13 92 29 7"), ["spid 12 kpid 91", "spid 13 kpid 92"]),
    ],
)
def test_rows_of_monitor_tables_are_told_by_all_their_keys(
    tmp_path: Path, rows: tuple[str, ...], things: list[str]
) -> None:
    (report,), source = of_text(tmp_path, ruled(*rows))
    assert sorted({entity for entity, _ in series(report)}) == things and not source.skipped.count
    assert sorted(value for ((_, value),) in series(report).values()) == [5, 7]


def test_spins_of_spinlocks_with_one_name_are_added(tmp_path: Path) -> None:
    rows = ("SpinlockName Grabs Spins Waits", "cache 100 50 4", "cache 300 60 6")
    (report,), _ = of_text(tmp_path, ruled(*rows))
    assert series(report)["cache", "spins_total"] == [(0, 110)]
    assert [(row["gets"], row["misses"]) for row in report.rows["latches"]] == [(400, 10)]


def test_spinlocks_of_two_instances_are_no_captures(tmp_path: Path) -> None:
    first, second = (
        ruled("InstanceID SpinlockName Grabs Spins Waits", f"{i} cache {i}00 50 4") for i in (1, 2)
    )
    (report,), _ = of_text(tmp_path, first + second)
    assert [row["gets"] for row in report.rows["latches"]] == [100, 200]


def test_a_heading_without_a_time_does_not_hide_an_interval(tmp_path: Path) -> None:
    head = "procs ---memory--- cpu\n r b swpd free buff cache si so bi bo in cs us sy id wa st UTC\n"
    row = " 1 0 0 800 10 400 0 0 1 0 100 1000 {} 0 {} 0 0 2026-03-31 10:{}:00\n"
    page = [row.format(10, 90, f"{minute:02}") for minute in range(21)]
    (report,), _ = of_text(tmp_path, head + "".join(page) + head + row.format(90, 10, "22"))
    # the first reading counts since the boot
    assert figures(report)["cpu_busy_vmstat"] == pytest.approx((20 * 10 + 2 * 90) / 22)


def test_rows_of_dbxtune_at_one_time_are_of_different_things(tmp_path: Path) -> None:
    head = "SessionStartTime,SessionSampleTime,CmSampleTime,InstanceID,StatisticID,Avg_1min,Other\n"
    row = "2026-03-01 10:00:00.0,2026-03-01 10:00:30.0,2026-03-01 10:00:30.0,0,{},{},1\n"
    (report,), source = of_text(tmp_path, head + row.format(4, 0.5) + row.format(5, 7.5), "CmSysLoad_abs.csv")
    assert [value for _, value in series(report)["CmSysLoad 4", "avg1min"]] == [0.5]
    unknown = head.replace("StatisticID", "Unknown")
    (report,), source = of_text(
        tmp_path, unknown + row.format(4, 0.5) + row.format(5, 7.5), "CmSysLoad_abs.csv"
    )
    assert source.skipped.count == 1


def test_a_process_that_moves_to_another_engine_and_database_stays_itself(tmp_path: Path) -> None:
    pages = [ruled("SPID KPID DBID EngineNumber Reads", f"12 91 {i} {i} {i}00") for i in (4, 5)]
    (report,), _ = of_text(tmp_path, "".join(pages))
    assert series(report)["spid 12 kpid 91", "reads_total"] == [(0, 400), (1, 500)]


def test_counts_of_a_run_of_errors_alone_are_kept(tmp_path: Path) -> None:
    (report,), _ = of_text(
        tmp_path,
        "sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)\n\nNumber of threads: 4\n\nSQL statistics:\n"
        "    queries performed:\n        read:                            0\n"
        "        write:                           7\n        total:                           7\n"
        "    transactions:                        0      (0.00 per sec.)\n"
        "    ignored errors:                      7      (0.70 per sec.)\n"
        "    reconnects:                          3      (0.30 per sec.)\n\n"
        "General statistics:\n    total time:                          10.0000s\n"
        "    total number of events:              0\n",
    )
    assert series(report)["sysbench", "reconnects"] == [(0, 3)] and not figures(report)
