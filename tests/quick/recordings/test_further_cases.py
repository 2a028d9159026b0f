"""More files in the shape of public reports: other versions and options, several runs, other locales."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from damaged_files import said_by
from layouts import LAYOUTS, PIDSTAT_ALL
from recorded_cases import CASES, codes, figures, of_text, one, read, series, work

from steelyard.errors import InputError
from steelyard.recordings.registry import reports_in
from steelyard.recordings.source import Source


def test_a_lock_of_freebsd_may_have_blanks_in_its_name() -> None:
    *spin, block = one("lockstat-freebsd.txt").rows["locks"]
    assert [(r["lock"], r["call_site"], r["contended"]) for r in spin] == [
        ("demo sc_mtx", "demo_ioctl+0xd4", 3612),
        ("demo cfg_mtx", "demo_sysctl_set+0x7a", 2894),
        ("Giant", "sysctl_root_handler_locked+0x4d", 808),
    ]
    assert block["wait_total_ns"] == 22 * 184_012


def test_rates_of_lockstat_are_no_counts(tmp_path: Path) -> None:
    head = "Adaptive mutex hold: 1458 events in 5.018 seconds (291 events/sec)\n\n"
    text = f"{head}ops/s indv cuml rcnt          Lock                   Caller\n"
    (report,), source = of_text(
        tmp_path, text + "  719  49%  49% 0.00          sc_mtx        demo_ioctl+0xd4\n"
    )
    assert series(report) == {("Adaptive mutex hold", "events"): [(0, 1458)]}
    assert source.skipped.count == 2


@pytest.mark.parametrize(
    ("name", "due"),
    [("hammerdb-3-timestamps.txt", (605_010, 600, 10)), ("hammerdb-web-service.txt", (128_024, 120, 5))],
)
def test_hammerdb_of_version_3_and_of_its_web_service(name: str, due: tuple[int, float, int]) -> None:
    report = one(name, not_understood=0 if "3" in name else 11)
    assert work(report) == (due[0], 0, due[1], due[2]) and not codes(report)


def test_a_failed_user_of_hammerdb_is_said(tmp_path: Path) -> None:
    (report,), _ = of_text(
        tmp_path,
        "Vuser 1:TEST RESULT : System achieved 100 NOPM from 230 MariaDB TPM\nVuser 3:FINISHED FAILED\n",
    )
    assert ("source-warns", "HammerDB: Vuser 3:FINISHED FAILED") in report.notices


def test_rates_of_go_tpc_are_each_over_their_own_time() -> None:
    report = one("go-tpc-own-times.txt")
    assert work(report) == (152, 1, 177, None)
    assert figures(report) == {"tpmc": 25.2, "tpm_total": 52.9}


def test_a_count_of_go_tpc_without_a_total_foots_too(tmp_path: Path) -> None:
    text = (CASES / "go-tpc-own-times.txt").read_text()
    without = re.sub(", tpmTotal.*", "", text)
    (report,), _ = of_text(tmp_path, without)
    assert report.work is not None and report.work.foots
    (report,), _ = of_text(tmp_path, without.replace("Count: 72, TPM: 24.5", "Count: 82, TPM: 24.5"))
    assert report.work is not None and not report.work.foots


def test_statements_of_pgbench_9_are_divided_by_tabs() -> None:
    report = one("pgbench-9-tabs.txt")
    assert series(report)["statement select f_test(:id);", "latency_mean_ms"] == [(0, 6.659889)]
    assert work(report)[0] == 30_025 and report.seconds == pytest.approx(30_025 / 3001.926759)


@pytest.mark.parametrize(
    ("kind", "line", "damaged"),
    [
        ("drivers/pgbench", "tps = 500.000000 (without", "tps = 12.5.3 (without"),
        ("kernel/perf_report", "# Samples: 200 ", "# Samples: 1.2.3 "),
        ("drivers/hammerdb", "achieved 128176 NOPM", "achieved 1.2.3 NOPM"),
        ("ase/sysmon", "Average          50.0 %", "Average          1.2.3 %"),
    ],
)
def test_a_damaged_line_of_a_rule_is_no_line_of_another(
    tmp_path: Path, kind: str, line: str, damaged: str
) -> None:
    text = next(text for text, name in LAYOUTS.items() if name == kind and line in text)
    (tmp_path / "report.txt").write_text(text.replace(line, damaged, 1))
    source = Source(tmp_path / "report.txt")
    try:
        reports_in(source)
    except InputError as error:
        assert damaged.split()[-2] in str(error)
    assert any(damaged.strip("# ") in one for _, one in source.skipped.lines), source.skipped.lines


def test_an_aborted_client_of_pgbench_is_said() -> None:
    report = one("pgbench-aborted.txt")
    assert ("source-warns", "pgbench: clients were aborted, the results are incomplete") in report.notices


def test_threads_of_sysbench_that_ended_were_clients() -> None:
    report = one("sysbench-threads-ended.txt")
    assert (report.clients, report.seconds) == (512, 4)
    assert figures(report) == {"tps_of_progress": pytest.approx(712.815)}


def test_a_process_of_prstat_that_begins_a_thread_is_one() -> None:
    found = series(one("prstat-m.txt"))
    assert found["1201 java", "usr_percent"] == [(0, 55)]
    assert found["1201 java", "scl"] == [(0, 99_000)]


def test_mpstat_of_solaris_that_began_again() -> None:
    report = one("mpstat-solaris-again.txt")
    assert series(report)["cpu 0", "csw"] == [(0, 9115), (2, 9315)]
    assert series(report)["cpu 1", "idl_percent"] == [(0, 29), (2, 25)]
    assert figures(report) == {"cpu_busy_mpstat": 68.5}
    assert sum(code == "since-boot" for code, _ in report.notices) == 2


def test_sets_of_processors_of_solaris(tmp_path: Path) -> None:
    head = "SET minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  wt idl sze\n"
    rows = "".join(
        f"  {i} 10 0 20 30 40 55 60 70 80 0 90 {u} 10 0 {90 - u} 24\n" for i, u in ((0, 20), (1, 40))
    )
    (report,), _ = of_text(tmp_path, head + rows + head + rows.replace(" 55 ", " 5000 "))
    assert series(report)["set 1", "csw"] == [(0, 5000)] and series(report)["set 0", "sze"] == [(0, 24)]
    assert figures(report) == {"cpu_busy_mpstat": 40}


def test_interrupts_by_number_are_no_shares_of_the_cpu() -> None:
    found = series(one("mpstat-interrupts.txt"))
    assert found["cpu 0", "usr_percent"] == [(1, 10)] and found["cpu 0", "idle_percent"] == [(1, 85)]
    assert found["cpu 0", "3_per_s"] == [(1, 40)] and found["cpu 1", "16_per_s"] == [(1, 60)]


def test_retransmissions_of_nfs_and_tcp_are_two_figures() -> None:
    report = one("sar-nfs-tcp.txt")
    found = series(report)
    assert found["host", "nfs_retrans_per_s"] == [(10, 0.5)] and found["host", "retrans_per_s"] == [(10, 7)]
    assert found["mountpoint /", "mbfsused"] == [(10, 10_240)] and figures(report) == {"cpu_busy_sar": 25}
    assert (str(report.began), report.seconds) == ("2026-03-14 10:00:00", 10)


def test_vmstat_with_the_time_in_front() -> None:
    report = one("vmstat-exawatcher.txt")
    assert series(report)["host", "cs"] == [(5, 164_034), (10, 168_816)]
    assert figures(report) == {"cpu_busy_vmstat": 44} and report.seconds == 10


def test_events_of_one_subsystem_are_several() -> None:
    report = one("perf-script-events.txt")
    assert [row["stack"] for row in report.rows["profile"]] == [
        "postgres;ExecScan;native_write_msr_[k]",
        "postgres;ExecScan",
    ]
    assert report.facts == {"event": "cycles:ppp"}
    assert "left out: 1 samples of sched:sched_switch" in dict(report.notices)["event-left-out"]


def test_the_time_between_two_captures_of_perf_does_not_count() -> None:
    report = one("perf-script-twice.txt")
    assert report.seconds == pytest.approx(2) and report.rows["profile"][0]["samples"] == 4
    assert "intervals-missing" in codes(report)


def test_shares_below_other_columns_of_perf_are_not_read(tmp_path: Path) -> None:
    head = "# Samples: 1000  of event 'cycles'\n#\n"
    for heading, row in (
        ("# Overhead        Period  Command   Shared Object  Symbol", "60.00%     1500  postgres  postgres"),
        ("# Overhead       sys       usr  Command   Shared Object  Symbol", "60.00%  50.00%  10.00%  a  b"),
    ):
        with pytest.raises(InputError, match="nothing in this file was understood"):
            of_text(tmp_path, f"{head}{heading}\n    {row}  [.] ExecScan\n")


def test_locks_of_perf_by_their_addresses() -> None:
    rows = one("perf-lock-addresses.txt").rows["locks"]
    assert [(row["lock"], row["contended"], row["wait_total_ns"]) for row in rows] == [
        ("pack_mutex (mutex)", 3, 14_990),
        ("&task_struct (mutex)", 2, 2_750),
        ("&task_struct (mutex)", 1, 929),
    ]


def test_a_row_of_several_samples_of_jmeter_is_not_understood(tmp_path: Path) -> None:
    head = "timeStamp,elapsed,label,threadName,success,SampleCount\n"
    rows = "1547813737123,120,Login,T 1-1,true,1\n1547813737323,130,Login,T 1-2,true,3\n"
    (report,), source = of_text(tmp_path, head + rows)
    assert report.work is not None and report.work.transactions == 1 and source.skipped.count == 1


def test_a_log_that_pauses_says_so(tmp_path: Path) -> None:
    """JMeter adds to a file that is there, without another heading."""
    head = "timeStamp,elapsed,label,threadName,success\n"
    rows = "".join(f"{1_547_813_737_000 + 1000 * s},120,Login,T 1-1,true\n" for s in (0, 1, 2, 100, 101))
    (report,), _ = of_text(tmp_path, head + rows)
    text = "no transaction ended in 98 s, as between two runs: that time counts"
    assert report.notices == [("intervals-missing", text)]


def test_a_table_of_dbxtune_that_was_exported_twice_counts_once() -> None:
    report = one("CmSpinlockActivity_diff.csv")
    assert report.rows["latches"] == [{"latch": "proc cache", "gets": 7000, "misses": 70}]
    assert codes(report) == {"rows-again"}


def test_sessions_of_dbxtune_are_reports_of_their_own() -> None:
    first, second = read("CmEngines_abs.csv")
    assert (first.seconds, second.seconds) == (60, 60)
    assert series(second)["CmEngines 0", "contextswitches_total"] == [(0, 100), (60, 400)]


def test_a_rounded_count_of_v_latch_has_no_difference() -> None:
    report = one("v_latch-rounded.txt", not_understood=2)
    assert report.rows["latches"] == [
        {"latch": "redo allocation", "gets": 100_000, "misses": 100, "sleeps": 100}
    ]


def test_children_of_a_latch_are_no_captures() -> None:
    report = one("v_latch-children.txt")
    assert [(row["latch"], row["gets"]) for row in report.rows["latches"]] == [
        ("cache buffers chains 1", 100_000),
        ("cache buffers chains 2", 200_000),
    ]
    assert codes(report) == {"counted-since-start"}


@pytest.mark.parametrize(
    "head",
    [
        "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle",
        "vm\t1\t2026-11-27 02:03:40 UTC\tall\t%usr\t90.50",
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE sysstat PUBLIC "x" "y">\n<sysstat>',
    ],
)
def test_other_forms_of_sadf_are_refused_by_name(tmp_path: Path, head: str) -> None:
    with pytest.raises(InputError, match="of sadf only JSON is read") as refused:
        of_text(tmp_path, head + "\n")
    assert refused.value.hint == "sadf -j FILE -- -A"


def test_columns_of_iostat_before_the_device(tmp_path: Path) -> None:
    cpu = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n {}.00  0.00 10.00  0.00  0.00  {}.00\n"
    device = "\n     r/s     rkB/s Device\n   {}.00   800.00 vda\n\n"
    banner = "Linux 6.1.0 (vm) \t11/27/26 \t_x86_64_\t(2 CPU)\n\n"
    text = banner + cpu.format(1, 89) + device.format(1) + cpu.format(50, 40) + device.format(65)
    (report,), source = of_text(tmp_path, text)
    assert series(report)["device vda", "r_per_s"] == [(0, 65)] and figures(report) == {"cpu_busy_iostat": 60}
    assert source.skipped.count == 0


def test_pidstat_of_old_versions_and_by_the_epoch(tmp_path: Path) -> None:
    banner = "Linux 3.10.0 (vm) \t11/27/26 \t_x86_64_\t(2 CPU)\n\n"
    old = "10:00:00          PID    %usr %system  %guest    %CPU   CPU  Command\n"
    row = "10:00:01         4711   40.00   10.00    0.00   50.00     1  postgres\n"
    (report,), _ = of_text(tmp_path, banner + old + row)
    assert series(report)["pid 4711 postgres", "cpu_percent"] == [(1, 50)]
    text = banner + (old + row).replace("10:00:00", "1795745122").replace("10:00:01", "1795745123")
    (report,), _ = of_text(tmp_path, text)
    assert str(report.began) == "2026-11-27 02:05:22+00:00"
    assert series(report)["pid 4711 postgres", "cpu_percent"] == [(1, 50)]


# texts whose times or numbers the locale writes
LOCAL = [text for text, name in LAYOUTS.items() if name.startswith("system/") and "sysstat" not in text]
LOCAL = [text for text in [*LOCAL, PIDSTAT_ALL] if "Linux" in text]
CLOCK = re.compile(r"(?m)^(# )?(\d\d):(\d\d:\d\d)(?: ([AP])M)?(?=\s)")
BANNER_DAY = re.compile(r"\d\d/\d\d/(\d{4}|\d\d)(?=\s)")


def twelve_hours(mark: str) -> Callable[[re.Match[str]], str]:
    def clock(found: re.Match[str]) -> str:
        hour = int(found[2])
        if found[4]:
            hour = hour % 12 + (12 if found[4] == "P" else 0)
        shown = hour % 12 or 12
        half = "p" if hour >= 12 else "a"
        text = mark.replace("A", half.upper()).replace("a", half)
        return (
            f"{found[1] or ''}{shown:02}:{found[3]}{text}"
            if mark
            else f"{found[1] or ''}{hour:02}:{found[3]}"
        )

    return clock


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("number", range(len(LOCAL)))
def test_another_locale_gives_the_same_figures(tmp_path: Path, number: int, seed: int) -> None:
    """Numbers with commas, clocks of 12 and 24 hours, days as languages write them."""
    text, dice = LOCAL[number], random.Random(f"{number} {seed}")
    day = "2026-03-14" if "03/14" in text else ""
    days = ["14.03.2026", "14/03/2026", "2026-03-14", "14/03/26", "03/14/26"] if day else []
    other = CLOCK.sub(twelve_hours(dice.choice(["", " AM", " am", " a.m.", " a. m."])), text)
    if days:
        other = other.replace("03/14/2026", dice.choice(days))
    if dice.random() < 0.5:
        other = re.sub(r"(?<![\w.])(\d+)\.(\d+)(?![\w.])", r"\1,\2", other)
    (tmp_path / "plain.txt").write_text(text)
    (tmp_path / "other.txt").write_text(other)
    plain, found = said_by(tmp_path / "plain.txt"), said_by(tmp_path / "other.txt")
    assert found == plain


@pytest.mark.parametrize("name", ["drivers/pgbench", "drivers/specjbb2005"])
def test_decimal_commas_of_a_driver(tmp_path: Path, name: str) -> None:
    text = next(text for text, format_ in LAYOUTS.items() if format_ == name)
    (tmp_path / "plain.txt").write_text(text)
    (tmp_path / "other.txt").write_text(re.sub(r"(?<![\w.(])(\d+)\.(\d+)(?![\w.])", r"\1,\2", text))
    assert said_by(tmp_path / "other.txt") == said_by(tmp_path / "plain.txt")
