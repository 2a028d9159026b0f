"""Outputs of which grep, a second file or a clock left less than the tool printed; with the right figure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from layouts import SYSMON_THREADED
from recorded_cases import codes, figures, of_text, pgbench, placed, series, work, written

from steelyard.errors import InputError
from steelyard.recordings.merge import pooled_run
from steelyard.recordings.report import Report

_TABLE = '[[tables]]\nfile = "t.csv"\nmetrics = [{ column = "tps", metric = "throughput", unit = "1/s" }]\n'
_LOG = "".join(f"{c} {n} 900 0 {1_772_445_600 + n} 500000\n" for n in range(20) for c in range(2))


def read(folder: Path, text: str, name: str = "report.txt") -> list[Report]:
    found, _ = of_text(folder, text, name)
    return found


@pytest.mark.parametrize(
    ("lines", "length_s"),
    [
        ("number of clients: {c}\nnumber of threads: 2\nduration: 60 s\ntps = {tps} (including ...)\n", 60),
        ("number of clients: {c}\nlatency average = {c}.5 ms\ntps = {tps} (without initial ...)\n", 100),
        ("query mode: simple\nnumber of clients: {c}\ntps = {tps} (without initial ...)\n", 100),
    ],
)
def test_each_result_that_grep_left_of_pgbench_is_a_run(tmp_path: Path, lines: str, length_s: float) -> None:
    found = read(tmp_path, "".join(lines.format(c=c, tps=1000 + c) for c in (8, 16, 32)))
    assert [work(one) for one in found] == [((1000 + c) * length_s, 0, length_s, c) for c in (8, 16, 32)]
    assert all("rates-alone" in codes(one) for one in found)


def test_each_result_that_grep_left_of_sysbench_is_a_run(tmp_path: Path) -> None:
    kept = "sysbench 1.0.20 (using LuaJIT)\nNumber of threads: {}\n    transactions:      {}  ({} per sec.)\n"
    found = read(tmp_path, "".join(kept.format(n, 1000 * n, f"{50 * n}.00") for n in (8, 16)))
    assert [work(one) for one in found] == [(1000 * n, 0, 20, n) for n in (8, 16)]


def test_a_second_output_of_sysbench_without_its_banner_keeps_its_threads(tmp_path: Path) -> None:
    progress = "[ {}s ] thds: {} tps: 100.00 qps: 100.00 (r/w/o: 100.00/0.00/0.00) lat (ms,95%): 9.00\n"
    text = "".join(
        f"Number of threads: {n}\n" + "".join(progress.format(s, n) for s in (1, 2)) for n in (16, 32)
    )
    assert [one.clients for one in read(tmp_path, text)] == [16, 32]


def test_a_run_that_a_file_holds_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the same run as in"):
        placed(written(tmp_path / "r", {"a.txt": pgbench() + pgbench()}))


def test_runs_of_which_some_name_no_clients_are_refused(tmp_path: Path) -> None:
    result = "Vuser 1:TEST RESULT : System achieved {} NOPM from {} MySQL TPM\n"
    whole = "Vuser 1:4 Active Virtual Users configured\n" + result.format(34000, 80000)
    with pytest.raises(InputError, match="names no number of clients"):
        placed(written(tmp_path / "r", {"a.txt": whole, "b.txt": result.format(35000, 82000)}))


def test_two_runs_in_the_folder_of_one_block_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="2 runs of block 1"):
        placed(written(tmp_path / "r", {"block-1/a.txt": pgbench(), "block-1/b.txt": pgbench(7000)}))


def test_the_first_interval_of_a_thread_of_pgbench_begins_with_its_load(tmp_path: Path) -> None:
    counts = (3694, 9573, 9075, 7667, 7669, 7732, 8176, 8278, 8389, 8138)
    rows = "".join(f"{1_795_942_949 + s} {n} {475 * n} 0 99 9000\n" for s, n in enumerate(counts))
    (report,) = read(tmp_path, rows, "pgbench_log.1")
    assert work(report) == (74697, 0, 9, None) and "does-not-foot" not in codes(report)
    # pgbench does not write its last interval
    summary = pgbench(82834).replace("60 s", "10 s").replace("1380.566667", "8302.866069")
    summary = summary.replace("1.82834 ms", "0.482 ms")
    (run,) = placed(written(tmp_path / "r", {"a.txt": summary, "pgbench_log.1": rows}))
    assert work(pooled_run(run).points[0][0])[0] == 74697


_VMSTAT = (
    "procs ---memory--- ---swap-- --io-- -system-- --cpu-- {}\n"
    " r b swpd free buff cache si so bi bo in cs us sy id wa st {}\n"
)
_ROW = " 1 0 0 800 10 400 0 0 1 0 100 1000 {} 0 {} 0 0 {}\n"


def vmstat(busy: int, timed: bool) -> str:
    times = [f"2026-03-02 10:00:{s:02}" * timed for s in range(10)]
    head = _VMSTAT.format("-timestamp-", "UTC") if timed else _VMSTAT.format("", "")
    return head + "".join(_ROW.format(busy, 100 - busy, at) for at in times)


@pytest.mark.parametrize("timed", [False, True])
def test_one_tool_of_two_hosts_beside_one_run_is_refused(tmp_path: Path, timed: bool) -> None:
    texts = {"p.txt": pgbench(), "vmstat-db.txt": vmstat(90, timed), "vmstat-client.txt": vmstat(10, timed)}
    with pytest.raises(InputError, match=r"the same things as in .*vmstat-client\.txt"):
        placed(written(tmp_path / "r", texts))


def test_captures_of_a_counter_in_two_files_are_not_added_up(tmp_path: Path) -> None:
    latch = (
        "NAME                                   GETS     MISSES     SLEEPS  SPIN_GETS  WAIT_TIME\n"
        "-------------------------------- ---------- ---------- ---------- ---------- ----------\n"
        "Result Cache: RC Latch           {:10} {:10}          2         18        700\n"
    )
    texts = {"p.txt": pgbench(), "latch1.txt": latch.format(1000, 20), "latch2.txt": latch.format(3000, 40)}
    with pytest.raises(InputError, match="the same things as in"):
        placed(written(tmp_path / "r", texts))


def sadf(*, at_s: range, busy_at: int) -> str:
    """Records of ten minutes; 90 % busy at one time, else 10 %."""
    records = [
        {
            "timestamp": {"date": "2026-03-02", "time": f"{s // 3600:02}:{s // 60 % 60:02}:00", "utc": 1,
                          "interval": 600},
            "cpu-load": [{"cpu": "all", "user": busy, "idle": 100 - busy}],
        }
        for s in at_s
        for busy in [90 if s == busy_at else 10]
    ]  # fmt: skip
    host = {"nodename": "lab", "number-of-cpus": 2, "statistics": records}
    return json.dumps({"sysstat": {"hosts": [host]}}, indent=1)


def test_figures_of_a_monitor_are_those_of_its_run(tmp_path: Path) -> None:
    """One that recorded the whole day; a reading is of the ten minutes before its time."""
    begin = 1_772_445_600  # 10:00 UTC
    log = "".join(f"0 {n} 900 0 {begin + n} 0\n" for n in range(1, 600))
    day = sadf(at_s=range(0, 86_400, 600), busy_at=36_600)
    (run,) = placed(written(tmp_path / "one", {"pgbench_log.1": log, "sar.json": day}))
    (monitor,) = run.others
    assert figures(monitor) == {"cpu_busy_sar": pytest.approx(90)}
    # what it read before and after is kept
    assert len(series(monitor)["cpu all", "cpu_load_idle"]) == 144
    later = log.replace(str(begin)[:6], "177245")
    runs = placed(written(tmp_path / "two", {"pgbench_log.1": log, "pgbench_log.2": later, "sar.json": day}))
    assert figures(runs[0].others[0]) == {"cpu_busy_sar": pytest.approx(90)}


def test_a_mean_per_request_is_weighted_by_requests(tmp_path: Path) -> None:
    head = "Device            r/s     rkB/s   r_await     w/s   w_await  %util\n"
    row = "sda {:15.2f} {:9.2f} {:9.2f}    0.00      0.00   1.00\n"
    readings = ((10, 40, 1), (1000, 4000, 1), (1, 4, 100))
    rows = "\n".join(head + row.format(*one) for one in readings)
    (report,) = read(tmp_path, "Linux 6.1.0 (lab) \t03/02/26 \t_x86_64_\t(2 CPU)\n\n" + rows)
    means = report.samples.means()
    assert means["device sda", "r_await"] == pytest.approx(1100 / 1001)
    assert ("device sda", "w_await") not in means


def test_an_engine_of_ase_without_a_tick_is_not_busy(tmp_path: Path) -> None:
    row = next(line for line in SYSMON_THREADED.splitlines() if line.strip().startswith("Engine 1 "))
    text = SYSMON_THREADED.replace(
        row, "   Engine 1                         0.0 %         0.0 %       0.0 %       0.0 %"
    )
    assert text != SYSMON_THREADED
    (report,) = read(tmp_path, text)
    assert not [name for name in figures(report) if "engine_1" in name]


def test_the_elapsed_time_of_awr_counts_where_the_clock_was_changed(tmp_path: Path) -> None:
    text = (
        "WORKLOAD REPOSITORY report for\n\n"
        "Begin Snap:       100 29-Mar-26 01:00:01        50       1.0\n"
        "  End Snap:       101 29-Mar-26 03:00:01        50       1.0\n"
        "   Elapsed:               60.00 (mins)\n\n"
        "Statistic                                     Total     per Second     per Trans\n"
        "-------------------------------- ------------------ -------------- -------------\n"
        "CPU used by this session                    360,000          100.0           1.0\n"
    )
    (report,) = read(tmp_path, text)
    assert report.seconds == 3600


def test_two_samples_of_one_spinlock_give_their_difference(tmp_path: Path) -> None:
    rows = "2026-11-29 08:50:00,a,1,1000,10,5,0\n2026-11-29 08:51:00,a,1,3000,30,25,0\n"
    head = "SampleTime,SpinlockName,SpinlockID,Grabs,Spins,Waits,Contention\n"
    (report,) = read(tmp_path, head + rows, "spin.csv")
    assert report.rows["latches"] == [{"latch": "a", "gets": 2000, "misses": 20}]


def test_a_row_that_is_not_understood_moves_no_block(tmp_path: Path) -> None:
    rows = [
        f"{o},{'failed' if (o, b) == ('A', 1) else b * of}"
        for o, of in (("A", 100), ("B", 105))
        for b in range(1, 9)
    ]
    texts = {"t.csv": "option,tps\n" + "\n".join(rows) + "\n", "s.toml": _TABLE}
    runs = placed(written(tmp_path, texts) / "s.toml", folders=False)
    assert {run.block for run in runs if run.option == "A"} == {*range(2, 9)}


def test_a_negative_number_is_another_option_than_a_positive_one(tmp_path: Path) -> None:
    texts = {"t.csv": "option,tps\n-1,100\n1,110\n", "s.toml": _TABLE}
    runs = placed(written(tmp_path, texts) / "s.toml", folders=False)
    assert [run.option for run in runs] == ["minus-1", "1"]


def test_days_of_one_host_in_two_files_follow_one_another(tmp_path: Path) -> None:
    """A disk that `-z` lists in one record alone has readings at no time."""

    def day(date: str) -> str:
        found = json.loads(sadf(at_s=range(600, 3600, 600), busy_at=1200).replace("2026-03-02", date))
        found["sysstat"]["hosts"][0]["statistics"][0]["disk"] = [{"disk-device": "sda", "tps": 5.0}]
        return json.dumps(found, indent=1)

    texts = {"p.txt": pgbench(), "a.json": day("2026-03-02"), "b.json": day("2026-03-03")}
    (run,) = placed(written(tmp_path / "r", texts))
    assert len(run.others) == 2 and len(pooled_run(run).others) == 1


def test_a_report_of_one_interval_need_not_begin_in_its_run(tmp_path: Path) -> None:
    """sp_sysmon began before the log of the clients; its readings have the time of its begin."""
    began = 1_772_445_600 + 5  # 10:00:05 UTC
    log = "".join(f"0 {n} 900 0 {began + n} 0\n" for n in range(1, 50))
    choice = '[[choices]]\nfiles = "s.txt"\nutc_offset_minutes = 0\n'
    texts = {
        "pgbench_log.1": log,
        "s.txt": SYSMON_THREADED,
        "x.toml": '[options.A]\nfiles = ["*_log.1", "s.txt"]\n' + choice,
    }
    (run,) = placed(written(tmp_path, texts) / "x.toml", folders=False)
    assert figures(run.others[0])["cpu_units"] == 0.7


def test_a_log_that_is_a_sample_is_no_throughput(tmp_path: Path) -> None:
    """Each client numbers its transactions; with `--sampling-rate` few of them are in the log."""
    whole = [
        f"{c} {n} 900 0 {1_772_445_600 + n // 100} {n % 100 * 10_000}\n" for n in range(6000) for c in (0, 1)
    ]
    (sample,) = read(tmp_path, "".join(whole[::10]), "pgbench_log.1")
    assert sample.work and not sample.work.foots and "does-not-foot" in codes(sample)
    # damage leaves out few
    (damaged,) = read(tmp_path, "".join(whole[:500] + whole[510:]), "pgbench_log.2")
    assert damaged.work and damaged.work.foots
    (wrong,) = read(tmp_path, "".join(["0 500000" + whole[0][3:], *whole[1:]]), "pgbench_log.3")
    assert wrong.work and wrong.work.foots
    # its latency counts beside the throughput of a summary
    (run,) = placed(
        written(tmp_path / "r", {"a.txt": pgbench(12_000, 2), "pgbench_log.1": "".join(whole[::10])})
    )
    (best,) = pooled_run(run).points[0]
    assert best.work and (best.work.transactions, best.work.foots) == (12_000, True)
    assert best.rows["latency"][0]["count"] == 1200 and best.began == sample.began


def test_a_mean_latency_with_failures_says_so(tmp_path: Path) -> None:
    text = pgbench().replace("1.6000 ms", "1.6000 ms (including failures)")
    (report,) = read(tmp_path, text)
    assert figures(report)["latency_mean"] == 1.6 and "source-warns" in codes(report)


@pytest.mark.parametrize(("hour", "moved"), [("03", True), ("02", False), ("01", True)])
def test_a_clock_that_leaps_by_an_hour_is_told(tmp_path: Path, hour: str, moved: bool) -> None:
    head = "Linux 6.1.0 (lab) \t03/29/26 \t_x86_64_\t(2 CPU)\n\n01:39:00        CPU     %user     %idle\n"
    times = ("01:49:00", "01:59:00", f"{hour}:09:00", f"{hour}:19:00")
    (report,) = read(tmp_path, head + "".join(f"{at}        all     10.00     90.00\n" for at in times))
    assert ("zone-unknown" in codes(report)) == moved


def test_a_clock_of_hourly_readings_does_not_leap(tmp_path: Path) -> None:
    head = "Linux 6.1.0 (lab) \t03/29/26 \t_x86_64_\t(2 CPU)\n\n00:00:00        CPU     %user     %idle\n"
    rows = (
        f"0{h}:00:00        {cpu}     10.00     90.00\n" for h in (1, 2, 3) for cpu in ("all", "  0", "  1")
    )
    (report,) = read(tmp_path, head + "".join(rows))
    assert "zone-unknown" not in codes(report) and report.seconds == 10_800


@pytest.mark.parametrize("cut", ["all", "eth0"])
def test_a_row_that_was_cut_after_its_name_is_no_heading(tmp_path: Path, cut: str) -> None:
    head = "Linux 6.1.0 (lab) \t03/29/26 \t_x86_64_\t(2 CPU)\n\n00:00:00      IFACE   rxpck/s   txpck/s\n"
    rows = (
        "00:10:00       eth0     10.00     90.00\n",
        f"00:20:00       {cut}\n",
        "00:30:00       eth0     30.00     0.00\n",
    )
    found, source = of_text(tmp_path, head + "".join(rows))
    assert len(series(found[0])["iface eth0", "rxpck_per_s"]) == 2 and source.skipped.count == 1


def test_a_level_of_a_second_dispatch_table_is_not_averaged(tmp_path: Path) -> None:
    table = (
        "# Time Sharing Dispatcher Configuration\nRES=1000\n\n# ts_quantum  ts_tqexp  ts_slpret  ts_maxwait"
        " ts_lwait  PRIORITY LEVEL\n{}         0        50           0        50        #     0\n"
    )
    found, source = of_text(tmp_path, table.format(200) + table.format(400))
    assert series(found[0])["priority 0", "ts_quantum_ms"] == [(0, 200)] and source.skipped.count == 1


def test_captures_of_readprofile_without_totals_are_refused(tmp_path: Path) -> None:
    one = "  120 schedule      0.0833\n  300 __copy_user                      2.5000\n"
    with pytest.raises(InputError, match="captures without their totals"):
        read(tmp_path, one + one)
    # static functions of one name
    twice = "".join(f"  10 f{n}      0.1\n" for n in range(9)) + "   5 f1     0.1\n"
    (report,) = read(tmp_path, twice)
    assert {row["stack"]: row["samples"] for row in report.rows["profile"]}["f1_[k]"] == 15


def test_outputs_without_times_are_taken_one_after_another_and_say_so(tmp_path: Path) -> None:
    text = f"### vmstat a ###\n{vmstat(90, False)}### vmstat b ###\n{vmstat(10, False)}"
    (run,) = placed(written(tmp_path / "r", {"p.txt": pgbench(), "v.txt": text}))
    (both,) = pooled_run(run).others
    assert any("one after another" in text for _, text in both.notices)


@pytest.mark.parametrize(("cells", "refused"), [(("1.234", "2.500"), True), (("1.234", "2.5"), False)])
def test_a_dot_that_may_stand_before_thousands_is_refused(
    tmp_path: Path, cells: tuple[str, str], refused: bool
) -> None:
    texts = {"t.csv": "option;tps\nA;{}\nB;{}\n".format(*cells), "s.toml": _TABLE}
    folder = written(tmp_path, texts)
    if refused:
        with pytest.raises(InputError, match="where a comma is decimal"):
            placed(folder / "s.toml", folders=False)
    else:
        assert len(placed(folder / "s.toml", folders=False)) == 2


@pytest.mark.parametrize("zone", ["", "+01", "Z"])
def test_sessions_of_dbxtune_are_told_apart_by_their_times(tmp_path: Path, zone: str) -> None:
    head = (
        '"SessionStartTime","SessionSampleTime","CmSampleTime","CmSampleMs","CmRowState","Name","Num_free"\n'
    )
    at = '"2026-03-02 {0}:0{1}:00{2}"'
    row = f'"2026-03-02 {{0}}:00:00{{2}}",{at},{at},"0","0","p","{{1}}"\n'
    text = head + "".join(row.format(hour, minute, zone) for hour in (10, 11) for minute in (0, 5))
    assert [one.seconds for one in read(tmp_path, text, "CmX_abs.csv")] == [300, 300]
    # a damaged time is that of the run before
    first, second, *others = text.splitlines(keepends=True)[1:]
    damaged = "".join([head, first, second.replace("02 10:00:00", "02 1q:00:00", 1), *others])
    assert [one.seconds for one in read(tmp_path, damaged, "CmY_abs.csv")] == [300, 300]


def test_a_table_in_an_answered_mail_has_its_columns(tmp_path: Path) -> None:
    table = (
        "NAME                                   GETS     MISSES     SLEEPS  SPIN_GETS  WAIT_TIME\n"
        "-------------------------------- ---------- ---------- ---------- ---------- ----------\n"
        "Result Cache: RC Latch                 1000         20          2         18        700\n"
    )
    (report,) = read(tmp_path, "".join(f"> {line}\n" for line in table.splitlines()))
    assert report.rows["latches"][0]["misses"] == 20


def test_a_device_whose_row_overflowed_was_not_idle(tmp_path: Path) -> None:
    """sysstat issue 259: counters of a device that went back."""
    head = "Linux 3.12.0 (lab) \t2020-05-18 \t_x86_64_\t(8 CPU)\n"
    names = "\n02:22:{}          DEV       tps  rd_sec/s     %util\n"
    row = "02:22:{}      {} {}     57.60      {}\n"
    text = head + names.format(31) + row.format(36, "dev8-0", "24.80", "0.16")
    text += row.format(36, "dev8-32", "3689348814741910528.00", "0.08")
    text += names.format(36) + row.format(41, "dev8-32", "10.00", "0.08")
    found, source = of_text(tmp_path, text)
    means = found[0].samples.means()
    assert (means["dev dev8-32", "tps"], means["dev dev8-0", "tps"]) == (10, pytest.approx(12.4))
    assert source.skipped.count == 1


def test_the_users_of_a_step_run_of_hammerdb_are_not_all_in_its_log(tmp_path: Path) -> None:
    """HammerDB issue 782: replicas have logs of their own."""
    text = (
        "Vuser 1:1 Active Virtual Users configured\n"
        "Vuser 1:TEST RESULT : System achieved 96747 NOPM from 224827 MariaDB TPM\n"
        "ALL VIRTUAL USERS COMPLETE\nPrimary complete\ndeleting port_file /tmp/hdbcallback.tcl\n"
        "Step workload complete\nvudestroy success\n"
    )
    found, source = of_text(tmp_path, text)
    assert source.skipped.count == 0 and any("replicas" in text for _, text in found[0].notices)
