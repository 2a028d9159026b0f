"""The environment of a run: the machine, and the version of Steelyard."""

import os
import platform
import re
import resource
import shutil
import subprocess
from pathlib import Path
from typing import Any

from steelyard.host.cpus.control_group import around
from steelyard.host.kernel import chosen
from steelyard.lab.environment.redaction import redact
from steelyard.version import VERSION, commit

PROC, _SYS = Path("/proc"), Path("/sys")
_PACKAGE = Path(__file__).parents[2]
Facts = dict[str, Any]

_SUBPROCESS_S = 5.0
_SCHEDULER_SETTINGS = (
    "sched_autogroup_enabled sched_cfs_bandwidth_slice_us sched_rt_runtime_us sched_rr_timeslice_ms"
    " sched_schedstats sched_energy_aware numa_balancing timer_migration"
)
_MEMORY_SETTINGS = "swappiness overcommit_memory dirty_ratio dirty_background_ratio nr_hugepages"
_HUGE_PAGES = (
    "transparent_huge_pages:enabled transparent_huge_pages_defrag:defrag"
    " transparent_huge_pages_shared:shmem_enabled"
)


def read_text(path: Path) -> str:
    """The stripped text of a small file; '' when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _texts(folder: Path, names: str) -> dict[str, str]:
    """Facts by name, of files in a folder. names: with spaces between them, `name:file` where they differ."""
    files = (one.partition(":") for one in names.split())
    return {name: read_text(folder / (file or name)) for name, _, file in files}


def _known(facts: Facts) -> Facts:
    return {name: fact for name, fact in facts.items() if fact not in ("", None, {}, [])}


def _output(*command: str) -> str | None:
    """The stripped output of a program; None when it is not installed or fails."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SUBPROCESS_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _cpu_facts() -> Facts:
    info = read_text(PROC / "cpuinfo")
    cpus = sorted((_SYS / "devices/system/cpu").glob("cpu[0-9]*"), key=lambda p: int(p.name[3:]))
    topology = [_place(cpu) for cpu in cpus if (cpu / "topology").is_dir()]
    policy = cpus[0] / "cpufreq" if cpus else _SYS
    return {
        "model": _field(info, "model name") or _field(info, "Processor") or platform.processor(),
        "microcode": _field(info, "microcode"),
        "architecture": platform.machine(),
        "cpus_online": os.cpu_count(),
        "cpus_usable": len(os.sched_getaffinity(0)),
        "cores": len({(place["package"], place["core"]) for place in topology}) or None,
        "sockets": len({place["package"] for place in topology}) or None,
        "smt": {"1": "on", "0": "off"}.get(read_text(_SYS / "devices/system/cpu/smt/active"), ""),
        "numa_nodes": len(list((_SYS / "devices/system/node").glob("node[0-9]*"))) or None,
        **_texts(policy, "governor:scaling_governor frequency_driver:scaling_driver"),
        "frequency_khz_min": _number(read_text(policy / "cpuinfo_min_freq")),
        "frequency_khz_max": _number(read_text(policy / "cpuinfo_max_freq")),
        "turbo_off": read_text(_SYS / "devices/system/cpu/intel_pstate/no_turbo"),
        "caches": _caches(cpus[0]) if cpus else {},
        "topology": topology,
    }


def _place(cpu: Path) -> Facts:
    return {
        "cpu": int(cpu.name[3:]),
        **_texts(cpu / "topology", "core:core_id package:physical_package_id siblings:thread_siblings_list"),
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


def _field(text: str, name: str) -> str:
    """The value of `name : value` in a listing; empty when absent."""
    found = re.search(rf"^{re.escape(name)}\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def kernel_facts() -> Facts:
    """Release, command line, clock, scheduler."""
    preempt = re.search(r"PREEMPT\w*", platform.version())
    return {
        "release": read_text(PROC / "sys/kernel/osrelease") or platform.release(),
        "build": platform.version(),
        "preemption": preempt[0] if preempt else "",
        "cmdline": read_text(PROC / "cmdline"),
        **_texts(
            _SYS / "devices/system/clocksource/clocksource0",
            "clock_source:current_clocksource clock_sources:available_clocksource",
        ),
        "isolated_cpus": read_text(_SYS / "devices/system/cpu/isolated"),
        "scheduler": _known(_texts(PROC / "sys/kernel", _SCHEDULER_SETTINGS)),
    }


def mitigation_facts() -> Facts:
    """The kernel's mitigations of CPU vulnerabilities."""
    folder = _SYS / "devices/system/cpu/vulnerabilities"
    found = {path.name: read_text(path) for path in sorted(folder.glob("*"))}
    active = [name for name, text in found.items() if text.startswith("Mitigation")]
    exposed = [name for name, text in found.items() if text.startswith("Vulnerable")]
    return {"active": ", ".join(active), "vulnerable": ", ".join(exposed), "vulnerabilities": found}


def virtualization_facts() -> Facts:
    """Hypervisor, container, and the limits of the lab's control groups."""
    flags = _field(read_text(PROC / "cpuinfo"), "flags").split()
    return {
        "hypervisor": "yes" if "hypervisor" in flags else "no" if flags else "",
        "machine": _output("systemd-detect-virt", "--vm"),
        "container": _output("systemd-detect-virt", "--container"),
        **_texts(_SYS / "class/dmi/id", "vendor:sys_vendor product:product_name"),
        **_cgroup_limits(),
    }


def _cgroup_limits() -> Facts:
    """The tightest limits on CPU and memory of the lab's control groups, versions 1 and 2."""
    cpus: list[float] = []
    memory_bytes: list[int] = []
    for folder in around("cpu", PROC, _SYS):
        quota, _, period = read_text(folder / "cpu.max").partition(" ")
        quota = quota or read_text(folder / "cpu.cfs_quota_us")
        period = period or read_text(folder / "cpu.cfs_period_us")
        if quota.isdigit() and period.isdigit():
            cpus.append(int(quota) / int(period))
    for folder in around("memory", PROC, _SYS):
        for name in ("memory.max", "memory.limit_in_bytes"):
            limit = _number(read_text(folder / name))
            if limit is not None and limit < 2**60:  # version 1 writes "none" as a huge number
                memory_bytes.append(limit)
    return {
        "cgroup_cpus_limit": min(cpus, default=None),
        "cgroup_memory_limit_bytes": min(memory_bytes, default=None),
    }


def environment() -> Facts:
    """Facts in groups, as JSON types, secrets removed; unreadable facts are left out."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    facts = {
        "steelyard": {
            "version": VERSION,
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            **commit(_PACKAGE),
        },
        "cpu": _cpu_facts(),
        "kernel": kernel_facts(),
        "mitigations": mitigation_facts(),
        "virtualization": virtualization_facts(),
        "memory": _memory(),
        "load at start": _load(),
        "storage": _storage(),
        "limits": {"open_files_soft": soft, "open_files_hard": hard},
    }
    return redact({group: _known(found) for group, found in facts.items()})


def _memory() -> Facts:
    info = read_text(PROC / "meminfo")
    huge = _SYS / "kernel/mm/transparent_hugepage"

    def size_bytes(name: str) -> int | None:
        kb = _number(_field(info, name).removesuffix(" kB"))
        return None if kb is None else kb * 1024

    return {
        "total_bytes": size_bytes("MemTotal"),
        "available_bytes": size_bytes("MemAvailable"),
        "swap_total_bytes": size_bytes("SwapTotal"),
        "page_bytes": os.sysconf("SC_PAGE_SIZE"),
        **{name: chosen(text) for name, text in _texts(huge, _HUGE_PAGES).items()},
        **_texts(PROC / "sys/vm", _MEMORY_SETTINGS),
    }


def _load() -> Facts:
    load = read_text(PROC / "loadavg").split()
    facts: Facts = dict(zip(("average_1_min", "average_5_min"), map(float, load[:2]), strict=False))
    for resource_name in ("cpu", "io", "memory"):
        if stalled := re.search(r"some avg10=([\d.]+)", read_text(PROC / "pressure" / resource_name)):
            facts[f"{resource_name}_stalled_percent_10_s"] = float(stalled[1])
    return facts


def _storage() -> Facts:
    """Of the servers' data: the folder for temporary files."""
    data_dir = Path(os.environ.get("TMPDIR", "/tmp"))
    facts: Facts = {"data_dir": str(data_dir)}
    try:
        facts["free_bytes"] = shutil.disk_usage(data_dir).free
        place = str(data_dir.resolve())
    except OSError:
        return facts
    best = ""
    for line in read_text(PROC / "self/mounts").splitlines():
        source, mount, kind, options, *_ = line.split(" ")
        mount = mount.replace("\\040", " ")
        inside = place == mount or place.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):  # of equal mount points the last one mounted is visible
            best = mount
            facts.update(mount=mount, device=source, filesystem=kind, options=options)
    if queue := _queue(str(facts.get("device", ""))):
        facts["device_scheduler"] = chosen(read_text(queue / "scheduler"))
        facts |= _texts(queue, "device_rotational:rotational device_write_cache:write_cache")
    return facts


def _queue(device: str) -> Path | None:
    # of a partition: that of its disk
    here = _SYS / "class/block" / Path(device).name
    if not device.startswith("/dev/") or not here.exists():
        return None
    queues = (folder / "queue" for folder in (here, here.resolve().parent))
    return next(filter(Path.is_dir, queues), None)
