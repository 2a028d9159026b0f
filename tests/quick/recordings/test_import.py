"""`steelyard import`: what belongs to which option, block and load point; what it refuses."""

from __future__ import annotations

import gzip
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import duckdb
import layouts
import pytest
from click.testing import CliRunner, Result
from readings import readings

from steelyard._core import histogram_of
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement import Judgement
from steelyard.bundle.evidence.histograms import summary
from steelyard.bundle.reader import Bundle
from steelyard.cli.commands import cli
from steelyard.errors import InputError
from steelyard.recordings.importing import import_files
from steelyard.recordings.registry import reports_in
from steelyard.recordings.source import Source, zstd

PGBENCH = layouts.PGBENCH


def files(folder: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def steelyard_import(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["import", *arguments])


def imported(folder: Path, *arguments: str) -> Bundle:
    done = steelyard_import(*arguments, "-o", str(folder / "out.bundle"))
    assert done.exit_code == 0, (done.output, done.exception)
    return Bundle(folder / "out.bundle")


def refusal(*arguments: str) -> str:
    refused = steelyard_import(*arguments)
    assert isinstance(refused.exception, InputError), (refused.output, refused.exception)
    return str(refused.exception)


def judged(bundle: Bundle) -> Judgement:
    return judge(bundle.evidence())


def pgbench(transactions: int, clients: int = 4) -> str:
    """A summary of so many transactions in two seconds."""
    return (
        PGBENCH.replace("processed: 1000", f"processed: {transactions}")
        .replace("tps = 500.0", f"tps = {transactions / 2:.1f}")
        .replace("clients: 4", f"clients: {clients}")
        .replace("average = 7.750", f"average = {clients * 2000 / transactions:.3f}")
    )


def test_options_by_patterns_and_their_runs_as_blocks(tmp_path: Path) -> None:
    files(tmp_path, {f"a/{i}.txt": pgbench(1000 + i) for i in range(6)})
    files(tmp_path, {f"b/{i}.txt": pgbench(2000 + i) for i in range(6)})
    found = imported(tmp_path, "--option", f"A={tmp_path}/a/*.txt", "--option", f"B={tmp_path}/b/*.txt")
    runs = found.evidence().view("runs")
    assert [*zip(runs["option"], runs["block"], strict=True)] == [
        (option, block) for block in range(1, 7) for option in ("A", "B")
    ]
    assert judged(found).verdict.winner == "B"


def test_one_run_of_each_gives_a_ratio_and_names_what_is_missing(tmp_path: Path) -> None:
    files(tmp_path, {"a.txt": pgbench(1000), "b.txt": pgbench(2000)})
    verdict = judged(
        imported(tmp_path, "--option", f"A={tmp_path}/a.txt", "--option", f"B={tmp_path}/b.txt")
    ).verdict
    assert verdict.winner is None
    assert "ratio of 2.000" in verdict.interval and "no interval" in verdict.interval
    assert verdict.headline.startswith("Measured once") and "more runs" in verdict.consequence


def test_one_option_alone_is_a_recording(tmp_path: Path) -> None:
    files(tmp_path, {"mine.txt": PGBENCH})
    found = judged(imported(tmp_path, str(tmp_path / "mine.txt")))
    assert found.verdict.outcome == "measured"
    assert found.verdict.headline == "Throughput of mine: 500/s with 4 clients."
    assert "one run alone: no interval across runs" in [n.text for n in found.notices]


def test_seconds_of_one_run_are_no_runs(tmp_path: Path) -> None:
    files(tmp_path, {"pgbench_log.1": layouts.PGBENCH_LOG})
    texts = [n.text for n in judged(imported(tmp_path, str(tmp_path / "pgbench_log.1"))).notices]
    assert "one run alone: no interval across runs; the seconds within it are no runs" in texts


def test_folders_give_option_block_and_clients(tmp_path: Path) -> None:
    for option, factor in (("P", 1), ("T", 2)):
        for block in (1, 2):
            for clients in (4, 8):
                name = f"all/{option}/block-{block}/clients-{clients}/pgbench.txt"
                files(tmp_path, {name: pgbench(1000 * factor + block, clients)})
    points = imported(tmp_path, str(tmp_path / "all"), "--by-folder").evidence().view("points")
    assert points["clients"].tolist() == [4, 8] * 4
    assert points["transactions"].tolist() == [1001, 1001, 2001, 2001, 1002, 1002, 2002, 2002]


def test_load_points_in_one_file(tmp_path: Path) -> None:
    files(tmp_path, {"scaling.txt": pgbench(1000, 1) + pgbench(1900, 2) + pgbench(3000, 4)})
    evidence = imported(tmp_path, str(tmp_path / "scaling.txt")).evidence()
    assert evidence.view("points")["clients"].tolist() == [1, 2, 4]
    assert evidence.view("points")["transactions"].tolist() == [1000, 1900, 3000]


def test_repeated_runs_in_one_file_are_blocks(tmp_path: Path) -> None:
    files(tmp_path, {"thrice.txt": pgbench(1000) + pgbench(1001) + pgbench(1002)})
    assert imported(tmp_path, str(tmp_path / "thrice.txt")).evidence().view("runs")["block"].tolist() == [
        1,
        2,
        3,
    ]


def test_a_log_its_summary_and_a_monitor_in_one_folder_are_one_run(tmp_path: Path) -> None:
    files(
        tmp_path,
        {
            "r/A/summary.txt": pgbench(6),
            "r/A/pgbench_log.7": layouts.PGBENCH_LOG,
            "r/A/pgbench_log.7.1": layouts.PGBENCH_LOG,
            "r/A/vmstat.txt": layouts.VMSTAT,
        },
    )
    found = imported(tmp_path, str(tmp_path / "r"), "--by-folder")
    # the log counts each transaction, of both threads: 3 of each
    assert found.evidence().view("points")["transactions"].tolist() == [6]
    assert found.evidence().view("points")["clients"].tolist() == [4]
    metrics = {metric.name for metric in judged(found).metrics}
    assert {"p99_ns", "score_of_cpu_busy_vmstat"} <= metrics


def test_a_monitor_is_cut_by_the_times_of_the_runs(tmp_path: Path) -> None:
    log = layouts.PGBENCH_LOG
    later = log.replace("17724456", "17724457")
    files(tmp_path, {"r/pgbench_log.1": log, "r/pgbench_log.2": later, "r/sadf.json": layouts.SADF})
    found = imported(tmp_path, "--option", f"A={tmp_path}/r/*")
    rows = found.duckdb.execute(
        "select run, count(*) from samples where monitor = 'system-sadf' group by run"
    )
    # the first reading is of the second before the run
    assert rows.fetchall() == [(1, 6)]


def test_two_clocks_are_not_mixed_unless_the_offset_is_known(tmp_path: Path) -> None:
    later = layouts.PGBENCH_LOG.replace("17724456", "17724457")
    vmstat = layouts.VMSTAT.replace("10:00:0", "11:00:0")
    files(tmp_path, {"pgbench_log.1": layouts.PGBENCH_LOG, "pgbench_log.2": later, "vmstat.txt": vmstat})
    text = refusal("--option", f"A={tmp_path}/*")
    assert "one clock names its zone, the other does not" in text
    files(
        tmp_path,
        {
            "schedule.toml": '[options.A]\nfiles = ["pgbench_log.*", "vmstat.txt"]\n'
            '[[choices]]\nfiles = "vmstat.txt"\nutc_offset_minutes = 60\n'
        },
    )
    found = imported(tmp_path, str(tmp_path / "schedule.toml"))
    rows = found.duckdb.execute("select distinct run from samples where monitor = 'system-vmstat'").fetchall()
    assert rows == [(1,)]


def test_a_time_without_a_zone_is_shown_without_one(tmp_path: Path) -> None:
    files(tmp_path, {"vmstat.txt": layouts.VMSTAT, "r/pgbench_log.1": layouts.PGBENCH_LOG})
    for names, zone in (("vmstat.txt", ", local time of the recording"), ("r/*", " UTC")):
        found = imported(tmp_path / names[0], "--option", f"A={tmp_path}/{names}")
        CliRunner().invoke(cli, ["report", str(found.path)])
        page = (found.path / "report.html").read_text()
        shown = re.findall(r"<time datetime=[^>]+>\d+ \w+ \d+, \d\d:\d\d([^<]*)</time>", page)
        assert shown == [zone]


def test_a_clock_that_is_ahead_is_set_back(tmp_path: Path) -> None:
    ahead = layouts.SADF.replace("10:00:0", "10:02:0")
    files(tmp_path, {"r/pgbench_log.1": layouts.PGBENCH_LOG, "r/sadf.json": ahead})
    files(tmp_path, {"schedule.toml": '[options.A]\nfiles = ["r/*"]\n'})
    choice = '[[choices]]\nfiles = "sadf.json"\nahead_s = 120\n'
    where = "select min(t_ns) from samples where monitor = 'system-sadf'"

    def first(folder: str) -> float:
        found = imported(tmp_path / folder, str(tmp_path / "schedule.toml"))
        return found.duckdb.execute(where).fetchall()[0][0] / 1e9

    assert "none of the 1 runs" in refusal(str(tmp_path / "schedule.toml"))
    with (tmp_path / "schedule.toml").open("a") as schedule:
        schedule.write(choice)
    # the log begins half a second later
    assert first("set-back") == pytest.approx(-0.5, abs=0.1)


def test_a_schedule_says_blocks_and_load_points(tmp_path: Path) -> None:
    texts = {"s1.txt": layouts.SYSMON_THREADED, "s2.txt": layouts.SYSMON_THREADED}
    files(tmp_path, texts)
    runs = "".join(
        f'[[runs]]\noption = "T"\nblock = {i}\nclients = {8 * i}\nfiles = ["s{i}.txt"]\n' for i in (1, 2)
    )
    files(tmp_path, {"schedule.toml": f'name = "mine"\nquestion = "How fast?"\n{runs}'})
    found = imported(tmp_path, str(tmp_path / "schedule.toml"))
    assert found.study.question == "How fast?"
    assert found.evidence().view("points")["clients"].tolist() == [8, 16]


def test_load_points_of_one_block_are_one_run(tmp_path: Path) -> None:
    files(tmp_path, {"s1.txt": pgbench(900, 8), "s2.txt": pgbench(1000, 16)})
    runs = "".join(
        f'[[runs]]\noption = "T"\nblock = 1\nclients = {8 * i}\nfiles = ["s{i}.txt"]\n' for i in (1, 2)
    )
    files(tmp_path, {"schedule.toml": runs})
    found = imported(tmp_path, str(tmp_path / "schedule.toml")).evidence().view("points")
    assert (found["run"].tolist(), found["clients"].tolist()) == ([1, 1], [8, 16])


def test_a_schedule_with_an_unknown_key_names_its_line(tmp_path: Path) -> None:
    files(tmp_path, {"schedule.toml": 'name = "x"\n[options.A]\nfile = ["a.txt"]\n'})
    assert "schedule.toml:2: options.A.files: " in refusal(str(tmp_path / "schedule.toml"))


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_a_table_of_results_with_its_mapping(tmp_path: Path, suffix: str) -> None:
    table = tmp_path / f"results{suffix}"
    copy = "(format json)" if suffix == ".jsonl" else ""
    duckdb.sql(
        "copy (select * from (values ('row', 1, 8, 100.0, 5.5), ('column', 1, 8, 150.0, 4.5)) as"
        f" t(engine, run, users, tps, p99_ms)) to '{table}' {copy}"
    )
    files(
        tmp_path,
        {
            "schedule.toml": f'[[tables]]\nfile = "{table.name}"\noption = "engine"\nblock = "run"\n'
            'clients = "users"\nmetrics = [\n'
            '  { column = "tps", metric = "throughput", unit = "1/s", better = "higher" },\n'
            '  { column = "p99_ms", metric = "p99", unit = "ms", better = "lower" },\n]\n'
        },
    )
    found = judged(imported(tmp_path, str(tmp_path / "schedule.toml")))
    ratios = {c.metric: c.ratio for c in found.comparisons if c.option == "column"}
    assert ratios["throughput_per_s"] == pytest.approx(1.5)
    assert ratios["p99_ns"] == pytest.approx(4.5 / 5.5)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("query", ["", 'query = "select * from rows"\n'])
@pytest.mark.parametrize("name", ["r[1]", "r?", "r*", "n=7/r[1]"])
def test_the_name_of_a_table_is_no_pattern(tmp_path: Path, suffix: str, query: str, name: str) -> None:
    copy = "(format json)" if suffix == ".jsonl" else ""
    tabled(tmp_path, "", "1/s", f"{name}{suffix}", query)
    for place, n in ((f"{name}{suffix}", 100), (f"{Path(name).parent}/r1{suffix}", 900)):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        rows = f"(values ('a', 1, {n}), ('b', 1, {2 * n})) as t(engine, run, n)"
        duckdb.sql(f"copy (from {rows}) to '{tmp_path / place}' {copy}")
    found = imported(tmp_path, str(tmp_path / "schedule.toml")).evidence().view("points")
    assert sorted((found["transactions"] / found["seconds"]).tolist()) == [100, 200]


@pytest.mark.parametrize("name", ["log[1].csv", "log?.csv", "log*.csv"])
def test_the_name_of_a_log_is_no_pattern(tmp_path: Path, name: str) -> None:
    rows = [f"{1_547_813_737_000 + 1000 * s},120,Login,T 1-1,true\n" for s in range(6)]
    head = "timeStamp,elapsed,label,threadName,success\n"
    files(tmp_path, {"log1.csv": head + "".join(rows[:2]), name: head + "".join(rows)})
    found = imported(tmp_path, str(tmp_path / name)).evidence().view("points")
    assert found["transactions"].tolist() == [6]


def tabled(folder: Path, rows: str, unit: str, name: str = "r.csv", query: str = "") -> str:
    mapping = f'[[tables]]\nfile = "{name}"\n{query}option = "engine"\nblock = "run"\nmetrics = [\n' + (
        f'  {{ column = "n", metric = "throughput", unit = "{unit}" }},\n]\n'
    )
    files(folder, {"r.csv": f"engine,run,n\n{rows}", "schedule.toml": mapping})
    return str(folder / "schedule.toml")


def test_a_throughput_of_a_table_is_converted_from_its_unit(tmp_path: Path) -> None:
    found = judged(imported(tmp_path, tabled(tmp_path, "a,1,6000\nb,1,3000\n", "1/min")))
    values = [e.value for e in found.estimates if e.metric == "throughput_per_s"]
    assert sorted(values) == pytest.approx([50, 100])
    assert 'throughput in "1/week"' in refusal(tabled(tmp_path, "a,1,6000\n", "1/week"))


@pytest.mark.parametrize("block", ["x", "1.7", "0", ""])
def test_a_row_without_a_block_of_its_table_is_not_understood(tmp_path: Path, block: str) -> None:
    said = refusal(tabled(tmp_path, f"a,{block},6000\n", "1/s"))
    assert "no row was understood" in said and "Traceback" not in said


def test_a_schedule_names_the_factors_of_labels(tmp_path: Path) -> None:
    files(tmp_path, {f"{label}.txt": PGBENCH for label in ("T_ON", "T_OFF", "P_ON")})
    options = "".join(f'[options.{label}]\nfiles = ["{label}.txt"]\n' for label in ("T_ON", "T_OFF", "P_ON"))
    files(tmp_path, {"schedule.toml": f'baseline = "P_ON"\nfactors = ["mode", "cache"]\n{options}'})
    study = imported(tmp_path, str(tmp_path / "schedule.toml")).study
    assert {*study.factors} == {"mode", "cache"} and study.plan.baseline == "P_ON"
    files(tmp_path, {"schedule.toml": f'factors = ["mode"]\n{options}'})
    assert "1 names of factors, but the options' codes have 2 parts" in refusal(
        str(tmp_path / "schedule.toml")
    )


def test_a_dry_run_shows_the_runs_and_writes_nothing(tmp_path: Path) -> None:
    files(tmp_path, {"a.txt": layouts.SYSMON_THREADED + "\nthe dog ate 12 rows of it\n"})
    shown = steelyard_import(str(tmp_path / "a.txt"), "--dry-run", "-o", str(tmp_path / "out"))
    assert "a, block 1: 2026-03-02 10:00:00, 60.0 s, 601 done (ase/sysmon)" in shown.stdout
    line = layouts.SYSMON_THREADED.count("\n") + 2
    assert f"a.txt: 1 line not understood:\n  {line}: the dog ate 12 rows of it\n" in shown.stdout
    assert not (tmp_path / "out").exists()


def test_what_is_not_understood_stays_with_the_bundle(tmp_path: Path) -> None:
    files(tmp_path, {"a.txt": PGBENCH + "the dog ate 12 rows of it\n"})
    texts = [n.text for n in judged(imported(tmp_path, str(tmp_path / "a.txt"))).notices]
    assert 'a.txt: 1 line was not understood, the first is line 21: "the dog ate 12 rows of it"' in texts


def test_engine_percentages_of_two_modes_are_not_compared(tmp_path: Path) -> None:
    files(tmp_path, {"p.txt": layouts.SYSMON_PROCESS, "t.txt": layouts.SYSMON_THREADED})
    found = judged(imported(tmp_path, "--option", f"P={tmp_path}/p.txt", "--option", f"T={tmp_path}/t.txt"))
    codes = {notice.code for notice in found.notices}
    assert {"engine-percentages", "sampling-modes"} <= codes
    compared = {c.metric for c in found.comparisons if c.clients is None}
    assert not [name for name in compared if "engine_" in name]


def test_a_busy_cpu_wins_nothing(tmp_path: Path) -> None:
    idle = layouts.VMSTAT.replace("70 20 10", "10 10 80").replace("60 10 20", "10 10 70")
    files(tmp_path, {f"a/{i}.txt": layouts.VMSTAT for i in range(6)})
    files(tmp_path, {f"b/{i}.txt": idle for i in range(6)})
    found = judged(
        imported(tmp_path, "--option", f"A={tmp_path}/a/*.txt", "--option", f"B={tmp_path}/b/*.txt")
    )
    assert found.verdict.winner is None
    assert "Nothing to compare" in found.verdict.headline
    ratios = {c.metric: c.ratio for c in found.comparisons}
    assert ratios["score_of_cpu_busy_vmstat"] == pytest.approx(20 / 80)


def test_labels_of_several_parts_are_factors(tmp_path: Path) -> None:
    labels = ("DYN1_ST0", "DYN1_ST1", "DYN0_ST0")
    files(tmp_path, {f"{label}.txt": PGBENCH for label in labels})
    options = [part for label in labels for part in ("--option", f"{label}={tmp_path}/{label}.txt")]
    study = imported(tmp_path, *options).study
    assert {name: [*factor.levels] for name, factor in study.factors.items()} == {
        "part_1": ["DYN1", "DYN0"],
        "part_2": ["ST0", "ST1"],
    }


def test_a_cache_that_is_full_is_found(tmp_path: Path) -> None:
    files(tmp_path, {"config.txt": layouts.MONITORCONFIG})
    notices = judged(imported(tmp_path, str(tmp_path / "config.txt"))).notices
    (full,) = [n for n in notices if n.code == "gauge-full"]
    assert full.text == "procedure cache size num active reached 99.8 % of its limit of 10,000"


def vmstat(seconds: int) -> str:
    """Readings once a second from 10:00:00 on; the first counts since the boot."""
    heading, names, row, *_ = layouts.VMSTAT.splitlines()
    rows = (row.replace("10:00:00", f"10:00:{second:02}") for second in range(seconds + 1))
    return "\n".join([heading, names, *rows]) + "\n"


@pytest.mark.parametrize(("seconds", "silent"), [(20, True), (39, False)])
def test_a_monitor_that_fell_silent_is_found(tmp_path: Path, seconds: int, silent: bool) -> None:
    log = "".join(f"{i % 4} {i // 4} 900 0 {1772445600 + i // 50} {i % 50}\n" for i in range(2000))
    files(tmp_path, {"r/pgbench_log.1": log, "r/vmstat.txt": vmstat(seconds)})
    # a report of the whole interval is no monitor that reads once and falls silent
    sysmon = layouts.SYSMON_THREADED.replace("01:00", "00:40")
    files(tmp_path, {"r/sysmon.txt": sysmon, "schedule.toml": _CLOCKS})
    notices = judged(imported(tmp_path, str(tmp_path / "schedule.toml"))).notices
    found = [(n.text.partition(" before")[0], n.detail) for n in notices if n.code == "monitor-silent"]
    # the last transaction is at 39 s, the last reading at 20 s
    assert found == ([("monitor system-vmstat fell silent", "for 19.0 s")] if silent else [])


_CLOCKS = """
[options.A]
files = ["r/*"]
[[choices]]
files = "vmstat.txt"
utc_offset_minutes = 0
[[choices]]
files = "sysmon.txt"
utc_offset_minutes = 0
"""


def test_clients_of_a_log_are_judged_for_fairness(tmp_path: Path) -> None:
    lines = [f"{c} {i} 900 0 {1772445600 + i % 20} {i}" for c in (0, 1) for i in range(2000 if c else 400)]
    files(tmp_path, {"pgbench_log.1": "\n".join(lines) + "\n"})
    found = judged(imported(tmp_path, str(tmp_path / "pgbench_log.1")))
    assert [n for n in found.notices if n.code == "unfair"] or any(f.cv > 0.5 for f in found.fairness)


@pytest.mark.parametrize(
    ("texts", "arguments", "message"),
    [
        ({"a.txt": ""}, ["a.txt"], "a.txt: holds nothing to read"),
        ({"a.txt": "hello\n"}, ["a.txt"], "a.txt:1: nothing in this file was understood"),
        ({}, ["--option", "A=*.txt"], 'no file matches "*.txt"'),
        ({}, ["--option", "A"], "not NAME=FILES"),
        ({"a.txt": PGBENCH}, ["--option", "A B=a.txt"], 'option "A B"'),
        (
            {"a.txt": PGBENCH, "b.txt": PGBENCH},
            ["--option", "A=a.txt", "--option", "B_x=b.txt", "--dry-run"],
            "options of different factors: A, B_x",
        ),
        (
            {"a.txt": PGBENCH, "b.txt": layouts.SYSBENCH, "c.txt": PGBENCH},
            ["--option", "A=*.txt"],
            "2 of drivers/pgbench, 1 of drivers/sysbench: which are of one run is not clear",
        ),
        (
            {"a.txt": PGBENCH, "b.txt": PGBENCH, "vmstat.txt": layouts.VMSTAT_24},
            ["--option", "A=*.txt"],
            "vmstat.txt:1: tells no times, and there are several runs",
        ),
        (
            {"a.txt": layouts.SYSMON_THREADED + layouts.SYSMON_PROCESS},
            ["a.txt"],
            "two servers together: LAB_DS, OLD_DS",
        ),
        (
            {"a.txt": layouts.SYSMON_THREADED + layouts.SYSMON_THREADED.replace("10:00:00", "10:00:30")},
            ["a.txt"],
            "that time would count twice",
        ),
        ({"a.txt": PGBENCH}, ["a.txt", "--option", "A=a.txt"], "files beside --option"),
    ],
)  # fmt: skip
def test_what_is_refused_and_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: dict[str, str], arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    files(tmp_path, texts)
    assert message in refusal(*arguments, "-o", "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.needs("vmstat")
def test_switches_of_vmstat_are_those_that_the_kernel_counted(tmp_path: Path) -> None:
    def switches() -> int:
        return int(re.findall(r"^ctxt (\d+)", Path("/proc/stat").read_text(), re.MULTILINE)[0])

    counted: list[int] = []
    command = ["vmstat", "-t", "-n", "1", "6"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C"}
    ) as tool:
        lines = list[str]()
        for line in tool.stdout or ():
            lines.append(line)
            counted.append(switches())
    place = tmp_path / "vmstat.txt"
    place.write_text("".join(lines))
    (report,) = reports_in(Source(place))
    per_s = [s.value for s in readings(report.samples) if s.metric == "cs"]
    # five readings of five seconds, not of the four between the first and the last; times are whole seconds
    assert len(per_s) == 5 and report.seconds in (5.0, 6.0)
    assert sum(per_s) == pytest.approx(counted[-1] - counted[2], rel=0.05)


def test_an_import_is_neither_overwritten_nor_resumed(tmp_path: Path) -> None:
    place = tmp_path / "vmstat.txt.gz"
    place.write_bytes(gzip.compress(layouts.VMSTAT.encode()))
    bundle = str(tmp_path / "b.bundle")
    done = steelyard_import(str(place), "-o", bundle)
    assert done.exit_code == 0 and "vmstat, block 1" in done.output
    again = steelyard_import(str(place), "-o", bundle)
    assert "never overwritten" in str(again.exception)
    resumed = CliRunner().invoke(cli, ["resume", bundle])
    assert isinstance(resumed.exception, InputError) and "cannot be run" in str(resumed.exception)


def test_zstd_is_read(tmp_path: Path) -> None:
    place = tmp_path / "log.zst"
    place.write_bytes(zstd.compress(layouts.PGBENCH_LOG.encode()))
    assert imported(tmp_path, str(place)).evidence().view("points")["transactions"].tolist() == [3]
    vmstat = tmp_path / "vmstat.txt.gz"
    vmstat.write_bytes(gzip.compress(layouts.VMSTAT.encode()))
    assert "no such file" in refusal(str(tmp_path / "none"))
    assert steelyard_import(str(vmstat), "--dry-run").exit_code == 0


SAMPLE = "bash  1 6402.{:06}:  5025125 cpu-clock:\n\tffff821fd411 down_write+0x21 ([kernel.kallsyms])\n\n"


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress], ids=["none", "gzip", "zstd"])
def test_a_large_file_shows_how_much_of_it_was_read(
    tmp_path: Path, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    # a fast machine reads it within a few ticks of the clock
    monkeypatch.setattr("steelyard.recordings.runs._TICK_S", 0.01)
    place = tmp_path / "perf.txt"
    place.write_bytes(pack("".join(SAMPLE.format(i) for i in range(70_000)).encode()))
    shares: list[float] = []
    found = import_files([str(place)], [], False, lambda _, share: shares.append(share))
    ((row,),) = [report.rows["profile"] for report in found.runs[0].reports]
    assert row["samples"] == 70_000
    assert len(shares) >= 4 and shares == sorted(shares)
    assert 0 < shares[0] <= shares[-1] <= 1


def test_the_bar_is_on_a_terminal_alone(tmp_path: Path) -> None:
    place = tmp_path / "perf.txt"
    place.write_text("".join(SAMPLE.format(i) for i in range(70_000)))
    command = [sys.executable, "-m", "steelyard.cli", "import", str(place), "--dry-run"]
    for terminal in (False, True):
        environment = {**os.environ, "TTY_COMPATIBLE": str(int(terminal))}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert ("reading perf.txt" in done.stderr) == terminal
        assert done.stdout.startswith("perf, block 1: ")


def test_a_log_of_transactions_shows_its_progress_too(tmp_path: Path) -> None:
    place = tmp_path / "pgbench_log.1"
    place.write_text(
        "".join(f"{i % 8} {i // 8} {900 + i % 99} 0 1772445600 {i % 1000}\n" for i in range(2_000_000))
    )
    shares: list[float] = []
    import_files([str(place)], [], False, lambda _, share: shares.append(share))
    assert shares == sorted(shares) and 0 < shares[0] <= 1


def test_hammerdbs_repository(tmp_path: Path) -> None:
    place = tmp_path / "hammer.DB"
    with closing(sqlite3.connect(place)) as database:
        database.executescript(
            """
            create table JOBMAIN(jobid, db, bm, jobdict, timestamp, profile_id);
            create table JOBTIMING(jobid, vu, procname, calls, min_ms, avg_ms, max_ms, total_ms, p99_ms,
                p95_ms, p75_ms, p50_ms, p25_ms, sd, ratio_pct, summary, elapsed_ms);
            create table JOBTCOUNT(jobid, counter, metric, timestamp);
            create table JOBOUTPUT(jobid, vu, output);
            insert into JOBMAIN values ('J1', 'MariaDB', 'TPC-C', '', '2026-03-02 10:00:00', 0);
            insert into JOBOUTPUT values ('J1', 0, '8 Active Virtual Users configured'),
                ('J1', 1, 'TEST RESULT : System achieved 1000 NOPM from 3000 MariaDB TPM');
            insert into JOBTCOUNT values ('J1', 2900, 'MariaDB tpm', '2026-03-02 10:00:10');
            insert into JOBTIMING(jobid, procname, calls, summary) values ('J1', 'NEWORD', 17, 1);
            """
        )
        database.commit()
    found = judged(imported(tmp_path, str(place)))
    values = {e.metric: e.value for e in found.estimates}
    assert values["score_of_nopm"] == pytest.approx(1000)
    assert values["throughput_per_s"] == pytest.approx(50)


def test_a_histogram_is_as_the_engine_encodes_it() -> None:
    count, lowest, mean, highest = summary(
        histogram_of([(1, 5), (2047, 1), (2048, 1), (5_000_000_000, 3)]), ""
    )
    assert (count, lowest) == (10, 1)
    assert highest == pytest.approx(5e9, rel=1e-3) and mean == pytest.approx(1.5e9, rel=1e-3)


def test_the_formats_are_listed_and_the_example_is_a_schedule(tmp_path: Path) -> None:
    listed = steelyard_import("--list").stdout
    assert "ase/sysmon" in listed and "result-cache-t2" in listed
    files(tmp_path, {"schedule.toml": steelyard_import("--example").stdout})
    assert 'no file matches "process/*.txt"' in refusal(str(tmp_path / "schedule.toml"))


@pytest.mark.parametrize("name", ["ase", "linux", "mariadb", "oracle", "postgres", "solaris"])
def test_each_capture_script_is_valid_shell(name: str) -> None:
    script = CliRunner().invoke(cli, ["capture", name]).stdout
    checked = subprocess.run(["sh", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.needs("vmstat")
def test_what_the_script_captures_here_is_imported_without_a_schedule(tmp_path: Path) -> None:
    script = tmp_path / "capture.sh"
    script.write_text(CliRunner().invoke(cli, ["capture", "linux"]).stdout)
    for option in ("a", "b"):
        subprocess.run(["sh", str(script), option, "1", "2"], cwd=tmp_path, capture_output=True, check=True)
    folders = [str(tmp_path / option) for option in ("a", "b")]
    shown = steelyard_import(*folders, "--by-folder", "--dry-run")
    assert shown.exit_code == 0, (shown.output, shown.exception)
    assert "a, block 1: " in shown.stdout and "b, block 1: " in shown.stdout
    assert "not understood" not in shown.stdout


def test_reports_of_oracle_that_overlap_or_are_of_two_servers_are_refused(tmp_path: Path) -> None:
    later = layouts.AWR.replace("10:10:00", "10:15:00").replace("10:00:00", "10:05:00")
    files(tmp_path / "overlap" / "A", {"one.txt": layouts.AWR, "two.txt": later})
    assert "overlaps with" in refusal(str(tmp_path / "overlap"), "--by-folder")
    files(tmp_path / "two" / "A", {"one.txt": layouts.AWR, "two.txt": later.replace("LAB/lab", "LAB/other")})
    assert "two servers together: LAB/lab, LAB/other" in refusal(str(tmp_path / "two"), "--by-folder")


def test_reports_of_which_one_alone_names_its_zone_are_refused(tmp_path: Path) -> None:
    later = layouts.AWR.replace("10:10:00", "10:25:00").replace("10:00:00", "10:15:00")
    files(tmp_path, {"one.txt": layouts.AWR, "two.txt": later})
    schedule = (
        '[options.A]\nfiles = ["one.txt", "two.txt"]\n'
        '[[choices]]\nfiles = "two.txt"\nutc_offset_minutes = 60\n'
    )
    files(tmp_path, {"schedule.toml": schedule})
    assert "one clock names its zone" in refusal(str(tmp_path / "schedule.toml"))
