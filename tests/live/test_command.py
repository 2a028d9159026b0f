"""Programs that report a score: what becomes of instances that work, fail, hang, or say what is no score."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from builders import of_bundle
from laboratory import Lab, text_of
from needs import needs

from steelyard.bundle.reader import Bundle
from steelyard.lab.engines.process import LoadProcess
from steelyard.lab.engines.result import LoadFailed
from steelyard.report.charts.work import clients
from steelyard.report.presented import Presented
from steelyard.run_tables.rows import Columns

STUDY = """\
name = "instances"
question = "Which?"

[subject]
kind = "program"

[workload]
kind = "program"
command = ["sh", "-c", "echo bops = $(({base} * ({instance} + 1))) of {instances} on {cpus}"]
variables = { base = 1000 }
score = { pattern = 'bops = (\\d+)' }
unit = "bops"

[factors.base]
scope = "client"
levels = { B1 = 1000, B2 = 2000 }

[plan]
clients = [1, 2]
cool_down_s = 0
blocks = 5
"""

DIGITS = {"pattern": r"score (\S+)", "json_path": None}


def engine(
    folder: Path, *points: list[str], score: dict[str, Any] = DIGITS, folders: str = "", **plan: Any
) -> Mapping[str, Columns]:
    """The tables that the engine gives for points of instances, each instance a line of shell."""
    outputs = folder / "outputs"
    outputs.mkdir(exist_ok=True)
    cpus = sorted(os.sched_getaffinity(0))
    instances = [
        [
            {
                "command": ["/bin/sh", "-c", line],
                "environment": {},
                "folder": folders or str(folder),
                "cpus": cpus,
            }
            for line in lines
        ]
        for lines in points
    ]
    whole = {
        "score": score,
        "unit": "ms",
        "scores": {},
        "time": None,
        "exit_code": 0,
        "deadline_s": 60,
        "cool_down_s": 0,
        **plan,
    }
    process = LoadProcess(
        "programs", {**whole, "instances": instances, "outputs": str(outputs)}, frozenset(cpus)
    )
    try:
        return process.result(lambda event: None).tables
    finally:
        process.stop()


def test_each_copy_is_read_by_itself_and_its_cpu_time_kept(tmp_path: Path) -> None:
    busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo score 7"
    scores = engine(tmp_path, ["echo score 1.5"], ["echo score 2e3", busy])["scores"]
    assert scores["point"] == [0, 1, 1]
    by_copy = dict(zip(zip(scores["point"], scores["instance"], strict=True), scores["score"], strict=True))
    assert by_copy == {(0, 0): 1.5, (1, 0): 2000.0, (1, 1): 7.0}
    cpu_ns = dict(zip(scores["score"], scores["cpu_ns"], strict=True))
    assert cpu_ns[7.0] > 5 * cpu_ns[2000.0] > 0
    assert scores["exit_code"] == [0, 0, 0]


def test_copies_run_at_the_same_time(tmp_path: Path) -> None:
    # each waits for a sign of the other: one after the other they would wait for ever
    def meet(own: str, other: str) -> str:
        return f"touch {own}; while [ ! -e {other} ]; do sleep 0.01; done; echo score 1"

    result = engine(tmp_path, [meet("a", "b"), meet("b", "a")])
    start, end = result["phases"]["start_ns"][0], result["phases"]["end_ns"][0]
    assert result["phases"]["phase"] == ["measure", "cool-down"]
    assert max(result["scores"]["seconds"]) == pytest.approx((end - start) / 1e9)


@pytest.mark.parametrize(
    ("printed", "path", "score"),
    [
        ('{"bops": 12.5}', "bops", 12.5),
        ('warming up\n{"a": {"b": [1, 22]}}', "a.b.1", 22),
        ('{"bops": 1}\n{"bops": 2}\ndone', "bops", 2),
        ('{\n  "jobs": [\n    {"iops": "33"}\n  ]\n}', "jobs.0.iops", 33),
        ('note: {x}\n[1] {\n{\n  "jobs" : [\n    {"iops": 5.5}\n  ]\n}\nDisk stats', "jobs.0.iops", 5.5),
        ('{"bops": "1,250,100.5"}', "bops", 1250100.5),
        ('{"latency": {"p99.9": [{"a.b": 7}]}}', 'latency."p99.9".0."a.b"', 7),
        ('{"p99.9": 4, "p99": {"9": 5}}', '"p99.9"', 4),
    ],
)
def test_a_score_is_found_by_its_json_path(tmp_path: Path, printed: str, path: str, score: float) -> None:
    (tmp_path / "printed").write_text(printed)
    result = engine(tmp_path, ["cat printed"], score={"pattern": None, "json_path": path})
    assert result["scores"]["score"] == [score]


@pytest.mark.parametrize(
    ("printed", "pattern", "score"),
    [
        ("tps = 9.8e+04 (without", r"tps = ([\d.]+)", 9.8e4),
        ("Throughput: 1,250,100.5 ops/s", r"([\d.]+) ops/s", 1250100.5),
        ("1'250'100 ops/s", r"(\d+) ops/s", 1250100),
        ("1\u202f250\u202f100.5 ops/s", r"([\d.]+) ops/s", 1250100.5),
        ("1250.5 ops/s", r".*([\d.]+) ops/s", 1250.5),
        ("op,33,250,100", r"op,33,(\d+),", 250),
        ("sent 12.5K", r"sent ([\d.]+)K", 12.5),
        ("Latency 5.5 msec", r"Latency ([\d.]+)", 5.5),
        ("Latency 5.5 avg", r"Latency ([\d.]+)", 5.5),
    ],
)
def test_a_score_is_the_whole_number_around_the_group(
    tmp_path: Path, printed: str, pattern: str, score: float
) -> None:
    (tmp_path / "printed").write_text(printed)
    result = engine(tmp_path, ["cat printed"], score={"pattern": pattern, "json_path": None})
    assert result["scores"]["score"] == [score]


@pytest.mark.parametrize(
    ("printed", "pattern"),
    [
        ("98,5", r"score ([\d.]+)"),
        ("12,500", r"score ([\d.]+)"),
        ("1.250,5", r"score ([\d.]+)"),
        ("12.5K", r"score ([\d.]+)"),
        ("12.5K", r"score ([\d.]+)[KM]"),
        ("1.2 GB", r"score ([\d.]+)"),
        # wrk and hyperfine change the unit of a time with its size
        ("612.34us", r"score ([\d.]+)"),
        ("1.205 s", r"score ([\d.]+)"),
    ],
)
def test_a_number_that_goes_on_beside_the_group_is_quoted(tmp_path: Path, printed: str, pattern: str) -> None:
    with pytest.raises(LoadFailed, match=rf"printed '{printed}' as its score: the pattern takes '\d+\.?\d*'"):
        engine(tmp_path, [f"echo score {printed}"], score={"pattern": pattern, "json_path": None})


def test_a_further_score_may_be_0(tmp_path: Path) -> None:
    errors = {"pattern": r"errors (\S+)", "json_path": None, "unit": "errors"}
    tables = engine(tmp_path, ["echo score 5 errors 0"], scores={"errors": errors})
    assert tables["further_scores"]["value"] == [0]
    with pytest.raises(LoadFailed, match="printed '-1' as its score errors: not a number from 0 up"):
        engine(tmp_path, ["echo score 5 errors -1"], scores={"errors": errors})


def test_the_last_match_counts_and_standard_error_is_read_where_output_has_none(tmp_path: Path) -> None:
    assert engine(tmp_path, ["echo score 1; echo score 2"])["scores"]["score"] == [2]
    assert engine(tmp_path, ["echo nothing; echo score 3 >&2"])["scores"]["score"] == [3]


def test_the_time_is_the_program_s_own_where_the_study_says_where_it_stands(tmp_path: Path) -> None:
    own = {"pattern": r"took (\S+) s", "json_path": None}
    assert engine(tmp_path, ["echo score 1 took 12.5 s"], time=own)["scores"]["seconds"] == [12.5]


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (
            "echo no licence >&2; exit 3",
            "instance 2 of 2 ended with exit code 3; end of its output:\nno licence",
        ),
        ("kill -SEGV $$", "instance 2 of 2 ended with signal 11, without output"),
        ("true", "instance 2 of 2 printed nothing, so it has no score"),
        (
            "echo hello; echo world",
            r"instance 2 of 2 printed no score \(pattern score .*\); end of its output:\nhello\nworld",
        ),
        ("head -c 300000 /dev/urandom", "instance 2 of 2 printed no score"),
        ("echo score many", "printed 'many' as its score: not a positive number"),
        ("echo score nan", "printed 'nan' as its score"),
        ("echo score 0", "printed '0' as its score"),
        ("echo score -4", "printed '-4' as its score"),
    ],
)
def test_a_copy_without_a_score_ends_the_run_with_its_last_words(
    tmp_path: Path, line: str, cause: str
) -> None:
    with pytest.raises(LoadFailed, match=cause):
        engine(tmp_path, ["sleep 60; echo score 1" if "exit" in line else "echo score 1", line])


def test_a_copy_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    hang = "echo $$ > shell; sleep 987 & echo $! > child; echo waiting for godot; wait"
    with pytest.raises(LoadFailed, match=r"instance 1 of 2 still ran after 1 s and was killed; (?s:.*)godot"):
        engine(tmp_path, [hang, "echo score 1"], deadline_s=1)
    left = [int((tmp_path / name).read_text()) for name in ("shell", "child")]
    # a signal is sent, not yet obeyed, when kill returns; what has died may stay as a zombie, without
    # a command line, until it is waited for
    deadline = time.monotonic() + 30
    while alive := [pid for pid in left if "sleep" in text_of(pid, "cmdline")]:
        assert time.monotonic() < deadline, f"still there: {alive}"
        time.sleep(0.01)


def test_another_exit_code_can_be_the_expected_one(tmp_path: Path) -> None:
    assert engine(tmp_path, ["echo score 5; exit 3"], exit_code=3)["scores"]["exit_code"] == [3]
    with pytest.raises(LoadFailed, match="exit code 0"):
        engine(tmp_path, ["echo score 5"], exit_code=3)


def test_what_cannot_be_started_is_named(tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match="instance 0: cannot enter /nowhere: No such file or directory"):
        engine(tmp_path, ["echo score 1"], folders="/nowhere")


def test_the_score_of_all_copies_and_of_each_is_judged_in_its_unit(lab: Lab) -> None:
    (lab.folder / "mine.toml").write_text(STUDY)
    done = lab.run("run", "mine.toml", "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    said = " ".join(done.stdout.split())
    assert "B2 (base = 2000) wins: 2.00 times the total bops of B1 (base = 1000), the baseline." in said
    # instances score 1 and 2 times the base: their sum, and their mean
    assert "· 2 × B1 3,000 [3,000 to 3,000] 1,500 [1,500 to 1,500] baseline" in said
    assert "▲ 2 × B2 6,000 [6,000 to 6,000] 3,000 [3,000 to 3,000] 2.00" in said
    page = (lab.bundle / "report.html").read_text()
    assert (
        "bops/instance" in page
        and "Instance by instance" in page
        and "TPS" not in page.partition('<script type="application/json"')[0]
    )
    again = lab.run("report", lab.bundle, "--json")
    fairness = json.loads(again.stdout)["judgement"]["fairness"]
    # one instance has twice the other's: CV 1/3, Jain (1+2)^2 / (2 (1+4)) = 0.9
    assert {(f["option"], round(f["jain"], 6), f["unfair"]) for f in fairness} == {
        ("B1", 0.9, True),
        ("B2", 0.9, True),
    }
    compared = lab.run("compare", "--force", lab.bundle, shutil.copytree(lab.bundle, lab.folder / "copy"))
    assert "Total bops" in compared.stdout


TIMES = """\
name = "times"
question = "Which is faster?"

[subject]
kind = "program"

[workload]
kind = "program"
command = ["sh", "-c", "sleep {pause}; echo took {took} ms, p99 {took} us, {took} MiB"]
variables = { pause = 0, took = 10 }
score = { pattern = 'took (\\d+) ms' }
unit = "ms"
scores.p99 = { pattern = 'p99 (\\d+)', unit = "us" }
scores.memory = { pattern = '(\\d+) MiB', unit = "MiB", better = "lower" }

[factors.took]
scope = "client"
levels = { FAST = 10, SLOW = 30 }

[plan]
clients = [2]
cool_down_s = 0
blocks = 5
"""
OF_SCORE = TIMES[TIMES.index("score =") : TIMES.index("scores.p99")]


def judged(lab: Lab, study: str) -> dict[str, Any]:
    (lab.folder / "times.toml").write_text(study)
    done = lab.run("run", "times.toml", "--bundle", lab.bundle, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["judgement"]


def test_a_time_as_the_score_is_won_by_the_shorter_and_averaged_over_instances(lab: Lab) -> None:
    judgement = judged(lab, TIMES)
    assert judgement["verdict"]["winner"] == "FAST"
    values = {(e["metric"], e["option"]): e["value"] for e in judgement["estimates"]}
    assert values["score", "FAST"] == pytest.approx(10e6) and values["score", "SLOW"] == pytest.approx(30e6)
    assert values["p99_ns", "SLOW"] == pytest.approx(30e3)
    assert values["score_of_memory", "SLOW"] == pytest.approx(30)
    outcomes = {c["metric"]: c["outcome"] for c in judgement["comparisons"]}
    assert outcomes["score"] == outcomes["p99_ns"] == outcomes["score_of_memory"] == "worse"
    # the baseline wins: the cards are those of the other option, and name it
    page = (lab.bundle / "report.html").read_text()
    assert "<dt>Time, <code>SLOW</code></dt>" in page and "ratio to FAST: 3" in page
    shown = lab.run("report", lab.bundle).stdout
    assert re.search(r"memory \(MiB\) +ratio of memory", shown)
    assert re.search(r"▼ 2 × SLOW(.*3\.00 \[){2}", shown)
    assert "FAST (took = 10), the baseline, wins" in shown


def test_the_cpu_of_short_programs_is_what_the_kernel_accounted_to_them(lab: Lab) -> None:
    # children that end between two samples of the monitor
    child = "timeout 9 sh -c 'i=0; while [ $i -lt {took}000 ]; do i=$((i+1)); done'"
    busy = f"echo took {{took}} ms; {'; '.join([child] * 4)}"
    study = TIMES[: TIMES.index("scores.p99")] + TIMES[TIMES.index("[factors") :]
    command = TIMES[TIMES.index("command =") : TIMES.index("variables =")]
    study = study.replace(command, f'command = ["sh", "-c", """{busy}"""]\n').replace("pause = 0, ", "")
    judgement = judged(lab, study.replace("blocks = 5", "blocks = 2"))
    cpu_us = {e["option"]: e["value"] for e in judgement["estimates"] if e["metric"] == "cpu_us_per_instance"}
    exact = lab.run("sql", lab.bundle, "--json", EXACT_US)
    assert cpu_us == pytest.approx({row["option"]: row["us"] for row in json.loads(exact.stdout)}, rel=1e-6)
    # starting a child takes as long as a short loop on a busy machine
    assert cpu_us["SLOW"] > 1.5 * cpu_us["FAST"]


EXACT_US = """\
select option, exp(avg(ln(us))) as us
from (select run, option, avg(cpu_ns) / 1e3 as us from scores join runs using (run) group by run, option)
group by option"""


def test_without_a_score_the_run_time_is_compared(lab: Lab) -> None:
    study = TIMES.replace(OF_SCORE, "").replace("[factors.took]", "[factors.pause]").replace("30 }", "1 }")
    judgement = judged(lab, study.replace("FAST = 10", "FAST = 0"))
    assert judgement["verdict"]["winner"] == "FAST"
    slow = next(e for e in judgement["estimates"] if (e["metric"], e["option"]) == ("score", "SLOW"))
    assert slow["value"] >= 1e9
    page = (lab.bundle / "report.html").read_text().replace("\u00a0", " ")
    assert "until the last instance ends, 0 s cool-down" in page and "with newly started instances" in page
    assert "the server reset" not in page and ", server</td>" not in page and "<th>transactions" not in page


def test_a_study_without_factors_is_a_measurement_that_compare_takes_as_its_baseline(lab: Lab) -> None:
    alone = TIMES.partition("[factors.took]")[0] + TIMES[TIMES.index("[plan]") :]
    alone = alone.replace("clients = [2]", "clients = [1]").replace("blocks = 5", "blocks = 2")
    judgement = judged(lab, alone)
    assert judgement["verdict"]["outcome"] == "measured" and judgement["options"] == ["program"]
    assert judgement["verdict"]["headline"].startswith("Time of program: 10.0 ms")
    (lab.folder / "next.toml").write_text(alone.replace("took = 10", "took = 20"))
    later = lab.folder / "later.bundle"
    assert lab.run("run", "next.toml", "--bundle", later).returncode == 0
    compared = lab.run("compare", "--force", "--json", lab.bundle, later)
    ratios = {c["metric"]: c["ratio"] for c in json.loads(compared.stdout)[0]["comparisons"]}
    assert ratios["score"] == pytest.approx(2)
    # one instance has its time in a unit that fits
    chart = clients(Presented(*of_bundle(Bundle(lab.bundle))))
    assert chart and chart.table
    assert chart.table.head == ("option", "instances", "instance", "time")
    assert {row[-1] for row in chart.table.rows} == {"10.0 ms"}
    assert chart.panels[0].spec["layer"][0]["encoding"]["y"]["title"] == "ms"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: nothing to divide")
def test_a_processor_set_each_shares_no_cpu(lab: Lab) -> None:
    (lab.folder / "mine.toml").write_text(
        STUDY.replace(
            '"echo bops = $(({base} * ({instance} + 1))) of {instances} on {cpus}"',
            f"'grep Cpus_allowed_list /proc/self/status >> {lab.folder}/{{base}}; echo bops = {{cpus}}'",
        )
        .replace('scope = "client"', 'scope = "server"')
        .replace(
            "levels = { B1 = 1000, B2 = 2000 }",
            'levels = { default = { placement = "default" }, set = { placement = "set" } }',
        )
        .replace("clients = [1, 2]", "clients = [2]")
        .replace("blocks = 5", "blocks = 1")
    )
    done = lab.run("run", "mine.toml", "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    rows = Bundle(lab.bundle).duckdb.execute(
        "select option, sum(score) from scores join runs using (run) group by option order by option"
    )
    cpus = len(os.sched_getaffinity(0))
    # {cpus} is the score here: all CPUs twice, or all CPUs divided
    assert rows.fetchall() == [("default", 2.0 * cpus), ("set", float(cpus))]
    seen = (lab.folder / "1000").read_text().split("\n")[:4]
    assert len(set(seen)) == 3


def test_a_failing_program_fails_the_study_and_leaves_its_words(lab: Lab) -> None:
    (lab.folder / "mine.toml").write_text(
        STUDY.replace("echo bops", "echo out of paper >&2; exit 9; echo bops")
    )
    done = lab.run("run", "mine.toml", "--bundle", lab.bundle)
    assert done.returncode != 0
    assert "instance 1 of 1 ended with exit code 9; end of its output: out of paper" in done.stderr
    assert "Traceback" not in done.stderr
    assert "out of paper" in (lab.bundle / "logs" / "0001.log").read_text()


def test_what_prepare_cannot_do_is_told(lab: Lab) -> None:
    (lab.folder / "mine.toml").write_text(
        STUDY.replace("score =", "prepare = ['sh', '-c', 'echo no compiler; exit 1']\nscore =")
    )
    done = lab.run("run", "mine.toml", "--bundle", lab.bundle)
    assert done.returncode != 0
    assert "workload.prepare ended with exit code 1: no compiler" in done.stderr


def test_nothing_that_a_copy_started_outlives_a_killed_lab(lab: Lab) -> None:
    # the child is in a session of its own: neither its parent nor its group leads to it
    child = f"setsid {sys.executable} -c 'import time; time.sleep(987)' & sleep 988; echo bops"
    (lab.folder / "mine.toml").write_text(STUDY.replace("echo bops", child))
    process = lab.start("run", "mine.toml", "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.ours("sleep(987)") or process.poll() is not None, "an instance's child")
    assert process.poll() is None, process.communicate()
    process.kill()
    process.communicate(timeout=60)
    lab.wait_for(lambda: not lab.ours() and not lab.traces(), f"the end of {lab.ours()} {lab.traces()}")


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs the shipped program, compiled."""
    needs("a JDK")
    folder = tmp_path_factory.mktemp("classes")
    source = resources.files("steelyard.catalog") / "programs" / "Warehouse.java"
    subprocess.run(["javac", "-Xlint:all", "-Werror", "-d", folder, str(source)], check=True)
    return ["java", "-Xmx96m", "-cp", str(folder), "Warehouse"]


def test_the_warehouses_count_what_they_do_and_make_garbage(warehouse: list[str]) -> None:
    done = subprocess.run([*warehouse, "0.1", "1.5", "3", "4"], capture_output=True, text=True, check=True)
    (line,) = done.stdout.splitlines()
    told = json.loads(line)
    assert told["bops"] == pytest.approx(told["operations"] / told["seconds"], rel=1e-3)
    assert told["operations"] > 0 and told["warehouses"] == 3 and told["working_set_mb"] == 4
    assert "not a SPEC benchmark" in told["note"]


def test_a_program_runs_in_the_folder_of_the_study_file_also_when_it_is_resumed(
    lab: Lab,
) -> None:
    place = lab.folder / "mine"
    place.mkdir()
    script = place / "score.sh"
    script.write_text("#!/bin/sh\ncat number\n")
    script.chmod(0o755)
    (place / "prepare.sh").write_text("echo score 7 > number\n")
    (place / "s.toml").write_text(
        'name = "here"\nquestion = "?"\nsubject.kind = "program"\n[workload]\nkind = "program"\n'
        'command = ["./score.sh"]\nprepare = ["sh", "prepare.sh"]\nscore = { pattern = \'score (\\d+)\' }\n'
        "[plan]\nclients = [1]\nwarm_up_s = 0\ncool_down_s = 0\nblocks = 1\n"
    )
    done = lab.run("run", "mine/s.toml", "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(lab.bundle / "runs" / "0001")
    resumed = lab.run("resume", lab.bundle)
    assert resumed.returncode == 0, resumed.stderr
    assert list(Bundle(lab.bundle).columns("select score from scores")["score"]) == [7]
    script.unlink()
    refused = lab.run("run", "mine/s.toml", "--bundle", lab.folder / "c.bundle")
    assert refused.returncode == 2
    assert f'workload.command: program "./score.sh" not found in {place}' in refused.stderr


def test_a_program_that_was_edited_is_refused_by_its_name_when_the_study_is_resumed(lab: Lab) -> None:
    script = lab.folder / "score.sh"
    text = "echo >> log\necho score 7\n"
    script.write_text(text)
    (lab.folder / "log").write_text("")
    (lab.folder / "s.toml").write_text(
        'name = "here"\nquestion = "?"\nsubject.kind = "program"\n[workload]\nkind = "program"\n'
        'command = ["sh", "./score.sh", "--to={study}/log"]\nscore = { pattern = \'score (\\d+)\' }\n'
        "[plan]\nclients = [1]\nwarm_up_s = 0\ncool_down_s = 0\nblocks = 2\n"
    )
    done = lab.run("run", "s.toml", "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(lab.bundle / "runs" / "0002")
    script.write_text(text.replace("7", "9"))
    for study in ((), ("s.toml",)):
        refused = lab.run("resume", lab.bundle, *study)
        assert refused.returncode == 2
        assert "./score.sh changed since the study began" in refused.stderr
        assert "restore programs" in refused.stderr
    script.write_text(text)
    # the log is the program's own
    resumed = lab.run("resume", lab.bundle)
    assert resumed.returncode == 0, resumed.stderr
    assert list(Bundle(lab.bundle).columns("select score from scores")["score"]) == [7, 7]


def test_factors_may_have_the_names_of_the_labs_own_columns(lab: Lab) -> None:
    factors = "".join(
        f'[factors.{name}]\nscope = "client"\nlevels = {{ A = "{number}00", B = "{number}50" }}\n'
        for number, name in enumerate(("value", "metric", "monitor"), start=1)
    )
    study = lab.folder / "names.toml"
    study.write_text(
        'name = "names"\nquestion = "Which?"\nsubject.kind = "program"\n[workload]\nkind = "program"\n'
        'command = ["sh", "-c", "echo score: $(({value} + {metric} + {monitor}))"]\n'
        'variables = { value = "1", metric = "2", monitor = "3" }\n'
        "score = { pattern = 'score: (\\d+)' }\n"
        f"{factors}[plan]\nclients = [1]\nwarm_up_s = 0\nmeasure_s = 0.1\nblocks = 1\n"
    )
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert lab.run("report", lab.bundle).returncode == 0
