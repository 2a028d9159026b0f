"""A small study of settings of the host, and one that changes a setting between turns."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from laboratory import ENGINE, Lab, alone

from steelyard.host.kernel import value_of, write
from steelyard.lab.machine.refused_settings import refusals

AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")
AUTOGROUP_KEY = "sysctl.kernel.sched_autogroup_enabled"

STUDY = """\
name = "host"
question = "Which way?"

[subject]
kind = "{subject}"

[workload]
rows = 1000

[host]
{fixed}

[factors.schedule]
scope = "host"
[factors.schedule.levels]
{levels}

[plan]
clients = [2]
warm_up_s = 0.1
measure_s = {measure_s}
cool_down_s = 0.1
blocks = {blocks}

[monitors]
processes = 5
"""
SLICES = """
A = { server.slice_ms = 0.1, engine.slice_ms = 5 }
B = { server.slice_ms = 20, engine.slice_ms = 5 }
"""


def study_text(
    levels: str = SLICES, fixed: str = "", subject: str = "null", blocks: int = 1, measure_s: float = 0.3
) -> str:
    return STUDY.format(levels=levels, fixed=fixed, subject=subject, blocks=blocks, measure_s=measure_s)


def in_short_turns(text: str) -> str:
    """A study whose options take turns of 50 ms."""
    return text.replace("blocks =", "turn_ms = 50\nblocks =")


def is_as_before(lab: Lab, kind: signal.Signals | None) -> None:
    """kernel.sched_autogroup_enabled changes between turns, and has its old value however the lab ends."""
    if not AUTOGROUP.exists() or list(refusals({AUTOGROUP_KEY: "0"})):
        pytest.skip("kernel.sched_autogroup_enabled cannot be changed here")
    with alone():
        before = value_of(AUTOGROUP)
        try:
            _changed_in_turns(lab, kind)
            assert value_of(AUTOGROUP) == before
        finally:
            if value_of(AUTOGROUP) != before:
                write(AUTOGROUP, before)


def _changed_in_turns(lab: Lab, kind: signal.Signals | None) -> None:
    levels = f"A = {{ {AUTOGROUP_KEY} = 0 }}\nB = {{ {AUTOGROUP_KEY} = 1 }}"
    path = lab.folder / "study.toml"
    path.write_text(in_short_turns(study_text(levels, blocks=2, measure_s=2)))
    process = lab.start("run", path, "--bundle", lab.bundle)
    seen: set[str] = set()

    def both() -> bool:
        seen.add(value_of(AUTOGROUP))
        return seen == {"0", "1"}

    lab.wait_for(lambda: len(lab.ours(ENGINE)) == 2, "two engines")
    lab.wait_for(both, "both values")
    if kind is not None:
        process.send_signal(kind)
    process.communicate(timeout=120)
    lab.wait_for(lambda: not lab.ours(), f"the end of {lab.ours()}")
