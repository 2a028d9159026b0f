"""The machine's CPUs, kernel and limits, from /proc and /sys."""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SUBPROCESS_S = 5.0
_SCHEDULER_SETTINGS = (
    "sched_autogroup_enabled",
    "sched_cfs_bandwidth_slice_us",
    "sched_rt_runtime_us",
    "sched_rr_timeslice_ms",
    "sched_schedstats",
    "sched_energy_aware",
    "numa_balancing",
    "timer_migration",
)


def read_text(path: Path) -> str:
    """The stripped text of a small file; '' when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def known(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts without unknown ones."""
    return {name: fact for name, fact in facts.items() if fact not in ("", None, {}, [])}


def output(*command: str) -> str | None:
    """The stripped output of a program; None when it is not installed or fails."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SUBPROCESS_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def cpu_facts(proc: Path, sys: Path) -> dict[str, Any]:
    """Model, cores, frequency, caches, topology."""
    info = read_text(proc / "cpuinfo")
    cpus = sorted((sys / "devices/system/cpu").glob("cpu[0-9]*"), key=lambda p: int(p.name[3:]))
    topology = [_place(cpu) for cpu in cpus if (cpu / "topology").is_dir()]
    policy = cpus[0] / "cpufreq" if cpus else sys
    smt = read_text(sys / "devices/system/cpu/smt/active")
    return {
        "model": field(info, "model name") or field(info, "Processor") or platform.processor(),
        "microcode": field(info, "microcode"),
        "architecture": platform.machine(),
        "cpus_online": os.cpu_count(),
        "cpus_usable": len(os.sched_getaffinity(0)),
        "cores": len({(place["package"], place["core"]) for place in topology}) or None,
        "sockets": len({place["package"] for place in topology}) or None,
        "smt": {"1": "on", "0": "off"}.get(smt, ""),
        "numa_nodes": len(list((sys / "devices/system/node").glob("node[0-9]*"))) or None,
        "governor": read_text(policy / "scaling_governor"),
        "frequency_driver": read_text(policy / "scaling_driver"),
        "frequency_khz_min": number(read_text(policy / "cpuinfo_min_freq")),
        "frequency_khz_max": number(read_text(policy / "cpuinfo_max_freq")),
        "turbo_off": read_text(sys / "devices/system/cpu/intel_pstate/no_turbo"),
        "caches": _caches(cpus[0]) if cpus else {},
        "topology": topology,
    }


def _place(cpu: Path) -> dict[str, Any]:
    topology = cpu / "topology"
    return {
        "cpu": int(cpu.name[3:]),
        "core": read_text(topology / "core_id"),
        "package": read_text(topology / "physical_package_id"),
        "siblings": read_text(topology / "thread_siblings_list"),
        "node": next((node.name[4:] for node in cpu.glob("node[0-9]*")), ""),
    }


def _caches(cpu: Path) -> dict[str, str]:
    caches: dict[str, str] = {}
    for index in sorted((cpu / "cache").glob("index*")):
        level, kind = read_text(index / "level"), read_text(index / "type")
        suffix = {"Data": "d", "Instruction": "i"}.get(kind, "")
        shared = read_text(index / "shared_cpu_list")
        caches[f"L{level}{suffix}"] = f"{read_text(index / 'size')}, CPUs {shared}"
    return caches


def field(text: str, name: str) -> str:
    """The value of `name : value` in a listing; empty when absent."""
    found = re.search(rf"^{re.escape(name)}\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def number(text: str) -> int | None:
    """A whole number, None for any other text."""
    return int(text) if text.isdigit() else None


def kernel_facts(proc: Path, sys: Path) -> dict[str, Any]:
    """Release, command line, clock, scheduler."""
    clock = sys / "devices/system/clocksource/clocksource0"
    settings = {name: read_text(proc / "sys/kernel" / name) for name in _SCHEDULER_SETTINGS}
    preempt = re.search(r"PREEMPT\w*", platform.version())
    return {
        "release": read_text(proc / "sys/kernel/osrelease") or platform.release(),
        "build": platform.version(),
        "preemption": preempt[0] if preempt else "",
        "cmdline": read_text(proc / "cmdline"),
        "clock_source": read_text(clock / "current_clocksource"),
        "clock_sources": read_text(clock / "available_clocksource"),
        "isolated_cpus": read_text(sys / "devices/system/cpu/isolated"),
        "scheduler": known(settings),
    }


def mitigation_facts(sys: Path) -> dict[str, Any]:
    """The kernel's mitigations of CPU vulnerabilities."""
    folder = sys / "devices/system/cpu/vulnerabilities"
    found = {path.name: read_text(path) for path in sorted(folder.glob("*"))}
    active = [name for name, text in found.items() if text.startswith("Mitigation")]
    exposed = [name for name, text in found.items() if text.startswith("Vulnerable")]
    return {"active": ", ".join(active), "vulnerable": ", ".join(exposed), "vulnerabilities": found}


def virtualization_facts(proc: Path, sys: Path) -> dict[str, Any]:
    """Hypervisor, container, and the limits of the lab's control groups."""
    flags = field(read_text(proc / "cpuinfo"), "flags").split()
    dmi = sys / "class/dmi/id"
    return {
        "hypervisor": "yes" if "hypervisor" in flags else "no" if flags else "",
        "machine": output("systemd-detect-virt", "--vm"),
        "container": output("systemd-detect-virt", "--container"),
        "vendor": read_text(dmi / "sys_vendor"),
        "product": read_text(dmi / "product_name"),
        **_cgroup_limits(proc, sys),
    }


def _cgroup_limits(proc: Path, sys: Path) -> dict[str, Any]:
    """The tightest limits on CPU and memory of the lab's control groups, versions 1 and 2."""
    cpus: list[float] = []
    memory_bytes: list[int] = []
    for line in read_text(proc / "self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for folder in _ancestors(sys / "fs/cgroup" / controllers.removeprefix("name="), path):
            quota, _, period = read_text(folder / "cpu.max").partition(" ")
            quota = quota or read_text(folder / "cpu.cfs_quota_us")
            period = period or read_text(folder / "cpu.cfs_period_us")
            if quota.isdigit() and period.isdigit():
                cpus.append(int(quota) / int(period))
            for name in ("memory.max", "memory.limit_in_bytes"):
                limit = number(read_text(folder / name))
                if limit is not None and limit < 2**60:  # version 1 writes "none" as a huge number
                    memory_bytes.append(limit)
    return {
        "cgroup_cpus_limit": min(cpus, default=None),
        "cgroup_memory_limit_bytes": min(memory_bytes, default=None),
    }


def _ancestors(root: Path, path: str) -> Iterator[Path]:
    parts = [part for part in path.split("/") if part not in ("", "..")]
    for n in range(len(parts), -1, -1):
        yield root.joinpath(*parts[:n])
