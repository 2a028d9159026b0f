"""Settings of the kernel that are changed together: how a test changes them, and what must be as before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from host_study import study_text
from laboratory import Lab, alone
from machine_state import changes, state

from steelyard.host.cpus.scheduling import Placement
from steelyard.host.kernel import settle, value_of, write
from steelyard.host.processes.guard import Guard
from steelyard.lab.machine.host_settings import Host
from steelyard.study.kernel_files import coupled
from steelyard.study.key_types import Setting
from steelyard.study.study import Option
from steelyard.study.workloads.statements import StatementWorkload

CPUS = frozenset(os.sched_getaffinity(0))
ENGINE = "steelyard.lab.engines.process"
SYS = Path("/proc/sys")
BYTES, RATIO = "vm/dirty_bytes", "vm/dirty_ratio"
KBYTES, COMMIT = "vm/overcommit_kbytes", "vm/overcommit_ratio"
FORWARD, REDIRECTS = "net/ipv4/ip_forward", "net/ipv4/conf/all/accept_redirects"
HIGH, LOW = "net/ipv4/ipfrag_high_thresh", "net/ipv4/ipfrag_low_thresh"
LEVELS = """
[factors.schedule.levels.A]
sysctl = { vm.dirty_bytes = 67108864, vm.dirty_background_ratio = 5, vm.overcommit_kbytes = 8000000 }
[factors.schedule.levels.B]
sysctl = { vm.dirty_ratio = 30, vm.dirty_background_bytes = 33554432, vm.overcommit_ratio = 60 }
"""
FIXED = """
sysctl.net.ipv4.conf.default.rp_filter = 2
sysctl.net.ipv4.ip_forward = {forward}
server.cpu_weight = 50
"""


needs_root = pytest.mark.skipif(not os.access(SYS / KBYTES, os.W_OK), reason="kernel settings need root")


def option(settings: dict[str, Setting]) -> Option:
    host = {f"sysctl.{name}": value for name, value in settings.items()}
    return Option("X", {}, StatementWorkload(), host=host)


def of(*names: str) -> list[str]:
    return [value_of(SYS / name) for name in names]


PAIRS = [
    (BYTES, "268435456", "67108864"),
    (RATIO, "20", "5"),
    ("vm/dirty_background_bytes", "134217728", "33554432"),
    ("vm/dirty_background_ratio", "10", "3"),
    (KBYTES, "9000000", "8000000"),
    (COMMIT, "50", "60"),
]


@contextmanager
def kept_machine() -> Generator[dict[str, str]]:
    """All values; a test that leaves others fails, and they are put back."""
    with alone():
        before = state()
        yield before
        different = changes(before, state())
        settle({Path(path): old for path, (old, _) in different.items()})
        assert not different


def change_and_end(name: str, new: str, by_guard: bool) -> None:
    """Changes a setting, and ends as a study does, or by kill -9."""
    if by_guard:
        # the guard has this output too: it ends when both are gone
        command = [sys.executable, "-c", _KILLED_WITH_A_SETTING, name, new]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60, check=False)
        assert done.stdout.split() == new.split()
    else:
        with Guard() as guard:
            host = Host(guard, Placement(CPUS, CPUS))
            host.change(option({name: new}))
            assert of(name) == [new]
            host.restore()


_KILLED_WITH_A_SETTING = """
import os, signal, sys
from pathlib import Path
from steelyard.host.cpus.scheduling import Placement
from steelyard.host.processes.guard import Guard
from steelyard.lab.machine.host_settings import Host
from steelyard.study.study import Option
from steelyard.study.workloads.statements import StatementWorkload

name, new = sys.argv[1:]
host = Host(Guard(), Placement({0}, {0}))
host.change(Option("X", {}, StatementWorkload(), host={f"sysctl.{name}": new}))
print(Path("/proc/sys", name).read_text(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def check_pair(active: str, old: str, by_guard: bool) -> None:
    """A pair of settings has its old values again, whichever of them was active."""
    as_found = {path: value_of(path) for path in coupled(SYS / active)}
    write(SYS / active, old)
    before = state()
    try:
        assert sorted(value_of(path) for path in as_found) == sorted(("0", old))
        for name, _, new in PAIRS:
            if SYS / name in as_found:
                change_and_end(name, new, by_guard)
                assert not changes(before, state())
    finally:
        settle(as_found)


def check_copies(name: str, copy: str, before: str, by_guard: bool) -> None:
    """A setting that the kernel copies elsewhere leaves no copy."""
    if not all((SYS / file).exists() for file in (name, copy)):
        pytest.skip("this kernel has no such setting")
    old, as_found = of(name, copy)
    if "congestion" in name:
        known = value_of(SYS / "net/ipv4/tcp_available_congestion_control").split()
        new = next((word for word in known if word not in as_found), known[-1])
    else:
        new = str(1 - int(old) if old in "01" else int(old) * 2)
    try:
        settle({SYS / copy: before or as_found})
        found = state()
        change_and_end(name, new, by_guard)
        assert not changes(found, state())
    finally:
        settle({SYS / name: old, SYS / copy: as_found})


def check_end(lab: Lab, end: str | signal.Signals) -> None:
    """The machine is as before, however a study ends."""
    ratio = value_of(SYS / "vm/dirty_background_ratio")
    write(SYS / "vm/dirty_background_bytes", "268435456")
    try:
        before = state()
        study = lab.folder / "s.toml"
        fixed = FIXED.format(forward=1 - int(value_of(SYS / FORWARD)))
        measure_s = 0.2 if isinstance(end, str) else 20
        study.write_text(study_text(LEVELS, fixed, measure_s=measure_s))
        more = ["--dry-run"] if end == "dry run" else []
        process = lab.start("run", study, "--bundle", lab.bundle, *more)
        if isinstance(end, signal.Signals):
            lab.wait_for(lambda: lab.ours(ENGINE), "a run under load")
            assert {SYS / COMMIT, SYS / REDIRECTS} <= {Path(path) for path in changes(before, state())}
            process.send_signal(end)
        _, err = process.communicate(timeout=120)
        assert isinstance(end, signal.Signals) or process.returncode == 0, err
        assert "left out" not in err
        lab.wait_for(lambda: not lab.ours(), f"the end of {lab.ours()}")
        assert not changes(before, state())
    finally:
        write(SYS / "vm/dirty_background_ratio", ratio)
