"""The process that draws: it ends with its parent, and its end is said in the place of the page."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from laboratory import Lab

from damage import make_bundle

PARENT = "from steelyard.report.drawing import start; print(start().pid, flush=True); input()"


def test_it_ends_with_a_killed_parent() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    Lab(Path.cwd()).wait_for(lambda: not running(child), "the end of the process that draws")


def running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("said", ["", "os.write(1, b'100\\n<svg')\n"])
def test_a_page_that_nothing_draws_is_said_not_to_be_written(tmp_path: Path, said: str) -> None:
    make_bundle(tmp_path / "b")
    (tmp_path / "vl_convert.py").write_text(f"import os\n{said}os._exit(7)\n")
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "steelyard.cli",
            "report",
            str(tmp_path / "b"),
            "--images",
            str(tmp_path / "i"),
        ],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "throughput" in done.stdout
    assert done.stderr.count("the process that draws ended with exit code 7") == 2, done.stderr
