"""Logs in the shape of public reports that once gave a wrong figure in silence; each with the right one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from recorded_cases import codes, figures, of_text, series, work

from steelyard.errors import InputError
from steelyard.recordings.filing import by_folder
from steelyard.recordings.importing import import_files
from steelyard.recordings.limits import Deadline
from steelyard.recordings.merge import pooled_run, rows_merged
from steelyard.recordings.report import PlacedRun, Report
from steelyard.recordings.runs import runs_of
from steelyard.recordings.schedule import FileChoice
from steelyard.recordings.tables_of_run import tables_of_runs


def whole(folder: Path, text: str, name: str = "report.txt") -> list[Report]:
    """The reports of a text of which every line is understood."""
    found, source = of_text(folder, text, name)
    assert source.skipped.count == 0, source.skipped.lines
    return found


@pytest.mark.parametrize(
    "between",
    [
        "",
        "hammerdb>vudestroy\nhammerdb>vuset vu 2\nhammerdb>vurun\n",
        "Hammerdb Log @ Fri Jan 18 12:00:37 MST 2019\nVuser 1:Beginning rampup time of 1 minutes\n"
        "Vuser 1:Timing test period of {} in minutes\n",
    ],
)
def test_runs_of_hammerdb_keep_their_users_and_lengths(tmp_path: Path, between: str) -> None:
    """Lines of the virtual users alone, as in hammerdb.log, or what grep left of them."""
    text = "".join(
        between.format(minutes)
        + f"Vuser 1:{users} Active Virtual Users configured\n"
        + f"Vuser 1:TEST RESULT : System achieved {tpm} MySQL TPM at 824 NOPM\n"
        for users, tpm, minutes in ((1, 2436, 2), (2, 4067, 5), (4, 6114, 2))
    )
    minutes = (2, 5, 2) if "Timing" in between else (1, 1, 1)
    done = [tpm * n for tpm, n in zip((2436, 4067, 6114), minutes, strict=True)]
    assert [work(one)[0::3] for one in whole(tmp_path, text)] == list(zip(done, (1, 2, 4), strict=True))


def test_figures_of_hammerdb_that_are_not_kept_are_said(tmp_path: Path) -> None:
    result = "Vuser 1:TEST RESULT : System achieved 468610 SQL Server TPM at 101789 NOPM\n"
    for line in (
        "Vuser 2:|neword|MIN-391|P50%-685|P95%-1286|P99%-3298|MAX-246555|SAMPLES-3603\n",
        "Vuser 1:Completed 1 query set(s) in 351 seconds\n",
        "Vuser 1:Geometric mean of query times returning rows (22) is 1.27910\n",
    ):
        (report,) = whole(tmp_path, line + result)
        assert "left-out" in codes(report)


_STATISTICS = """{}
Statistic                                     Total     per Second     per Trans
-------------------------------- ------------------ -------------- -------------
user commits                                  {}           10.0           1.0

"""
_AWR = (
    "WORKLOAD REPOSITORY {}\n\nBegin Snap:       100 01-Mar-21 10:00:00        60       1.5\n"
    "  End Snap:       101 01-Mar-21 10:10:00        61       1.5\n\n"
)
_TITLES = ("Key Instance Activity Stats  DB/Inst: ORCL/orcl", "Instance Activity Stats  DB/Inst: ORCL/orcl")


@pytest.mark.parametrize("title", ["report for", "PDB report (root snapshots)"])
def test_a_statistic_of_awr_that_stands_in_two_tables_counts_once(tmp_path: Path, title: str) -> None:
    tables = "".join(_STATISTICS.format(one, "6,000") for one in _TITLES)
    (report,) = whole(tmp_path, _AWR.format(title) + tables)
    assert work(report)[0] == 6000 and series(report)["user commits", "count"] == [(0, 6000)]


def test_a_statistic_of_awr_with_two_values_is_not_understood(tmp_path: Path) -> None:
    tables = "".join(_STATISTICS.format(*one) for one in zip(_TITLES, ("6,000", "6,100"), strict=True))
    (report,), source = of_text(tmp_path, _AWR.format("report for") + tables)
    assert work(report)[0] == 6000 and source.skipped.count == 1


def test_more_good_requests_of_benchbase_than_it_measured_do_not_foot(tmp_path: Path) -> None:
    summary = {
        "Elapsed Time (nanoseconds)": 2198000068342, "DBMS Type": "POSTGRES", "Measured Requests": 22,
        "Throughput (requests/second)": 0.01000909, "Goodput (requests/second)": 0.0200181,
    }  # fmt: skip
    (report,) = whole(tmp_path, json.dumps(summary), "bb.summary.json")
    assert "does-not-foot" in codes(report) and report.work is not None and not report.work.foots


_JTL = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,"
    "grpThreads,allThreads,URL,Latency\n"
)


def jtl(
    at_ms: int, took_ms: int, label: str, thread: str = "Group 1-1", message: str = "OK", users: int = 1
) -> str:
    row = f'{1795500000000 + at_ms},{took_ms},{label},200,"{message}",{thread},text,true,,100,'
    return f"{row}{users},{users},null,30\n"


_SUM = "Number of samples in transaction : 2, number of failing samples : 0"


def test_redirects_that_jmeter_prints_are_parts_of_their_request(tmp_path: Path) -> None:
    """The last part ends 2 ms after its request; `Login-2` of another time is a request of its own."""
    rows = jtl(0, 300, "Login") + jtl(0, 100, "Login-0") + jtl(101, 201, "Login-1") + jtl(400, 50, "Login-2")
    (report,) = whole(tmp_path, _JTL + rows, "log.jtl")
    assert work(report)[0] == 2 and ("sum" in codes(report))


@pytest.mark.parametrize("heading", ["", "responseMessage"])
def test_a_transaction_of_jmeter_is_the_sum_of_what_lies_within(tmp_path: Path, heading: str) -> None:
    """Also without a message, and where redirects lie within a request of it."""
    head = _JTL.replace(heading, "message") if heading else _JTL
    rows = jtl(0, 200, "/a") + jtl(0, 90, "/a-0") + jtl(205, 300, "/b") + jtl(0, 505, "Order", message=_SUM)
    (report,) = whole(tmp_path, head + rows, "log.jtl")
    assert work(report)[:2] == (2, 0)


def test_transactions_of_jmeter_whose_parts_are_not_listed_count(tmp_path: Path) -> None:
    rows = "".join(jtl(500 * i, 500, "Order", message=_SUM) for i in range(4)) + jtl(2000, 100, "Ping")
    (report,) = whole(tmp_path, _JTL + rows, "log.jtl")
    assert work(report)[:2] == (5, 0) and "sum" not in codes(report)


def test_a_transaction_of_jmeter_without_its_timers_ends_before_its_parts(tmp_path: Path) -> None:
    rows = jtl(1000, 200, "/a") + jtl(2200, 300, "/b") + jtl(0, 500, "Order", message=_SUM)
    (report,) = whole(tmp_path, _JTL + rows, "log.jtl")
    assert work(report)[:2] == (2, 0)


def test_requests_of_two_hosts_with_threads_of_one_name_all_count(tmp_path: Path) -> None:
    rows = "".join(
        jtl(at, took, label) for at, took, label in ((0, 300, "/a"), (100, 50, "/b"), (200, 90, "/c"))
    )
    (report,) = whole(tmp_path, _JTL + rows, "log.jtl")
    assert work(report)[:2] == (3, 0)


def test_samples_of_no_length_lie_within_no_other(tmp_path: Path) -> None:
    rows = jtl(0, 0, "/a") + jtl(0, 10, "/b") + jtl(10, 0, "/c") + jtl(10, 5, "/d")
    (report,) = whole(tmp_path, _JTL + rows, "log.jtl")
    assert work(report)[:2] == (4, 0)


def test_clients_of_jmeter_are_those_of_one_time(tmp_path: Path) -> None:
    rows = jtl(0, 100, "login", "setUp Thread Group 1-1")
    for group in (1, 2):
        rows += "".join(jtl(1000 * group, 400, "q", f"Group {group}-{n}", users=5) for n in range(1, 6))
    (report,) = whole(tmp_path, _JTL + rows, "log.jtl")
    assert report.clients == 5
    # each of several hosts counts its own
    rows = "".join(jtl(0, 400, "q", f"10.0.0.{n}-Group 1-1") for n in range(1, 4))
    assert whole(tmp_path, _JTL + rows, "log.jtl")[0].clients == 3


@pytest.mark.parametrize(
    ("tags", "failed"),
    [
        ('"status":"500"', 1),
        ('"status":"0","error_code":"1211"', 1),
        ('"status":"302"', 0),
        ('"status":"500","expected_response":"true"', 0),
        ('"status":"200","expected_response":"false"', 1),
        ('"method":"GET"', 0),
    ],
)
def test_a_request_of_k6_fails_by_its_status_where_nothing_else_says_so(
    tmp_path: Path, tags: str, failed: int
) -> None:
    point = '{{"type":"Point","data":{{"time":"2017-05-09T14:34:4{}+02:00","value":100,"tags":{{{}}}}},{}}}\n'
    metric = '"metric":"http_req_duration"'
    text = point.format("5.0", '"status":"200"', metric) + point.format("6.0", tags, metric)
    (report,) = whole(tmp_path, text, "k6.json")
    assert work(report)[:2] == (2 - failed, failed)


_SUMMARY = """pgbench (16.1)
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 10
query mode: simple
number of clients: 1
number of threads: 1
maximum number of tries: 1
duration: 10 s
number of transactions actually processed: 1000
number of failed transactions: 0 (0.000%)
latency average = 10.000 ms
initial connection time = 3.100 ms
tps = 100.000000 (without initial connection time)
"""


@pytest.mark.parametrize(("every", "of", "counts"), [(1, 1, True), (10, 1, True), (1, 2, False)])
def test_a_log_of_pgbench_that_lacks_transactions_of_its_summary_does_not_foot(
    tmp_path: Path, every: int, of: int, counts: bool
) -> None:
    """The summary counts beside a sample; the log of one of several threads contradicts it."""
    (tmp_path / "A").mkdir()
    (tmp_path / "A" / "summary.txt").write_text(_SUMMARY)
    numbers = range(0, 1000 // of, every)
    log = (f"0 {n} 10000 0 {1700000000 + n * of // 100} {n * of % 100 * 10000}\n" for n in numbers)
    (tmp_path / "A" / "pgbench_log.1234").write_text("".join(log))
    (run,), _ = runs_of(by_folder([str(tmp_path)]), lambda path, share: None, Deadline(1))
    ((report,),) = pooled_run(run).points
    assert report.work is not None and report.work.foots == counts
    assert ("does-not-foot" in codes(report)) == (every > 1 or of > 1)


def test_logs_of_threads_that_begin_at_other_seconds_keep_their_interval(tmp_path: Path) -> None:
    rows = (
        f"{1650260552 + late + at} 5000 25000000 1 100 9000\n" for late in (0, 1) for at in range(0, 60, 10)
    )
    (report,) = whole(tmp_path, "".join(rows), "pgbench_log.7")
    assert report.work is not None
    assert (report.work.transactions, report.seconds) == (60_000, 61) and "intervals-missing" not in codes(
        report
    )


_PIDSTAT = "Linux 5.4.0-42-generic (db1) \t07/20/2020 \t_x86_64_\t(4 CPU)\n"
_PID = "10:00:{:02} AM   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n"


def test_a_process_that_pidstat_does_not_list_used_nothing(tmp_path: Path) -> None:
    text = _PIDSTAT
    for second in range(10):
        text += "\n" + _PID.format(second)
        for pid, name, at in ((1001, "mysqld", range(10)), (2222, "gzip", (5,)), (3333, "cp", (0, 1, 8))):
            cells = f"10:00:{second + 1:02} AM     0     {pid}   30.00   10.00    0.00    0.00   40.00     1"
            text += f"{cells}  {name}\n" * (second in at)
    (report,) = whole(tmp_path, text)
    found = {
        name: report.samples.means()[f"pid {name}", "cpu_percent"]
        for name in ("1001 mysqld", "2222 gzip", "3333 cp")
    }
    assert found == pytest.approx({"1001 mysqld": 40, "2222 gzip": 4, "3333 cp": 12})


def test_a_device_that_iostat_does_not_list_was_idle(tmp_path: Path) -> None:
    """iostat -z; the wait of no request is not 0."""
    text = _PIDSTAT
    for second in range(10):
        text += f"\n07/20/2020 10:00:{second:02} AM\nDevice            r/s   rkB/s r_await  %util\n"
        text += "sda             10.00  100.00    0.50   5.00\n"
        text += "sdb            100.00 1000.00    0.40  90.00\n" * (second == 4)
    (report,) = whole(tmp_path, text)
    of = {
        metric: report.samples.means()["device sdb", metric]
        for metric in ("r_per_s", "util_percent", "r_await")
    }
    # the first reading is since the boot
    assert of == pytest.approx({"r_per_s": 100 / 9, "util_percent": 10, "r_await": 0.4})


_PRSTAT = "   PID USERNAME USR SYS TRP TFL DFL LCK SLP LAT VCX ICX SCL SIG PROCESS/LWPID\n"


def test_the_first_reading_of_prstat_is_of_the_whole_life_of_a_thread(tmp_path: Path) -> None:
    row = "  1001 oracle    {} 1.0 0.0 0.0 0.0 0.0  97 0.1 100  10  1K   0 oracle/1\n"
    (report,) = whole(tmp_path, "".join(_PRSTAT + row.format(usr) for usr in (" 40", "2.0", "3.0")))
    assert series(report)["1001 oracle/1", "usr_percent"] == [(0, 2), (1, 3)] and "since-boot" in codes(
        report
    )
    (report,) = whole(tmp_path, _PRSTAT + row.format(" 40"))
    assert series(report)["1001 oracle/1", "usr_percent"] == [(0, 40)] and "since-boot" in codes(report)


def readprofile(captures: int) -> str:
    """Sorted, as `sort -nr` prints it: the total comes first."""
    lines = "".join(
        f"{10_000 * n:6} total   2.6\n{6_000 * n:6} default_idle   89.5\n{1_000 * n:6} schedule   4.0\n"
        for n in range(1, captures + 1)
    )
    return lines + "   960 smp_call_function   4.0\n" * (captures == 1)


def test_a_sorted_readprofile_begins_with_its_total(tmp_path: Path) -> None:
    (report,) = whole(tmp_path, readprofile(1))
    found = {row["stack"]: row["samples"] for row in report.rows["profile"]}
    assert found == {
        "default_idle_[k]": 6000, "schedule_[k]": 1000, "smp_call_function_[k]": 960,
        "functions not listed_[k]": 2040,
    }  # fmt: skip
    (report,) = whole(tmp_path, readprofile(3))
    found = {row["stack"]: row["samples"] for row in report.rows["profile"]}
    assert found == {"default_idle_[k]": 12_000, "schedule_[k]": 2000, "functions not listed_[k]": 6000}


@pytest.mark.parametrize(
    ("columns", "rows", "names"),
    [
        (
            "address   symbol",
            (
                "ffff9d7800ad9600    (mutex)",
                "ffff9d7804b992d8    (mutex)",
                "ffffffff9e1c3620   pack_mutex (mutex)",
            ),
            ["(mutex) ffff9d7800ad9600", "(mutex) ffff9d7804b992d8", "pack_mutex (mutex)"],
        ),
        (
            "pid   comm",
            ("321353   Chrome_IO", "320761   Chrome_IO"),
            ["Chrome_IO 321353", "Chrome_IO 320761"],
        ),
    ],
)
def test_locks_and_threads_of_one_name_are_not_one(
    tmp_path: Path, columns: str, rows: tuple[str, ...], names: list[str]
) -> None:
    text = f" contended   total wait     max wait     avg wait            {columns}\n\n"
    text += "".join(f"           2      3.34 us      2.87 us      1.67 us   {row}\n" for row in rows)
    (report,) = whole(tmp_path, text)
    assert [row["lock"] for row in report.rows["locks"]] == names


@pytest.mark.parametrize(
    ("frame", "kernel"),
    [
        ("ffffffffc0451234 xfs_write+0x84 ([xfs])", True),
        ("9bfd56 kfree_skb (/lib/modules/5.8.10/build/vmlinux)", True),
        ("ffffffffc0451234 nft_do_chain (/lib/modules/5.4.0/nf_tables.ko.xz)", True),
        ("8185ab30 spin ([guest.kernel.kallsyms])", True),
        ("ffffffffff600000 gettimeofday ([vsyscall])", False),
        ("7f1234567890 __libc_write+0x20 (/usr/lib64/libpthread-2.28.so)", False),
        ("7ffd1234 clock ([vdso])", False),
        ("ffffffffffffffff [unknown] ([unknown])", False),
        ("8185ab30 spin (/vmlinux-5.10.0+)", True),
    ],
)
def test_frames_of_the_kernel_are_known_wherever_its_symbols_are(
    tmp_path: Path, frame: str, kernel: bool
) -> None:
    (report,) = whole(tmp_path, f"mysqld  1234/1240  [003]  5012.100000:     250000 cycles: \n\t{frame}\n")
    (row,) = report.rows["profile"]
    assert row["stack"].endswith("_[k]") == kernel


def test_disks_of_one_short_name_are_not_one(tmp_path: Path) -> None:
    heading = " kthr      memory            page            disk          faults      cpu\n"
    heading += " r b w   swap  free  re  mf pi po fr de sr vc vc -- --   in   sy   cs us sy id\n"
    row = " 0 0 0 85614096 31518776 3880 23598 821 359 357 0 0 {} {} 0 0 43714 154790 58251 8 3 89\n"
    (report,) = whole(tmp_path, heading + "".join(row.format(n, 10 * n) for n in (19, 20, 21)))
    found = series(report)
    assert found["host", "vc"] == [(0, 20), (1, 21)] and found["host", "vc_2"] == [(0, 200), (1, 210)]
    assert not any("-" in metric for _, metric in found)


def test_call_sites_of_lockmeter_whose_lines_mail_wrapped_keep_their_lock(tmp_path: Path) -> None:
    text = (
        "SPINLOCKS         HOLD            WAIT\n"
        "  UTIL  CON    MEAN(  MAX )   MEAN(  MAX )(% CPU)     TOTAL NOWAIT SPIN RJECT  NAME\n\n"
        "  6.6%  9.1%  1.3us( 111us)   14us( 234us)( 1.7%)   3773504 90.9%  9.1%\n0%  io_request_lock\n"
        "  5.4%  3.4%  2.1us(  77us)  9.8us( 234us)(0.21%)   1846091 96.6%  3.4%\n"
        "0%    __make_request+0x270\n"
    )
    (report,) = whole(tmp_path, text)
    found = [(row["lock"], row["call_site"], row["acquisitions"]) for row in report.rows["locks"]]
    assert found == [
        ("io_request_lock", "", 3_773_504),
        ("io_request_lock", "__make_request+0x270", 1_846_091),
    ]


@pytest.mark.parametrize("stamped", [True, False])
def test_readings_of_iostat_that_list_nothing_count(tmp_path: Path, stamped: bool) -> None:
    """iostat -dz with one device that is active in every other second."""
    text = _PIDSTAT
    for second in range(11):
        text += f"\n07/20/2020 10:00:{second:02} AM\n" * stamped or "\n"
        text += "Device             tps    kB_read/s    kB_read  aqu-sz  %util\n"
        text += "sdb             100.00    1000.00       1000    2.00  90.00\n" * (second % 2 == 0)
    (report,) = whole(tmp_path, text)
    names = ("tps", "kb_read_per_s", "kb_read", "aqu_sz", "util_percent")
    of = {name: report.samples.means()["device sdb", name] for name in names}
    assert of == pytest.approx(dict(zip(names, (50, 500, 500, 1, 45), strict=True)))


def test_a_total_of_readprofile_that_stands_among_its_functions_is_no_second_capture(tmp_path: Path) -> None:
    """As `sort -nr +2` prints it, by the load of each function."""
    text = "  6000 default_idle   89.5\n   960 schedule   4.0\n 10000 total   2.6\n  1000 send   1.0\n"
    (report,) = whole(tmp_path, text)
    found = {row["stack"]: row["samples"] for row in report.rows["profile"]}
    assert sum(found.values()) == 10_000 and found["functions not listed_[k]"] == 2040
    assert "counter-reset" not in codes(report)


def test_a_reading_of_prstat_that_was_cut_off_leaves_the_one_before(tmp_path: Path) -> None:
    row = "  1001 oracle   40 1.0 0.0 0.0 0.0 0.0  97 0.1 100  10  1K   0 oracle/1\n"
    (report,) = whole(tmp_path, _PRSTAT + row + _PRSTAT)
    assert series(report)["1001 oracle/1", "usr_percent"] == [(0, 40)]


@pytest.mark.parametrize("per_s", ["0.0123", "1.234", "12", "0.0034722"])
def test_slow_rates_keep_their_digits(tmp_path: Path, per_s: str) -> None:
    (report,) = whole(tmp_path, f"clients,per_s\n4,{per_s}\n", "rates.csv")
    assert report.work and report.seconds
    assert report.work.transactions / report.seconds == pytest.approx(float(per_s), rel=1e-4)
    assert (report.seconds == 100) == (per_s == "12")


@pytest.mark.parametrize(
    ("unit", "count"),
    [
        ("1/min", 2),
        ("tps", 120),
        ("index", 120),
        ("tpsE", 120),
        ("tpmC", 0),
        ("ktps", 0),
        ("k/s", 0),
        ("NOPM", 0),
    ],
)
def test_units_of_throughput_that_tell_no_rate_are_refused(tmp_path: Path, unit: str, count: int) -> None:
    schedule = f'''
        name = "t"
        [[tables]]
        file = "t.csv"
        option = "server"
        seconds = "seconds"
        metrics = [{{ column = "rate", metric = "throughput", unit = "{unit}" }}]
    '''
    (tmp_path / "t.toml").write_text(schedule)
    (tmp_path / "t.csv").write_text("server,seconds,rate\nA,60,2\nB,60,2\n")
    try:
        found = import_files([str(tmp_path / "t.toml")], [], False, lambda path, share: None)
    except InputError as error:
        assert not count and unit in str(error)
    else:
        assert {one.work.transactions for run in found.runs for one in run.reports if one.work} == {count}


@pytest.mark.parametrize("together", [True, False])
def test_two_hosts_are_no_machine(tmp_path: Path, together: bool) -> None:
    one = "Linux 5.4.0 ({}) \t07/20/2020 \t_x86_64_\t(4 CPU)\n\n"
    one += "10:00:00 AM     CPU     %user   %system     %idle\n"
    texts = [
        one.format(host) + "10:00:01 AM     all     10.00      5.00     85.00\n" for host in ("db1", "db2")
    ]
    (tmp_path / "A").mkdir()
    for n, text in enumerate(["\n".join(texts)] if together else texts):
        (tmp_path / "A" / f"sar{n}.txt").write_text(text)
    with pytest.raises(InputError, match="db2"):
        runs_of(by_folder([str(tmp_path)]), lambda path, share: None, Deadline(1))


def test_html_of_awr_tells_its_instance(tmp_path: Path) -> None:
    page = (
        "<html><head><title>AWR Report for DB: ORCL, Inst: orcl1, Snaps: 1-2</title></head><body>"
        "<table><tr><td>Begin Snap:</td><td>1</td><td>01-Mar-21 10:00:00</td></tr></table>"
        "<table><tr><th>Statistic</th><th>Total</th></tr><tr><td>user commits</td><td>5</td></tr></table>"
        "</body></html>"
    )
    (report,), _ = of_text(tmp_path, page, "awr.html")
    assert report.server == "ORCL/orcl1"


def test_samples_of_spinlocks_in_one_table_are_captures(tmp_path: Path) -> None:
    rows = "sampletime,grabs,spins,waits,spinlockslotid,spinlockname\n"
    for at, grabs, spins in ((0, 1000, 50), (60, 2000, 80)):
        rows += "".join(f"10:00:{at},{grabs * n},{spins},{5 + at},{n},cache\n" for n in (1, 2))
    (report,) = whole(tmp_path, rows, "spin.csv")
    # two spinlocks of one name
    assert report.rows["latches"] == [{"latch": "cache", "gets": 3000, "misses": 120}]


def test_two_instances_or_one_report_twice_in_html_of_awr_are_refused(tmp_path: Path) -> None:
    page = (
        "<html><head><title>AWR Report for DB: ORCL, Inst: orcl{}, Snaps: 1-2</title></head><body>\n"
        "<h1>WORKLOAD REPOSITORY report for</h1>\n"
        "<table><tr><td>Begin Snap:</td><td>1</td><td>01-Mar-21 10:00:00</td></tr>\n"
        "<tr><td>End Snap:</td><td>2</td><td>01-Mar-21 10:10:00</td></tr></table>\n"
        "<table><tr><th>Statistic</th><th>Total</th></tr><tr><td>user commits</td><td>5</td></tr></table>\n"
        "</body></html>\n"
    )
    (tmp_path / "A").mkdir()
    for second, why in ((2, "two servers"), (1, "overlaps")):
        (tmp_path / "A" / "awr.html").write_text(page.format(1) + page.format(second))
        with pytest.raises(InputError, match=why):
            runs_of(by_folder([str(tmp_path / "A")]), lambda path, share: None, Deadline(1))


_SYSMON = """
      Sybase Adaptive Server Enterprise System Performance Report

Sample Interval:       00:00:45
Server Name:           SPEC

  Lock Detail                     per sec      per xact       count  % of total
  -------------------------  ------------  ------------  ----------  ----------

  Table & Partition Lock Hashtable
    Lookups                           0.0           0.0           0       n/a
    Spinlock Contention               n/a           n/a         n/a       7.0 %

  Page & Row Lock HashTable
    Lookups                       34575.7          27.9     1555908       n/a
    Spinlock Contention               n/a           n/a         n/a       1.0 %

"""


def test_hash_tables_of_sp_sysmon_are_not_one(tmp_path: Path) -> None:
    (report,) = whole(tmp_path, _SYSMON)
    counts = {name: values[0][1] for (name, metric), values in series(report).items() if metric == "count"}
    assert counts == {
        "lock detail / Table & Partition Lock Hashtable / Lookups": 0,
        "lock detail / Page & Row Lock HashTable / Lookups": 1_555_908,
    }
    # of several the largest
    assert figures(report)["spinlock_contention_percent"] == 7


def test_reuse_is_read_under_each_of_its_names(tmp_path: Path) -> None:
    text = (
        "Usage information at date and time: Mar  2 2026 10:00AM.\n\n"
        " Name                       Num_free    Num_active  Pct_act Max_Used    Num_Reuse\n"
        " -------------------------  ----------- ----------- ------- ----------- -----------\n"
        " number of open objects             500         500   50.00         500          12\n"
    )
    (report,) = whole(tmp_path, text)
    assert series(report)["number of open objects", "reused_total"] == [(0, 12)]


_SAR = "10:00:00 AM     CPU     %user   %system     %idle\n"


def test_another_host_far_down_a_file_is_refused(tmp_path: Path) -> None:
    banner = "Linux 5.4.0 ({}) \t07/20/2020 \t_x86_64_\t(4 CPU)\n\n"
    rows = "".join(
        f"10:{n // 60:02}:{n % 60:02} AM     all     10.00      5.00     85.00\n" for n in range(1, 3600)
    )
    place = tmp_path / "sar.txt"
    place.write_text(banner.format("db1") + _SAR + rows + banner.format("db2") + _SAR + rows)
    with pytest.raises(InputError, match="two hosts together: db1, db2"):
        import_files([str(place)], [], folders=False, progress=lambda path, share: None)


def test_a_file_without_a_banner_is_of_no_second_host(tmp_path: Path) -> None:
    (tmp_path / "A").mkdir()
    banner = "Linux 5.4.0 (db1) \t07/20/2020 \t_x86_64_\t(4 CPU)\n\n"
    row = "10:0{}:01 AM     all     10.00      5.00     85.00\n"
    (tmp_path / "A" / "a.txt").write_text(banner + _SAR + row.format(0))
    (tmp_path / "A" / "b.txt").write_text(_SAR.replace("10:00", "10:05") + row.format(5))
    files = [
        replace(one, choices=FileChoice(files="", format="system/sar")) for one in by_folder([str(tmp_path)])
    ]
    runs, _ = runs_of(files, lambda path, share: None, Deadline(1))
    assert sum(len(run.reports) for run in runs) == 2


_RESULT = "Vuser 1:TEST RESULT : System achieved {} NOPM from 51000 PostgreSQL TPM\n"


@pytest.mark.parametrize(("second", "done"), [(22000, [51000]), (22001, [51000, 51000])])
def test_a_result_of_hammerdb_that_is_printed_again_is_of_one_run(
    tmp_path: Path, second: int, done: list[int]
) -> None:
    """`job ID result` prints the users and the result once more."""
    users = "4 Active Virtual Users configured\n"
    text = f"Vuser 1:{users}{_RESULT.format(22000)}{users}{_RESULT.format(second)}"
    assert [work(one)[0] for one in whole(tmp_path, text)] == done


_LOCK_STAT = (
    "lock_stat version 0.4\n\n"
    "  &mm->mmap_sem-W: 46 {} 0.26 939.10 16371.53 194.90 47291 {} 0.16 20.69 {} 5.97\n"
)


def test_times_held_of_lock_stat_are_those_between_two_captures(tmp_path: Path) -> None:
    first, second = _LOCK_STAT.format(84, 1000, "500.00"), _LOCK_STAT.format(94, 1100, "700.00")
    (report,) = whole(tmp_path, first + second)
    (lock,) = report.rows["locks"]
    assert (lock["acquisitions"], lock["contended"], lock["hold_mean_ns"]) == (100, 10, 2000)
    assert "interval-unknown" in codes(report)
    assert not any("bounces" in metric or "total" in metric for _, metric in report.samples.means())


def test_a_reset_of_lock_stat_is_seen_by_the_times_held(tmp_path: Path) -> None:
    (report,) = whole(tmp_path, _LOCK_STAT.format(84, 1000, "500.00") + _LOCK_STAT.format(94, 1100, "40.00"))
    assert "counter-reset" in codes(report) and "locks" not in report.rows


def test_gets_of_a_latch_that_do_not_wait_are_readings(tmp_path: Path) -> None:
    heading = (
        "NAME              GETS     MISSES     SLEEPS IMMEDIATE_GETS IMMEDIATE_MISSES\n"
        "----------- ---------- ---------- ---------- -------------- ----------------\n"
    )
    rows = "redo copy        10000        100         10            {}                5\n\n"
    (report,) = whole(tmp_path, "".join(heading + rows.format(n) for n in (500, 900)))
    assert report.rows["latches"] == [{"latch": "redo copy", "gets": 0, "misses": 0, "sleeps": 0}]
    assert series(report)["latch redo copy", "immediate_gets_total"] == [(0, 500), (1, 900)]


def test_phases_of_benchbase_that_are_one_run_are_said(tmp_path: Path) -> None:
    heading = (
        "Transaction Type Index,Transaction Name,Start Time (microseconds),Latency (microseconds),"
        "Worker Id (start number),Phase Id (index in config file)\n"
    )
    for phases in (1, 2):
        rows = "".join(f"1,NewOrder,170000000{i}.000000,1000,0,{i % phases}\n" for i in range(4))
        (report,) = whole(tmp_path, heading + rows, "bb.raw.csv")
        assert work(report)[0] == 4 and ("phases-joined" in codes(report)) == (phases > 1)


_ACTIVITY = """
  Application Activity            per sec      per xact       count  % of total
  -------------------------  ------------  ------------  ----------  ----------
    CPU Busy                          0.7           0.0          {}      10.0 %
"""


def test_rows_of_sp_sysmon_are_of_their_application_or_title(tmp_path: Path) -> None:
    head = _SYSMON.partition("  Lock Detail")[0]
    text = (
        f"{head}  Application->Login: isql->sa\n{_ACTIVITY.format(10)}\n"
        f"  Application->Login: bcp->app\n{_ACTIVITY.format(50)}\n{'=' * 79}\n"
        "  Cache Detail                    per sec      per xact       count  % of total\n"
        "  -------------------------  ------------  ------------  ----------  ----------\n"
        "    Known title\n      Hits                            1.0           0.0          30       n/a\n"
        "    (odd) <title>\n      Hits                            1.0           0.0          40       n/a\n"
    )
    (report,), _ = of_text(tmp_path, text)
    counts = {name: values[0][1] for (name, metric), values in series(report).items() if metric == "count"}
    assert counts == {
        "Application->Login: isql->sa / application activity / CPU Busy": 10,
        "Application->Login: bcp->app / application activity / CPU Busy": 50,
        "cache detail / Known title / Hits": 30,
        "cache detail / (odd) <title> / Hits": 40,
    }


_SYSBENCH_05 = """\
sysbench 0.5:  multi-threaded system evaluation benchmark

Number of threads: {clients}

OLTP test statistics:
    transactions:                        {done}      ({rate} per sec.)
    read/write requests:                 783198 (15355.20 per sec.)
    other operations:                    0      (0.00 per sec.)

General statistics:
    total time:                          60.0003s
    total number of events:              {events}
    total time taken by event execution: {sum}s
    response time:
         min:                                  0.13ms
         avg:                                  {mean}ms
         max:                                 43.09ms
"""


def test_events_of_sysbench_are_its_work_where_it_has_no_transactions(tmp_path: Path) -> None:
    text = _SYSBENCH_05.format(clients=64, done=0, rate="0.00", events=391599, sum="3838.0", mean="9.80")
    (report,) = whole(tmp_path, text)
    assert work(report) == (391599, 0, 60.0003, 64) and figures(report)["latency_mean"] == 9.8
    assert series(report)["sysbench", "read_write_requests"] == [(0, 783198)]


def test_a_mean_that_is_rounded_up_foots(tmp_path: Path) -> None:
    """0.17 ms stand for 0.1656: 361,145 of them take more than the one client's time."""
    text = _SYSBENCH_05.format(
        clients=1, done=361145, rate="6019.05", events=361145, sum="59.7923", mean="0.17"
    )
    (report,) = whole(tmp_path, text)
    assert work(report)[0] == 361145


def test_times_of_failed_transactions_of_go_tpc_do_not_count_against_the_others(tmp_path: Path) -> None:
    line = "[Summary] {} - Takes(s): 599.9, Count: {}, TPM: {}, Sum(ms): {}, Avg(ms): {}\n"
    text = line.format("NEW_ORDER", 15770, 1577.2, 1577000.0, 100.0) + line.format(
        "NEW_ORDER_ERR", 4, 0.4, 207.6, 52.8
    )
    (report,) = whole(tmp_path, text)
    assert work(report)[:2] == (15770, 4)


def test_sessions_of_asynchronous_users_of_hammerdb_are_its_clients(tmp_path: Path) -> None:
    text = "Vuser 1:128 VU * 10 AC = 1280 Active Sessions configured\n" + _RESULT.format(18664)
    (report,) = whole(tmp_path, text)
    assert work(report)[3] == 1280


def test_threads_of_jmeter_that_run_at_once_are_its_clients(tmp_path: Path) -> None:
    """Of a group whose name has a dash, and of two hosts of which each counts its own."""
    rows = "".join(jtl(10 * n, 500, f"/{n}", thread=f"Two-Checkout 1-{n}", users=n + 1) for n in range(4))
    (report,) = whole(tmp_path, _JTL + rows, "log.jtl")
    assert work(report)[3] == 4
    rows = "".join(jtl(n, 500, "/", thread=f"h{n % 2}:1099-G 1-{n // 2}", users=n // 2 + 1) for n in range(6))
    (report,) = whole(tmp_path, _JTL + rows, "log.jtl")
    assert work(report)[3] == 6


@pytest.mark.parametrize("heading", ["", "responseMessage"])
def test_samples_of_engines_with_equal_names_all_count_and_are_said(tmp_path: Path, heading: str) -> None:
    """Three pods whose threads have the same names, joined; a row lies within that of another pod."""
    head = _JTL.replace(heading, "message") if heading else _JTL
    rows = jtl(0, 500, "/a") + jtl(200, 700, "/a") + jtl(210, 100, "/b")
    (report,) = whole(tmp_path, head + rows, "log.jtl")
    assert work(report)[0] == 3 and "threads-joined" in codes(report)


def test_threads_without_a_name_are_not_one(tmp_path: Path) -> None:
    (report,) = whole(
        tmp_path, _JTL + jtl(0, 500, "/a", thread="") + jtl(200, 700, "/a", thread=""), "log.jtl"
    )
    assert work(report)[0] == 2 and "threads-joined" not in codes(report)


def test_times_that_a_spreadsheet_rounded_are_refused(tmp_path: Path) -> None:
    row = jtl(0, 500, "/a").replace("1795500000000", "1.7955E+12")
    with pytest.raises(InputError, match="rounded"):
        of_text(tmp_path, _JTL + row, "log.jtl")


def of_table(folder: Path, rows: str, unit: str = "1/s", name: str = "r.csv") -> dict[str, float]:
    """Throughput per second, or another figure, by option."""
    metric = "throughput" if unit != "ms" else "p99"
    (folder / name).write_text(rows)
    (folder / "s.toml").write_text(
        f'[[tables]]\nfile = "{name}"\n'
        f'metrics = [{{ column = "v", metric = "{metric}", unit = "{unit}", better = "higher" }}]\n'
    )
    runs = import_files([str(folder / "s.toml")], [], folders=False, progress=lambda path, share: None).runs
    reports = {run.option: run.points[0][0] for run in runs}
    return {
        option: one.work.transactions / (one.seconds or 1) if one.work else figures(one)["p99"]
        for option, one in reports.items()
    }


def test_a_comma_between_semicolons_is_a_decimal_one(tmp_path: Path) -> None:
    assert of_table(tmp_path, "option;v\nA;0,123\nB;12,345\n", "ms") == {"A": 0.123, "B": 12.345}


def test_a_comma_after_a_zero_divides_no_thousands(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a number: '0,250'"):
        of_table(tmp_path, 'option,v\nA,"0,250"\n', "ms")


@pytest.mark.parametrize(
    "unit", ["rpm", "krps", "kreq/s", "Mtx/s", "transactions per minute", "thousand tps"]
)
def test_a_rate_of_thousands_or_minutes_is_refused(tmp_path: Path, unit: str) -> None:
    with pytest.raises(InputError, match="throughput in"):
        of_table(tmp_path, "option,v\nA,1000\n", unit)


@pytest.mark.parametrize("unit", ["Messages/s", "keys/s", "MB/s", "bops", "transactions per second"])
def test_a_rate_per_second_is_one_under_each_name(tmp_path: Path, unit: str) -> None:
    assert of_table(tmp_path, "option,v\nA,1000\n", unit) == {"A": 1000}


def test_a_column_of_names_beside_clients_and_rates_is_said(tmp_path: Path) -> None:
    found, _ = of_text(tmp_path, "db,clients,per_s\nmysql,1,100\npg,1,200\n", "s.csv")
    assert dict(found[0].notices)["columns-not-read"].endswith(": db")


def test_exponents_of_specjbb_are_numbers(tmp_path: Path) -> None:
    text = (
        "result.test1.company.score=1.2345678E7\nresult.test1.averagetime=2.48E-5\nresult.test1.total=12,3\n"
    )
    (report,), source = of_text(tmp_path, text)
    found = {metric: values[0][1] for (_, metric), values in series(report).items()}
    assert found == {"result.test1.company.score": 12345678, "result.test1.averagetime": 2.48e-5}
    assert source.skipped.count == 1


def test_what_monitor_tables_count_since_the_start_has_no_mean(tmp_path: Path) -> None:
    heading = "InstanceID,ThreadID,KTID,TaskRuns,MinorFaults,IOTime,BytesSent,UsedPages\n"
    rows = "".join(f"0,{n},{n},{1000 * n},{10 * n},9000,5000,{n}\n" for n in (2, 3))
    (report,) = whole(tmp_path, heading + rows + heading + rows.replace("9000", "9500"), "t.csv")
    assert set(report.samples.means()) == {("threadid 2", "usedpages"), ("threadid 3", "usedpages")}
    assert series(report)["threadid 3", "iotime_total"] == [(0, 9000), (1, 9500)]


_LATCH_ACTIVITY = (
    f"{_AWR.format('report for')}Latch Activity DB/Inst: ORCL/orcl\n"
    "                                           Pct    Avg   Wait                 Pct\n"
    "                                    Get    Get   Slps   Time       NoWait NoWait\n"
    "Latch Name                     Requests   Miss  /Miss    (s)     Requests   Miss\n"
    "------------------------ -------------- ------ ------ ------ ------------ ------\n"
)


def test_latches_whose_names_were_cut_off_alike_are_not_one(tmp_path: Path) -> None:
    text = (
        f"{_LATCH_ACTIVITY}"
        "Memory Queue Message Sub          1,000    0.0             0            0    N/A\n"
        "Memory Queue Message Sub          2,000    0.0             0            0    N/A\n"
    )
    (report,), source = of_text(tmp_path, text)
    assert [one["gets"] for one in report.rows["latches"]] == [1000]
    assert [text.split()[4] for _, text in source.skipped.lines] == ["2,000"]


def test_a_second_lockstat_of_another_length_is_not_understood(tmp_path: Path) -> None:
    section = (
        "{}: {} events in {} seconds ({} events/sec)\n\n"
        "Count indv cuml rcnt     nsec Lock                   Caller\n"
        "------------------------------------------------------------\n"
        "   10  50%  50% 0.00     1000 mtx                    f+0x1\n\n"
    )
    text = section.format("Adaptive mutex spin", 20, 5.011, 4) + section.format(
        "Adaptive mutex hold", 9, 1.026, 9
    )
    (report,), source = of_text(tmp_path, text)
    assert report.seconds == 5.011 and len(report.rows["locks"]) == 1 and source.skipped.count >= 2


_PERF = "# Total Lost Samples: {}\n#\n# Samples: 2K of event 'cycles'\n# Event count (approx.): 9\n#\n{}"


@pytest.mark.parametrize(
    ("heading", "rows", "stacks"),
    [
        (
            "# Overhead  Command   Symbol\n",
            "    70.00%  postgres  [.] s_lock\n    30.00%  pgbench   [.] s_lock\n",
            {"postgres;s_lock": 1400, "pgbench;s_lock": 600},
        ),
        (
            "# Overhead  Command   Symbol      Shared Object\n",
            "    70.00%  postgres  [.] s_lock  postgres\n",
            None,
        ),
        (
            "# Overhead  Command   Symbol      Source:Line\n",
            "    70.00%  postgres  [.] s_lock  s_lock.c:98\n",
            None,
        ),
    ],
)
def test_columns_of_perf_report_are_those_of_its_heading(
    tmp_path: Path, heading: str, rows: str, stacks: dict[str, int] | None
) -> None:
    text = _PERF.format(1500, heading + rows)
    if stacks is None:
        with pytest.raises(InputError, match="nothing in this file was understood"):
            of_text(tmp_path, text)
        return
    (report,) = whole(tmp_path, text)
    assert {row["stack"]: row["samples"] for row in report.rows["profile"]} == stacks
    assert "source-warns" in codes(report)


def test_perf_lock_says_what_it_lost_and_names_owners(tmp_path: Path) -> None:
    text = (
        " contended   total wait     max wait     avg wait          pid  owner\n\n"
        "       403    565.32 us     26.81 us      1.40 us           -1  Unknown\n"
        "=== output for debug ===\n\nbad: 1164137, total: 2253341\nbad rate: 51.66 %\n"
    )
    (report,) = whole(tmp_path, text)
    assert report.rows["locks"][0]["lock"] == "Unknown -1" and "source-warns" in codes(report)


def test_rates_of_a_monitor_table_are_rates_also_where_they_are_zero(tmp_path: Path) -> None:
    heading, row = "EngineNumber,SystemTime,UserTime\n", "0,{},{}\n"
    text = heading + row.format("12.5", "30.5") + heading + row.format("0.0", "0.0")
    (report,) = whole(tmp_path, text, "t.csv")
    assert report.samples.means()["enginenumber 0", "systemtime"] == 6.25


def test_a_reuse_that_was_caused_is_counted(tmp_path: Path) -> None:
    (report,) = whole(tmp_path, "InstanceID,ModuleID,NumReuseCaused,HWM\n0,1,12,200\n", "t.csv")
    assert set(report.samples.means()) == {("moduleid 1", "hwm")}


@pytest.mark.parametrize(
    ("later", "first"),
    [
        # the longest wait since a start became shorter; fewer acquisitions of the second lock
        ("  a: 20 20 0.10 77.94 200.00 40 400 0.10 9.00 500.00\n"
         "  b: 20 20 0.10 90.00 200.00 40 400 0.10 9.00 500.00\n", "a"),
        ("  a: 20 20 0.10 95.00 200.00 40 400 0.10 9.00 500.00\n"
         "  b: 20 20 0.10 90.00 200.00 40  80 0.10 9.00 500.00\n", "b"),
    ],
)  # fmt: skip
def test_counters_of_a_table_restart_together(tmp_path: Path, later: str, first: str) -> None:
    rows = "".join(f"  {name}: 10 10 0.10 89.52 100.00 20 200 0.10 8.00 400.00\n" for name in "ab")
    (report,) = whole(tmp_path, f"lock_stat version 0.3\n{rows}lock_stat version 0.3\n{later}")
    assert [text for code, text in report.notices if code == "counter-reset"] == [
        f"/proc/lock_stat: the counts of {first} went back between two captures: none is kept"
    ]
    assert "locks" not in report.rows


def test_a_profile_that_was_reset_says_so_where_nothing_else_was_read(tmp_path: Path) -> None:
    text = "  5000 default_idle   9.0\n   400 schedule   0.9\n  5400 total   0.0\n"
    with pytest.raises(InputError, match="the counts of idle default_idle_"):
        of_text(tmp_path, text + text.replace("5000", "4000").replace("5400", "4400"))


def test_functions_that_a_list_of_readprofile_leaves_out_are_its_rest(tmp_path: Path) -> None:
    """The first two functions of each capture: `send` was not without ticks in the first."""
    text = (
        " 10000 total   2.6\n  6000 default_idle   9.0\n  1000 schedule   4.0\n"
        " 20000 total   2.6\n 12000 default_idle   9.0\n  1900 send   4.0\n"
    )
    (report,) = whole(tmp_path, text)
    found = {row["stack"]: row["samples"] for row in report.rows["profile"]}
    assert found == {"default_idle_[k]": 6000, "functions not listed_[k]": 4000}


def test_locks_of_one_symbol_are_one_row_that_counts_them(tmp_path: Path) -> None:
    row = " {}   {} us    {} us      1.0 us   {}   mmap_lock (rwsem)\n"
    text = " contended   total wait     max wait     avg wait            address   symbol\n\n"
    text += row.format(9, 66.01, 9.12, "ffffa105becb45c0") + row.format(7, 43.95, 10.37, "ffffa105bf7f45c0")
    # a second capture of the first one
    text += row.format(12, 3.28, 0.74, "ffffa105becb45c0")
    (lock,) = rows_merged([one.rows for one in whole(tmp_path, text)], "report.txt")["locks"]
    assert lock == {
        "role": "", "lock": "mmap_lock (rwsem)", "type": "", "call_site": "", "contended": 28,
        "wait_total_ns": 113240, "wait_max_ns": 10370, "distinct_locks": 2,
    }  # fmt: skip


def test_a_latch_whose_name_one_table_cuts_off_earlier_is_one(tmp_path: Path) -> None:
    """Latch Activity keeps 24 characters, Latch Sleep Breakdown 26; equal gets show that it is one latch."""
    text = (
        f"{_LATCH_ACTIVITY}"
        "object queue header heap          7,727    0.0             0          121    0.0\n"
        "object queue header oper        138,877    0.0    0.1      0            0    N/A\n"
        "shared pool                          16    0.0    0.1      0            0    N/A\n\n"
        "Latch Sleep Breakdown DB/Inst: ORCL/orcl\n"
        "                                       Get                                 Spin\n"
        "Latch Name                        Requests       Misses      Sleeps        Gets\n"
        "-------------------------- --------------- ------------ ----------- -----------\n"
        "object queue header operat         138,877           16           1          15\n"
        "shared pool simulator                  900            5           2           3\n"
    )
    (report,) = whole(tmp_path, text)
    assert {row["latch"]: (row["gets"], row.get("misses")) for row in report.rows["latches"]} == {
        "object queue header heap": (7727, None), "object queue header oper": (138877, 16),
        "shared pool": (16, None), "shared pool simulator": (900, 5),
    }  # fmt: skip


def test_shares_and_things_of_sadf_keep_their_own_names(tmp_path: Path) -> None:
    device = {"bus_number": 1, "idprod": "2", "maxpower": 0}
    one = {
        "timestamp": {"date": "2024-02-21", "time": "17:00:00", "utc": 1, "interval": 600},
        "power-management": {"usb-devices": [device, {**device, "idprod": "2107", "maxpower": 100}]},
        "filesystems": [{"filesystem": "/dev/sda1", "Iused": 2, "%Iused": 3.0}],
    }
    host = {"nodename": "db1", "number-of-cpus": 4, "statistics": [one]}
    (report,) = whole(tmp_path, json.dumps({"sysstat": {"hosts": [host]}}, indent=1), "s.json")
    power = "power_management_usb_devices_maxpower"
    assert {name: values[0][1] for name, values in series(report).items()} == {
        ("bus_number 1 idprod 2", power): 0, ("bus_number 1 idprod 2107", power): 100,
        ("filesystem /dev/sda1", "filesystems_Iused"): 2,
        ("filesystem /dev/sda1", "filesystems_Iused_percent"): 3,
    }  # fmt: skip


def test_a_sample_of_perf_without_a_stack_keeps_its_function(tmp_path: Path) -> None:
    text = (
        "  reactor-1 765336 [116] 1039420.543481: 999364 cycles:  ffffffffb4000069 softirq+0x69 ([kernel])\n"
        "  scylla 765329 [004] 1039420.543840: 770222   cycles:  55d0c0ffee12 main+0x10 (/opt/scylla)\n"
    )
    (report,) = whole(tmp_path, text)
    assert {row["stack"] for row in report.rows["profile"]} == {"reactor-1;softirq_[k]", "scylla;main"}


def test_time_in_which_a_process_was_not_listed_is_no_reading(tmp_path: Path) -> None:
    """It counts in the mean of six seconds, of which the fourth lists it."""
    heading = "11:47:4{}      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n"
    row = "11:47:44      999        93      4.00      8.00     0.00       1  postgres\n"
    text = _PIDSTAT + "\n".join(heading.format(n) + row * (n == 3) for n in range(6))
    (report,) = whole(tmp_path, text)
    assert series(report)["pid 93 postgres", "kb_rd_per_s"][0] == (4, 4)
    run = PlacedRun("a", 1, [], [report])
    (tables,) = tables_of_runs([run], [1])
    assert [v for v, m in zip(tables["samples"]["value"], tables["samples"]["metric"], strict=True)
            if m == "kb_rd_per_s"] == [4]  # fmt: skip
    assert report.samples.means()["pid 93 postgres", "kb_rd_per_s"] == pytest.approx(4 / 6)
    assert "since-boot" not in codes(report)


def test_rows_of_monitor_tables_are_named_by_each_of_their_numbers(tmp_path: Path) -> None:
    """But not by the task that a thread takes up at that time."""
    text = "InstanceID,OperationID,OperationName,ExecutionTime\n0,0,Unknown,34\n0,1,Execution,99\n"
    (report,) = whole(tmp_path, text, "a.csv")
    assert series(report) == {
        (f"operationid {n}", "executiontime_total"): [(0, value)] for n, value in ((0, 34), (1, 99))
    }
    text = "SSQLID,InstanceID,PlanID,DBID,UseCount\n7,0,1,4,5\n8,0,2,4,6\n"
    (report,) = whole(tmp_path, text, "b.csv")
    assert set(series(report)) == {(f"dbid 4 ssqlid {n} planid {n - 6}", "usecount_total") for n in (7, 8)}


def test_classes_of_dispadmin_in_one_file_are_told_apart(tmp_path: Path) -> None:
    text = "".join(
        f"# {title} Dispatcher Configuration\nRES=1000\n\n"
        f"# {name}_quantum  {name}_tqexp  PRIORITY LEVEL\n  {quantum}   0   #   0\n"
        for title, name, quantum in (("Time Sharing", "ts", 200), ("Interactive", "ia", 100))
    )
    text += (
        "# Real Time Dispatcher Configuration\nRES=1000\n\n"
        "# TIME QUANTUM                    PRIORITY\n# (rt_quantum)                      LEVEL\n"
        "      1000                    #        0\n"
    )
    (report,) = whole(tmp_path, text)
    quanta = {metric: values for (_, metric), values in series(report).items() if "quantum" in metric}
    assert quanta == {
        f"{name}_quantum_ms": [(0, ms)] for name, ms in (("ts", 200), ("ia", 100), ("rt", 1000))
    }
