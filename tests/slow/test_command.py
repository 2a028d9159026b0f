"""Programs that report a score: the shipped study of JVMs, and an interrupted lab."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest
from laboratory import Lab

from steelyard.bundle.reader import Bundle

STUDY = '''\
name = "instances"
question = "Which?"
subject.kind = "program"
[workload]
kind = "program"
command = ["sh", "-c", """setsid PYTHON -c 'import time; time.sleep(987)' & sleep 988; echo bops = 1"""]
score = { pattern = 'bops = (\\d+)' }
[plan]
clients = [1]
'''


def test_nothing_that_a_copy_started_outlives_an_interrupted_lab(lab: Lab) -> None:
    # the child is in a session of its own: neither its parent nor its group leads to it
    (lab.folder / "mine.toml").write_text(STUDY.replace("PYTHON", sys.executable))
    process = lab.start("run", "mine.toml", "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.ours("sleep(987)") or process.poll() is not None, "an instance's child")
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    lab.wait_for(lambda: not lab.ours() and not lab.traces(), f"the end of {lab.ours()} {lab.traces()}")


BETTER = """\
name = "times"
question = "Which is faster?"
subject.kind = "program"
[workload]
kind = "program"
command = ["sh", "-c", "echo took {took} ms"]
variables = { took = 10 }
score = { pattern = 'took (\\d+) ms' }
unit = "ms"
better = "higher"
[factors.took]
scope = "client"
levels = { FAST = 10, SLOW = 30 }
[plan]
clients = [2]
cool_down_s = 0
blocks = 5
"""


def test_the_study_can_say_that_more_is_better(lab: Lab) -> None:
    (lab.folder / "times.toml").write_text(BETTER)
    done = lab.run("run", "times.toml", "--bundle", lab.bundle, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["judgement"]["verdict"]["winner"] == "SLOW"


@pytest.mark.needs("a JDK")
def test_the_warehouses_score_in_as_many_jvms_as_the_study_says(lab: Lab) -> None:
    done = lab.run("studies", "jvm-sets")
    small = done.stdout.replace("warm_up_s = 2", "warm_up_s = 0.2").replace(
        "measure_s = 4", "measure_s = 0.5"
    )
    (lab.folder / "jvm.toml").write_text(small.replace("blocks = 6", "blocks = 1"))
    ran = lab.run("run", "jvm.toml", "--bundle", lab.bundle)
    assert ran.returncode == 0, ran.stderr
    rows = Bundle(lab.bundle).duckdb.execute(
        "select option, point, count(*), min(score) > 0, min(cpu_ns) > 0 from scores"
        " join used_runs using (run) group by option, point order by option, point"
    )
    assert rows.fetchall() == [
        ("default", 0, 1, True, True),
        ("default", 1, 2, True, True),
        ("set", 0, 1, True, True),
        ("set", 1, 2, True, True),
    ]


@pytest.mark.needs("a JDK")
def test_the_warehouses_refuse_what_they_cannot_run(tmp_path: Path) -> None:
    source = resources.files("steelyard.catalog") / "programs" / "Warehouse.java"
    subprocess.run(["javac", "-d", tmp_path, str(source)], check=True)
    for arguments in (
        [],
        ["1", "1"],
        ["1", "x", "1"],
        ["1", "0", "1"],
        ["1", "1", "0"],
        ["1", "1", "1", "0"],
    ):
        command = ["java", "-Xmx96m", "-cp", str(tmp_path), "Warehouse", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "usage: " in done.stderr and not done.stdout, arguments
