"""Studies whose programs and servers leave processes behind, and ends of such studies."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from itertools import count

import pytest
from laboratory import ENGINE, Lab
from processes import running

_numbers = count(70_000_000 + os.getpid() * 10)
STUDY = """\
name = "left"
question = "?"
subject = {{ kind = "program" }}
plan = {{ clients = [1], warm_up_s = 0, cool_down_s = 0, blocks = 1 }}

[workload]
kind = "program"
{prepare}command = ["sh", "-c", '''{line}''']
variables = {{ v = "" }}
score = {{ pattern = 'score (\\d+)' }}

[factors.v]
scope = "client"
levels = {{ A = "5", B = "9" }}
"""
# the instance waits until the test has seen the process that it leaves behind
WAIT = "while [ ! -e seen ]; do sleep 0.02; done"
ENDINGS = {
    "normal": f"{WAIT}; echo score {{v}}",
    "failed": f"{WAIT}; exit {{v}}",
    "Ctrl-C": "sleep 60 # {v}",
    "kill -9": "sleep 60 # {v}",
}
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0 or shutil.which("su") is None, reason="only root has su")
CLEARED = pytest.param("setsid env -i {} > /dev/null 2>&1 &", id="cleared environment")
# `su` reads its limits anew where PAM says so: only the parent of the orphan is left to know it by
SU = pytest.param(
    "su - nobody -s /bin/sh -c 'setsid {} > /dev/null 2>&1 &' < /dev/null", id="su", marks=AS_ROOT
)


@pytest.fixture
def sleeper() -> Iterator[str]:
    """A command that nobody else runs."""
    command = f"sleep {next(_numbers)}"
    yield command
    for pid in running(command):
        os.kill(pid, signal.SIGKILL)


def started(lab: Lab, sleeper: str) -> subprocess.Popen[str]:
    """The study s.toml, in a run that has left a process behind and written the file `left`."""
    place = lab.folder / "left"
    process = lab.start("run", "s.toml", "--bundle", lab.bundle)
    # the check before the first run executes statements of scripts too
    lab.wait_for(
        lambda: (place.exists() and lab.ours(ENGINE) and running(sleeper)) or process.poll() is not None,
        "a process that is left behind",
    )
    assert process.poll() is None, process.communicate()
    return process


def end(lab: Lab, process: subprocess.Popen[str], ending: str, sleeper: str) -> None:
    """Ends a study that has left a process behind; nothing of it remains."""
    (lab.folder / "seen").touch()
    if ending in ("Ctrl-C", "kill -9"):
        process.send_signal(signal.SIGINT if ending == "Ctrl-C" else signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert (process.returncode == 0) == (ending == "normal"), err
    if ending == "kill -9":
        lab.wait_for(lambda: not lab.ours(), "the end of engine and guard")
    assert not running(sleeper)


def check_escape_from_instance(lab: Lab, sleeper: str, ending: str, escape: str) -> None:
    lab.folder.joinpath("escape.sh").write_text(f"{escape.format(sleeper)}\n")
    line = f"sh escape.sh; touch left; {ENDINGS[ending]}"
    (lab.folder / "s.toml").write_text(STUDY.format(prepare="", line=line))
    end(lab, started(lab, sleeper), ending, sleeper)


def check_left_by_prepare(lab: Lab, sleeper: str, ending: str) -> None:
    # its output is not redirected: prepare does not wait for it
    prepare = f"prepare = ['sh', '-c', 'setsid env -i {sleeper} & echo $! > left']\n"
    # `left` names setsid, which becomes the sleeper: the second option finds it too
    line = f"kill -0 $(cat left) || exit 1; {ENDINGS[ending]}"
    (lab.folder / "s.toml").write_text(STUDY.format(prepare=prepare, line=line))
    end(lab, started(lab, sleeper), ending, sleeper)


SERVER = """\
name = "left"
question = "?"
subject.kind = "postgres"
plan = {{ clients = [1], warm_up_s = 0, cool_down_s = 0, measure_s = {measure_s}, blocks = 1 }}
[workload]
kind = "pgbench"
script = ["left.sql"]
"""


def study_of_a_server(lab: Lab, sleeper: str, measure_s: int = 60) -> None:
    shell = f"setsid env -i {sleeper} > /dev/null 2>&1 &"
    (lab.folder / "left.sql").write_text(f"copy (select 1) to program '{shell}';\nselect pg_sleep(0.5);\n")
    (lab.folder / "left").touch()
    (lab.folder / "s.toml").write_text(SERVER.format(measure_s=measure_s))


def check_escape_from_server(lab: Lab, sleeper: str, ending: str) -> None:
    study_of_a_server(lab, sleeper, 2 if ending == "normal" else 60)
    end(lab, started(lab, sleeper), ending, sleeper)
