"""Calibration: believable numbers are kept, others refused by name."""

from __future__ import annotations

import json
from pathlib import Path

from laboratory import Lab


def test_the_command_measures_this_machine(tmp_path: Path) -> None:
    done = Lab(tmp_path).run("calibrate", "--quick", "--repetitions", "5", "--json")
    # a noisy machine may have its numbers refused: then it says so, and ends with 1
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert [cost["size_bytes"] for cost in found["switches"]] == [
        4 << 10,
        16 << 10,
        64 << 10,
        256 << 10,
        1 << 20,
    ]
    assert all(cost["verdict"] == "accepted" or cost["cause"] for cost in found["switches"])
    assert (done.returncode == 1) == (found["direct"] is None or found["memory_latency"] is None)


def test_a_cpu_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    done = Lab(tmp_path).run("calibrate", "--cpu", "4095")
    assert done.returncode == 2 and "CPU 4095 is not permitted here" in done.stderr
