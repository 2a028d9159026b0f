"""The kernel's permissions for this user: sources of measurements, descriptors, capabilities."""

import ctypes
import json
import os
import re
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steelyard import _core
from steelyard.host.finding import Finding, held, privileged
from steelyard.host.kernel import mount_tracefs, new_group, tracefs_folder, with_cause
from steelyard.host.processes.guard import Guard
from steelyard.lab.environment.environment import PROC, read_text
from steelyard.lab.machine.refused_settings import own_slice_ms, refusals
from steelyard.subjects import kinds

# an engine's own, beside one for each client: its pipes, its timers, Python's files
FILES_OF_AN_ENGINE = 24

_IO_URING_SETUP = 425  # the same number on every architecture
_IO_URING_PARAMS_BYTES = 120

# Use of each capability.
_CAPABILITIES = {
    "CAP_PERFMON": "tracepoints: kernel locks, scheduling",
    "CAP_SYSLOG": "names of kernel functions",
    "CAP_SYS_PTRACE": "I/O and symbols of other users' processes",
    "CAP_SYS_ADMIN": "uprobes: waits for latches",
}


def cpu_stalled_us() -> int | None:
    """Time since boot in which a task waited for a CPU; None without pressure stall information."""
    found = re.search(r"^some .*total=(\d+)", read_text(PROC / "pressure/cpu"), re.MULTILINE)
    return int(found[1]) if found else None


def pressure() -> Finding:
    """Whether pressure stall information is available."""
    if cpu_stalled_us() is None:
        return Finding(
            "pressure stall",
            "optional",
            "/proc/pressure cannot be read: waits for CPU, disk and memory are not measured",
            "boot with psi=1 on a kernel with CONFIG_PSI",
        )
    return Finding("pressure stall", "ok", "/proc/pressure can be read")


def open_files() -> Finding:
    """The number of clients that the limit on descriptors permits."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    clients = max(0, soft - FILES_OF_AN_ENGINE)
    text = f"{soft} allowed (hard limit {hard}), {FILES_OF_AN_ENGINE} + clients needed: {clients} clients"
    if clients < 1000:
        return Finding("open files", "warning", text, f"ulimit -n {max(hard, 65_536)}")
    return Finding("open files", "ok", text, "for more clients: ulimit -n 65536")


def io_uring() -> Finding:
    """Whether a trial call of io_uring is permitted."""
    libc = ctypes.CDLL(None, use_errno=True)
    params = ctypes.create_string_buffer(_IO_URING_PARAMS_BYTES)
    fd = int(libc.syscall(_IO_URING_SETUP, 4, params))
    if fd >= 0:
        os.close(fd)
        return Finding("io_uring", "ok", "usable")
    why = os.strerror(ctypes.get_errno())
    if read_text(PROC / "sys/kernel/io_uring_disabled") in ("1", "2"):
        hint = "sudo sysctl kernel.io_uring_disabled=0"
    else:
        hint = "allow it in the container's seccomp profile, or use a kernel from 5.19"
    return Finding("io_uring", "optional", f"refused: {why}; epoll is used instead", hint)


def kernel_probes() -> Iterator[Finding]:
    """Each kernel probe, by a trial."""
    latched = ((kind.name, kind.latch_program()) for kind in kinds())
    name_of_server, program = next((found for found in latched if found[1] is not None), ("", None))
    refused = refused_probes(program)
    for name, use in (
        ("profile", "--profile: where CPU time goes"),
        ("locks", "--locks: waits for kernel locks, by call site"),
        ("sched", "--scheduling-trace: run-queue waits, slices, switches"),
        ("kernel symbols", "names of kernel functions"),
        ("latches", f"sleeps for latches of {name_of_server}, in measured runs"),
    ):
        if name == "latches" and program is None:
            continue
        if (reason := refused.get(name)) is None:
            yield Finding(f"probe: {name}", "ok", f"permitted: {use}")
        else:
            cause, _, hint = reason.rstrip(")").partition(" (")
            yield Finding(f"probe: {name}", "optional", f"{cause}: no {use}", hint)


def refused_probes(program: Path | None) -> dict[str, str]:
    """The kernel probes that this machine and user refuse, each with cause and remedy, by a trial.

    program: a server whose latches can be probed; None: latches are not tried.
    """
    plan: dict[str, Any] = {"profile_hz": 1, "locks": True, "sched": True, "roots": []}
    no_tracefs = mount_tracefs()
    with Guard() as guard:
        if program is not None:
            plan["latches"] = {"program": str(program), "group": new_group()}
            guard.take_away(plan["latches"]["group"])
        probe = _core.Probe(json.dumps(plan))
        refused = {source: with_cause(why, no_tracefs) for source, why in probe.refused}
        probe.finish()
    return refused


def tracefs() -> Finding:
    """Whether tracepoints are available."""
    before = tracefs_folder()
    if not (cause := mount_tracefs()):
        text = f"{before} can be read" if before else "mounted privately by root while a command runs"
        return Finding("tracefs", "ok", text)
    if os.geteuid() == 0:
        hint = f"{privileged('CAP_SYS_ADMIN')}, on a kernel with CONFIG_FTRACE"
    else:
        mount = "mount -t tracefs nodev /sys/kernel/tracing"
        hint = f"sudo {mount}; sudo mount -o remount,mode=755 /sys/kernel/tracing"
    return Finding("tracefs", "optional", f"{cause}: no kernel locks and scheduling", hint)


def host_settings() -> Iterator[Finding]:
    """Each kind of host setting: processes by a trial on a child, files by opening them."""
    cpu = str(min(os.sched_getaffinity(0)))
    own = f"; the kernel's default is {own_slice_ms():g} ms" if own_slice_ms() else ""
    for name, use, settings in (
        ("host: slices", f"slice_ms of 0.1 to 100{own}", {"server.slice_ms": 0.1}),
        ("host: policies", "policy = batch, idle", {"server.policy": "batch"}),
        ("host: real time", "policy = rr, fifo", {"server.policy": "rr"}),
        ("host: nice", "nice, also negative", {"server.nice": -5}),
        ("host: cpus", "cpus = a list", {"server.cpus": cpu}),
        ("host: cpuset", "cpuset = a list", {"server.cpuset": cpu}),
        ("host: weights", "cpu_weight, cpu_quota", {"server.cpu_weight": 100, "server.cpu_quota": 1}),
        ("host: sysctl", "sysctl.NAME", {"sysctl.kernel.sched_rr_timeslice_ms": 1}),
        ("host: huge pages", "thp = always, madvise, never", {"thp": "-"}),
        ("host: base slice", "sched.base_slice_ns", {"sched.base_slice_ns": 0}),
    ):
        refused = next(iter(refusals(settings)), None)
        if refused is None:
            yield Finding(name, "ok", f"permitted: {use}")
        else:
            yield Finding(name, "optional", f"{refused.setting}: {refused.why}", refused.hint)


def capabilities() -> Iterator[Finding]:
    """Each capability that a probe needs."""
    for name, use in _CAPABILITIES.items():
        if held(name):
            yield Finding(name, "ok", f"held, for {use}")
        else:
            yield Finding(
                name,
                "optional",
                f"not held: no {use}",
                privileged(name)
                if os.geteuid() == 0
                else f"{privileged()}, or sudo setcap {name.lower()}+ep $(readlink -f $(command -v python3)):"
                " then everyone who may start that Python has it",
            )
