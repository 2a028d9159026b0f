"""Checks the permissions of this user and the noise of this machine: findings with remedies."""

import os
import pwd
import shutil
import tempfile
import time
from collections.abc import Iterator

from steelyard.host.cpus.scheduling import place
from steelyard.host.finding import Finding
from steelyard.host.processes.confinement import confinement
from steelyard.lab.doctor import permissions
from steelyard.lab.environment.environment import PROC, Facts, environment, read_text
from steelyard.lab.machine.refused_settings import inherited, limits
from steelyard.quantities import listed
from steelyard.subjects import kinds
from steelyard.subjects.servers.identity import NAME

_GAP_NS_MIN = 50_000  # shorter gaps are timer interrupts and the interpreter itself
_LOST_PERCENT_MAX = 1.0
_STEAL_PERCENT_MAX = 1.0
_LOAD_PER_CPU_MAX = 0.25
_FREE_BYTES_MIN = 2 * 1024**3


def diagnose(jitter_s: float = 2.0) -> list[Finding]:
    """Runs all checks; uses one CPU for jitter_s seconds."""
    facts = environment()
    return [
        *(finding for kind in kinds() for finding in kind.findings()),
        _user(),
        confinement(),
        _cores(),
        *_noise(jitter_s, facts),
        _governor(facts["cpu"]),
        _mitigations(facts["mitigations"]),
        _huge_pages(facts["memory"]),
        _clock(facts["kernel"]),
        _inherited(),
        _temp_folder(facts["storage"]),
        permissions.pressure(),
        permissions.open_files(),
        permissions.io_uring(),
        permissions.tracefs(),
        *permissions.kernel_probes(),
        *permissions.host_settings(),
        *permissions.capabilities(),
    ]


def _user() -> Finding:
    names = {user.pw_uid: user.pw_name for user in pwd.getpwall()}
    if os.geteuid() != 0:
        if os.geteuid() not in names:
            return Finding(
                "user",
                "missing",
                f"user {os.geteuid()} has no name on this machine: servers refuse to run as this user",
                "add the user to /etc/passwd, or run as another user",
            )
        return Finding(
            "user",
            "ok",
            f"{names[os.geteuid()]}: servers start as the same user",
            "nothing to do; only root can change settings of the host",
        )
    exists = NAME in names.values()
    return Finding(
        "user",
        "ok",
        f"root: servers start as the system user {NAME}, because they refuse root",
        "nothing to do" if exists else f"nothing to do; the first study creates the user {NAME}",
    )


def _cores() -> Finding:
    usable = len(os.sched_getaffinity(0))
    if place(1, True).apart:
        return Finding("cores", "ok", f"{usable} usable: server and load engine run on separate CPUs")
    return Finding(
        "cores",
        "warning",
        f"{usable} usable: server and load engine share it, and throughput depends on both",
        "use a machine with 2 cores or more, or rely on CPU per transaction only",
    )


def _noise(jitter_s: float, facts: Facts) -> Iterator[Finding]:
    before, stalled_us = _cpu_ticks(), permissions.cpu_stalled_us()
    lost_percent, worst_ns = _jitter(jitter_s)
    after, stalled_after_us = _cpu_ticks(), permissions.cpu_stalled_us()
    elsewhere = "stop other work here, or use a machine without other work; add blocks to the plan"
    stall = ""
    if stalled_us is not None and stalled_after_us is not None:
        percent = (stalled_after_us - stalled_us) / (jitter_s * 1e4)
        stall = f"; tasks waited for a CPU {percent:.1f} % of the time"
    yield _limited(
        "jitter",
        lost_percent > _LOST_PERCENT_MAX,
        f"a busy loop of {jitter_s:g} s lost {lost_percent:.2f} % of its CPU in gaps over "
        f"{_GAP_NS_MIN // 1000} us; the longest was {worst_ns / 1e6:.2f} ms{stall}",
        elsewhere,
    )
    total, stolen = (b - a for a, b in zip(before, after, strict=True))
    steal = 100 * stolen / total if total else 0.0
    yield _limited(
        "steal",
        steal > _STEAL_PERCENT_MAX,
        f"{steal:.1f} % of the CPU went to other guests of the host",
        "use dedicated CPUs; rely on CPU per transaction more than on throughput",
    )
    load = float(facts["load at start"].get("average_1_min", 0.0))
    cpus = os.cpu_count() or 1
    yield _limited(
        "load",
        load / cpus > _LOAD_PER_CPU_MAX,
        f"load average {load:.2f} on {cpus} CPU{'s' * (cpus != 1)} over the last minute",
        elsewhere,
    )


def _limited(name: str, beyond: bool, text: str, hint: str) -> Finding:
    return Finding(name, "warning", text, hint) if beyond else Finding(name, "ok", text)


def _jitter(seconds: float) -> tuple[float, int]:
    """A busy loop's percentage of time in gaps, and its longest gap in ns."""
    begin = last = time.perf_counter_ns()
    end = begin + int(seconds * 1e9)
    lost = worst = 0
    while last < end:
        now = time.perf_counter_ns()
        gap = now - last
        if gap > _GAP_NS_MIN:
            lost += gap
            worst = max(worst, gap)
        last = now
    return 100 * lost / max(1, last - begin), worst


def _cpu_ticks() -> tuple[int, int]:
    """Ticks of all modes and all CPUs, and those stolen among them."""
    ticks = [int(field) for field in read_text(PROC / "stat").partition("\n")[0].split()[1:9]]
    return sum(ticks), ticks[7] if len(ticks) > 7 else 0


def _governor(cpu: Facts) -> Finding:
    governor = cpu.get("governor")
    if governor is None:
        return Finding(
            "governor",
            "ok",
            "no frequency control visible: a virtual machine, or a fixed frequency",
            "nothing to do; for a virtual machine, prefer a host with fixed-frequency CPUs",
        )
    if governor == "performance":
        return Finding("governor", "ok", "performance")
    return Finding(
        "governor",
        "warning",
        f"{governor}: the clock follows the load, which favours the option that runs hotter",
        "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    )


def _mitigations(found: Facts) -> Finding:
    active = found.get("active", "")
    text = f"active: {active}" if active else "none active"
    if exposed := found.get("vulnerable"):
        text += f"; vulnerable: {exposed}"
    return Finding(
        "mitigations", "ok", text, "compare only machines that agree in it (boot option mitigations=)"
    )


def _huge_pages(memory: Facts) -> Finding:
    setting = memory.get("transparent_huge_pages", "not in this kernel")
    if setting == "always":
        return Finding(
            "huge pages",
            "warning",
            "transparent huge pages: always; creating and splitting them disturbs latency",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        )
    return Finding("huge pages", "ok", f"transparent huge pages: {setting}")


def _clock(kernel: Facts) -> Finding:
    source = kernel.get("clock_source", "unknown")
    if source in ("tsc", "kvm-clock", "arch_sys_counter"):
        return Finding("clock", "ok", f"{source}: read without a system call")
    hint = "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
    return Finding("clock", "warning", f"{source}: each reading of the time may be a system call", hint)


def _inherited() -> Finding:
    hint = "start it from a plain shell outside the container, or give the container whole CPUs"
    return _limited("inherited", any(limits()), listed(inherited()) or "nothing", hint)


def _temp_folder(storage: Facts) -> Finding:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    kind = storage.get("filesystem", "unknown filesystem")
    text = f"{folder}: {kind} on {storage.get('device', '?')}, {free / 1024**3:.1f} GiB free"
    other = "TMPDIR=/path/on/a/disk steelyard run ..."
    if free < _FREE_BYTES_MIN:
        return Finding("temporary files", "warning", text + "; a study may fill it up", other)
    if kind in ("tmpfs", "ramfs"):
        return Finding("temporary files", "warning", text + "; commits cost nothing there", other)
    return Finding("temporary files", "ok", text, f"elsewhere: {other}")
