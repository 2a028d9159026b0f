"""The cases with other figures, in another order, with a third run: what follows is computed, not copied."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from layouts import LAYOUTS
from readings import readings

from steelyard.errors import InputError
from steelyard.recordings.registry import reports_in
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

CASES = Path(__file__).parent / "cases"
SEEDS = range(3)
# transactions, seconds, clients, 0: not stated
Run = tuple[int, float, int]


def read(folder: Path, name: str, text: str) -> list[Report]:
    place = folder / name
    place.write_text(text)
    source = Source(place)
    found = reports_in(source)
    assert not [code for report in found for code, _ in report.notices if code == "does-not-foot"]
    return found


def rates(reports: list[Report]) -> list[Run]:
    return [(r.work.transactions, r.seconds or 0, r.clients or 0) for r in reports if r.work]


def go_tpc(one: random.Random) -> tuple[str, Run]:
    orders, payments, seconds = one.randint(100, 9000), one.randint(100, 9000), one.randint(10, 90)

    def line(name: str, count: int) -> str:
        mean = one.randint(10, 99)
        return (
            f"[Summary] {name} - Takes(s): {seconds}.0, Count: {count}, TPM: {60 * count / seconds:.1f},"
            f" Sum(ms): {mean * count}.0, Avg(ms): {mean}.0\n"
        )

    total = 60 * (orders + payments) / seconds
    text = (
        f"Finished\n{line('NEW_ORDER', orders)}{line('PAYMENT', payments)}"
        f"tpmC: {60 * orders / seconds:.1f}, tpmTotal: {total:.1f}, efficiency: 10.0%\n"
    )
    return text, (orders + payments, seconds, 0)


def hammerdb(one: random.Random) -> tuple[str, Run]:
    users, minutes, tpm = one.randint(1, 90), one.randint(1, 9), one.randint(1000, 90_000)
    text = (
        f"{users + 1} Virtual Users Created with Monitor VU\nVuser 1:RUNNING\n"
        f"Vuser 1:Timing test period of {minutes} in minutes\n"
        f"Vuser 1:TEST RESULT : System achieved {tpm // 2} NOPM from {tpm} PostgreSQL TPM\n"
        "ALL VIRTUAL USERS COMPLETE\n"
    )
    return text, (tpm * minutes, 60 * minutes, users)


def pgbench(one: random.Random) -> tuple[str, Run]:
    clients, seconds = one.randint(1, 64), one.randint(5, 9)
    tps = clients * one.randint(50, 200)
    progress = "".join(
        f"progress: {i}.0 s, {tps}.0 tps, lat {1e3 * clients / tps:.3f} ms stddev 1.000, 0 failed\n"
        for i in range(1, seconds + 1)
    )
    text = (
        f"pgbench (16.4)\nstarting vacuum...end.\n{progress}transaction type: <builtin: select only>\n"
        f"scaling factor: 10\nquery mode: simple\nnumber of clients: {clients}\nnumber of threads: 1\n"
        f"maximum number of tries: 1\nduration: {seconds} s\n"
        f"number of transactions actually processed: {tps * seconds}\n"
        f"number of failed transactions: 0 (0.000%)\nlatency average = {1e3 * clients / tps:.3f} ms\n"
        f"initial connection time = 5.0 ms\ntps = {tps}.000000 (without initial connection time)\n"
    )
    return text, (tps * seconds, seconds, clients)


def sysbench(one: random.Random) -> tuple[str, Run]:
    clients, seconds, tps = one.randint(1, 64), one.randint(2, 60), one.randint(50, 5000)
    mean, done = 1e3 * clients / tps, tps * seconds
    text = (
        f"sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)\n\nRunning the test with following options:\n"
        f"Number of threads: {clients}\n\nSQL statistics:\n    queries performed:\n"
        f"    transactions:                        {done}   ({tps}.00 per sec.)\n"
        f"    ignored errors:                      0      (0.00 per sec.)\n\nGeneral statistics:\n"
        f"    total time:                          {seconds}.0000s\n"
        f"    total number of events:              {done}\n\nLatency (ms):\n"
        f"         avg:                                  {mean:.2f}\n"
        f"         sum:                             {mean * done:.2f}\n"
    )
    return text, (done, seconds, clients)


Make = Callable[[random.Random], tuple[str, Run]]
LOOPS: dict[str, Make] = {
    "go-tpc-two-runs.txt": go_tpc,
    "hammerdb-loop.txt": hammerdb,
    "pgbench-progress-loop.txt": pgbench,
    "sysbench-0.5.txt": sysbench,
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", LOOPS)
def test_runs_in_a_loop_with_any_figures_in_any_order(tmp_path: Path, name: str, seed: int) -> None:
    one = random.Random(f"{name} {seed}")
    runs = [LOOPS[name](one) for _ in range(3)]
    one.shuffle(runs)
    for end in ("\n", "\r\n"):
        text = "".join(text for text, _ in runs).replace("\n", end)
        found = rates(read(tmp_path, name, text))
        assert found == [pytest.approx(due, rel=1e-4) for _, due in runs]


def spinlocks(counts: dict[str, int]) -> str:
    rows = "".join(f" {name:<24} {n:>12} {n // 3:>12} {n // 50:>12}\n" for name, n in counts.items())
    return (
        f" {'SpinlockName':<24} {'Grabs':>12} {'Spins':>12} {'Waits':>12}\n"
        f" {'-' * 24} {'-' * 12} {'-' * 12} {'-' * 12}\n{rows}\n({len(counts)} rows affected)\n"
    )


def lock_stat(counts: dict[str, int]) -> str:
    head = (CASES / "lock_stat-two-captures.txt").read_text().split("\n\n")[0]
    rows = "".join(
        f"{name:>40}: {0:>14} {n // 50:>14} {0.05:>14} {9.5:>14} {n // 10:>13}.00 {6.0:>14} {0:>14} {n:>14}"
        f" {0.05:>14} {20.0:>14} {n // 5:>13}.00 {1.0:>14}\n"
        for name, n in counts.items()
    )
    return f"{head}\n\n{rows}\n"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("make", "table", "counters"),
    [(spinlocks, "latches", ("gets", "misses")), (lock_stat, "locks", ("acquisitions", "contended"))],
)
def test_of_three_captures_the_difference_counts(
    tmp_path: Path,
    make: Callable[[dict[str, int]], str],
    table: str,
    counters: tuple[str, str],
    seed: int,
) -> None:
    one = random.Random(seed)
    names = [f"lock_{i}" for i in range(one.randint(2, 9))]
    first = {name: one.randint(0, 10**6) for name in names}
    captures = [first]
    for _ in range(2):
        captures.append({name: n + one.randint(0, 10**6) for name, n in captures[-1].items()})
        one.shuffle(names)
        captures[-1] = {name: captures[-1][name] for name in names}
    for end in ("\n", "\r\n"):
        (report,) = read(tmp_path, "captures.txt", "".join(map(make, captures)).replace("\n", end))
        last = captures[-1]
        assert {
            (r.get("latch") or r["lock"]): (r[counters[0]], r[counters[1]]) for r in report.rows[table]
        } == {name: (last[name] - n, last[name] // 50 - n // 50) for name, n in first.items()}
    (report,) = read(tmp_path, "captures.txt", make(first))
    assert "counted-since-start" in dict(report.notices)


def changed(times: float, found: re.Match[str]) -> str:
    return str(round(int(found[0]) * times))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["go-tpc-two-runs.txt", "pgbench-progress-loop.txt", "sysbench-0.5.txt"])
def test_a_count_that_is_changed_by_a_twentieth_does_not_foot(tmp_path: Path, name: str, seed: int) -> None:
    one = random.Random(seed)
    text, (done, _, _) = LOOPS[name](one)
    counts = {"go-tpc-two-runs.txt": r"(?<=Count: )\d+", "pgbench-progress-loop.txt": r"(?<=processed: )\d+",
              "sysbench-0.5.txt": r"(?<=transactions: {24})\d+"}  # fmt: skip
    place = tmp_path / name
    for times in (0.95, 1.05):
        place.write_text(re.sub(counts[name], partial(changed, times), text))
        (report,) = reports_in(Source(place))
        assert "does-not-foot" in dict(report.notices), (done, times)
        assert report.work is not None and not report.work.foots


def real() -> list[str]:
    """Texts of the tools, of which each figure that stands there twice agrees."""
    found = [*LAYOUTS, *(p.read_text() for p in CASES.rglob("*") if p.is_file())]
    samples = Path(os.environ.get("STEELYARD_SAMPLES", "/nowhere"))
    return found + [path.read_text() for path in samples.glob("*.txt")]


def test_no_figures_of_real_reports_disagree(tmp_path: Path) -> None:
    place, said = tmp_path / "report.txt", dict[str, str]()
    for text in real():
        place.write_text(text)
        for part in Source(place).sections():
            with suppress(InputError):
                said |= {t: text[:60] for r in reports_in(part) for c, t in r.notices if c == "does-not-foot"}
    assert said == {}


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_of_pidstat_in_another_order(tmp_path: Path, seed: int) -> None:
    """Columns are found by their heading."""
    lines = (CASES / "pidstat-migrating.txt").read_text().splitlines()
    (plain,) = reports_in(Source(CASES / "pidstat-migrating.txt"))
    place = tmp_path / "pidstat.txt"
    heading = next(line for line in lines if "%usr" in line)
    first = heading.split().index("%usr")
    shares = heading.split()[first : heading.split().index("CPU")]
    order = random.Random(seed).sample(range(len(shares)), len(shares))
    turned: list[str] = []
    for line in lines:
        cells = line.split()
        if len(cells) > first + len(shares) and "Linux" not in line and "Average" not in line:
            cells[first : first + len(shares)] = [cells[first + i] for i in order]
            line = "  ".join(cells).replace("  AM", " AM").replace("  PM", " PM")
        turned.append(line)
    place.write_text("\n".join(turned) + "\n")
    (found,) = reports_in(Source(place))
    assert {*readings(found.samples)} == {*readings(plain.samples)}


NEW_FORMAT = '''"""YCSB: summary of the Yahoo! Cloud Serving Benchmark."""

from __future__ import annotations

from steelyard.recordings.lines import Found, Lines, Now, figure, has, known, numbers, rule, worked


def _seconds(now: Now, found: Found) -> None:
    now.numbers["seconds"] = float(found[1]) / 1e3


def _done(now: Now, found: Found) -> None:
    now.numbers["done"] += int(found[1])


def _close(now: Now) -> None:
    worked(now)
    if (per_s := now.numbers["per_s"]) and now.report.work and now.report.seconds:
        done = now.report.work.transactions
        said = f"{per_s:g} ops/s, and {done:,} in {now.report.seconds:g} s"
        now.report.foot(said, per_s * now.report.seconds, done, 0.01)


sniff = has(r"^\\\\[OVERALL\\\\], RunTime\\\\(ms\\\\), ")
read = Lines(
    (
        rule(r"\\\\[OVERALL\\\\], RunTime\\\\(ms\\\\), (N)", _seconds, once="run"),
        numbers(r"\\\\[OVERALL\\\\], Throughput\\\\(ops/sec\\\\), (?P<per_s>N)"),
        rule(r"\\\\[(?:READ|UPDATE|INSERT|SCAN)\\\\], Operations, (\\\\d+)", _done),
        figure(r"\\\\[READ\\\\], AverageLatency\\\\(us\\\\), (N)", "read_latency_mean", "us"),
        known(r"\\\\[(?:TOTAL|READ|UPDATE|CLEANUP)"),
    ),
    _close,
)
'''
YCSB = """[OVERALL], RunTime(ms), 2000
[OVERALL], Throughput(ops/sec), 500.0
[TOTAL_GCs_Copy], Count, 3
[READ], Operations, 900
[READ], AverageLatency(us), 120.5
[UPDATE], Operations, 100
[OVERALL], RunTime(ms), 1000
[OVERALL], Throughput(ops/sec), 700.0
[READ], Operations, 600
"""


def test_a_new_format_of_lines_is_one_file_of_forty_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from steelyard.recordings import formats
    from steelyard.recordings.registry import known_formats

    code = NEW_FORMAT.replace("\\\\", "\\")
    assert len(code.splitlines()) <= 40
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "ycsb.py").write_text(code)
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path / "formats")])
    known_formats.cache_clear()
    try:
        place = tmp_path / "ycsb.txt"
        place.write_text(YCSB + "the dog ate 5 rows\n")
        source = Source(place)
        first, second = reports_in(source)
        assert source.skipped.lines == [(10, "the dog ate 5 rows")]
        assert (first.format, first.value("read_latency_mean"), first.notices) == ("ycsb", 120.5, [])
        assert rates([first, second]) == [(1000, 2, 0), (600, 1, 0)]
        # 700 ops/s are no 600 in a second
        assert [code for code, _ in second.notices] == ["does-not-foot"]
    finally:
        known_formats.cache_clear()


def test_ticks_since_the_boot_are_subtracted(tmp_path: Path) -> None:
    ticks = [
        ("100 schedule", "40 do_fork", "140 total"),
        ("160 schedule", "40 do_fork", "7 sys_read", "207 total"),
    ]
    text = "".join(f"   {line:<30} 0.5\n" for capture in ticks for line in capture)
    (report,) = read(tmp_path, "readprofile.txt", text)
    assert {row["stack"]: row["samples"] for row in report.rows["profile"]} == {
        "schedule_[k]": 60, "do_fork_[k]": 0, "sys_read_[k]": 7,
    }  # fmt: skip


VMSTAT = "r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"


@pytest.mark.parametrize(("rows", "kept"), [(4, 6), (22, 42), (60, 118)])
def test_vmstat_that_is_started_again_counts_since_the_boot_again(
    tmp_path: Path, rows: int, kept: int
) -> None:
    """Where a page of 20 rows or more ends, the values of the first reading tell it."""
    row = "1  0      0 100000  10000 200000    0    0     0     0  100  200  {} 5 {} 0  0\n"
    loop = VMSTAT + row.format(1, 94) + row.format(50, 45) * (rows - 1)
    (report,) = read(tmp_path, "vmstat.txt", loop * 2)
    shares = report.samples.values_of("us_percent")
    assert len(shares) == kept and shares.count(1) == 0


CSV = ["drivers/jmeter", "drivers/benchbase_raw", "drivers/pgbench_log"]


@pytest.mark.parametrize("name", CSV)
def test_a_log_of_two_runs_is_refused(tmp_path: Path, name: str) -> None:
    """The time between them would count."""
    text = next(text for text, format_ in LAYOUTS.items() if format_ == name)
    with pytest.raises(InputError, match="another run begins in this file") as refused:
        read(tmp_path, "log.txt", text.rstrip("\n") + "\n" + text)
    assert refused.value.hint == "give each run a file of its own"


K6_POINT = (
    '{{"type":"Point","data":{{"time":"2021-03-16T11:28:2{}.408816519+02:00","value":{}}},'
    '"metric":"http_req_duration"}}'
)


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("", "0 {0} {1} 0 160000000{0} 1"),
        ("timeStamp,elapsed,label,threadName,success", "160000000{0}000,{1},a,t 1-1,true"),
        (
            "Transaction Type Index,Transaction Name,Start Time (microseconds),Latency (microseconds),"
            "Worker Id (start number),Phase Id (index in config file)",
            "1,A,160000000{0}.000001,{1},0,0",
        ),
        ('{"type":"Metric","data":{},"metric":"http_req_duration"}', K6_POINT),
    ],
    ids=["pgbench_log", "jmeter", "benchbase_raw", "k6"],
)
def test_a_negative_latency_is_not_understood(tmp_path: Path, head: str, line: str) -> None:
    """A clock was set back: the transaction neither counts, nor took no time."""
    place = tmp_path / "log.txt"
    lines = [line.format(*at) for at in ((0, 120), (1, -27), (2, 130))]
    place.write_text("\n".join([head, *lines] if head else lines))
    source = Source(place)
    (report,) = reports_in(source)
    assert report.work is not None and report.work.transactions == 2
    assert source.skipped.count == 1


def test_a_log_of_two_runs_of_k6_is_two_reports(tmp_path: Path) -> None:
    """A metric is declared once in a run."""
    text = next(text for text, format_ in LAYOUTS.items() if format_ == "drivers/k6")
    first, second = read(tmp_path, "log.txt", text + text.replace('"value":4', '"value":8'))
    assert (first.clients, second.clients) == (4, 8)
    assert first.work is not None and first.work == second.work


def test_a_pause_between_aggregated_intervals_is_no_time_of_work(tmp_path: Path) -> None:
    rows = [f"{1_772_445_600 + second} 100 5000 400000 10 900\n" for second in (0, 1, 2, 60, 61, 62)]
    (report,) = read(tmp_path, "pgbench_log.1", "".join(rows))
    # the first begins with the load
    assert rates([report]) == [(500, 5, 0)]
    assert dict(report.notices) == {"intervals-missing": "intervals are missing: the file has 5 of 62 s"}


def test_two_intervals_of_lockmeter_are_two_reports(tmp_path: Path) -> None:
    text = next(text for text, format_ in LAYOUTS.items() if format_ == "kernel/lockmeter")
    first, second = read(tmp_path, "lockmeter.txt", text + text.replace("60.50 sec", "30.25 sec"))
    assert (first.seconds, second.seconds) == (60.5, 30.25)
    assert len(first.rows["locks"]) == len(second.rows["locks"])
