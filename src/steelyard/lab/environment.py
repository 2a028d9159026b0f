"""The machine, the server and ourselves as found: what a reader needs to judge a result."""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steelyard import __version__
from steelyard.lab.redaction import redact

__all__ = ["environment", "read_text", "redact", "server_environment"]

_PROC, _SYS = Path("/proc"), Path("/sys")
_SUBPROCESS_S = 5.0

_SCHEDULER_KNOBS = (
    "sched_autogroup_enabled",
    "sched_cfs_bandwidth_slice_us",
    "sched_rt_runtime_us",
    "sched_rr_timeslice_ms",
    "sched_schedstats",
    "sched_energy_aware",
    "numa_balancing",
    "timer_migration",
)
_MEMORY_KNOBS = (
    "swappiness",
    "overcommit_memory",
    "dirty_ratio",
    "dirty_background_ratio",
    "nr_hugepages",
)


def environment(data_dir: Path | None = None, proc: Path = _PROC, sys: Path = _SYS) -> dict[str, Any]:
    """Facts in groups, fit for JSON, secrets removed; what cannot be read is left out.

    data_dir: where servers keep their data; default: the folder for temporary files.
    """
    facts = {
        "steelyard": _ourselves(),
        "cpu": _cpu(proc, sys),
        "kernel": _kernel(proc, sys),
        "mitigations": _mitigations(sys),
        "virtualization": _virtualization(proc, sys),
        "memory": _memory(proc, sys),
        "load at start": _load(proc),
        "storage": _storage(data_dir or Path(os.environ.get("TMPDIR", "/tmp")), proc, sys),
        "limits": _limits(),
    }
    return redact({group: _known(found) for group, found in facts.items()})


def server_environment(dsn: str) -> dict[str, Any]:
    """A PostgreSQL's version and every setting that our user may see, secrets removed.

    settings: name to value with its unit, as SHOW gives it. sources: name to where it was set.
    Raises psycopg.Error when it cannot be asked.
    """
    import psycopg

    with psycopg.connect(dsn, autocommit=True, connect_timeout=5) as connection:
        version = connection.execute("select version()").fetchone()
        rows = connection.execute(
            "select name, current_setting(name, true), source from pg_settings order by name"
        ).fetchall()
        number = connection.info.server_version
    shown = f"{number // 10_000}.{number % 10_000}"
    return redact(
        {
            "version": shown,
            "build": version[0] if version else "",
            "settings": {name: value for name, value, _ in rows},
            "sources": {name: source for name, _, source in rows if not _is_default(source)},
        }
    )


def _is_default(source: str) -> bool:
    return source in ("default", "override")


def read_text(path: Path) -> str:
    """The stripped text of a small file; '' when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _known(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: fact for name, fact in facts.items() if fact not in ("", None, {}, [])}


def _ourselves() -> dict[str, Any]:
    commit = _output("git", "rev-parse", "HEAD")
    changes = _output("git", "status", "--porcelain") if commit else None
    return {
        "version": __version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "git_commit": commit,
        "git_dirty": None if changes is None else bool(changes),
    }


def _output(*command: str) -> str | None:
    """What a program prints, stripped; None when it is not there or fails."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SUBPROCESS_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _cpu(proc: Path, sys: Path) -> dict[str, Any]:
    info = read_text(proc / "cpuinfo")
    cpus = sorted((sys / "devices/system/cpu").glob("cpu[0-9]*"), key=lambda p: int(p.name[3:]))
    topology = [_place(cpu) for cpu in cpus if (cpu / "topology").is_dir()]
    policy = cpus[0] / "cpufreq" if cpus else sys
    smt = read_text(sys / "devices/system/cpu/smt/active")
    return {
        "model": _field(info, "model name") or _field(info, "Processor") or platform.processor(),
        "microcode": _field(info, "microcode"),
        "architecture": platform.machine(),
        "cpus_online": os.cpu_count(),
        "cpus_usable": len(os.sched_getaffinity(0)),
        "cores": len({(place["package"], place["core"]) for place in topology}) or None,
        "sockets": len({place["package"] for place in topology}) or None,
        "smt": {"1": "on", "0": "off"}.get(smt, ""),
        "numa_nodes": len(list((sys / "devices/system/node").glob("node[0-9]*"))) or None,
        "governor": read_text(policy / "scaling_governor"),
        "frequency_driver": read_text(policy / "scaling_driver"),
        "frequency_khz_min": _number(read_text(policy / "cpuinfo_min_freq")),
        "frequency_khz_max": _number(read_text(policy / "cpuinfo_max_freq")),
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


def _field(text: str, name: str) -> str:
    found = re.search(rf"^{re.escape(name)}\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _kernel(proc: Path, sys: Path) -> dict[str, Any]:
    clock = sys / "devices/system/clocksource/clocksource0"
    knobs = {name: read_text(proc / "sys/kernel" / name) for name in _SCHEDULER_KNOBS}
    preempt = re.search(r"PREEMPT\w*", platform.version())
    return {
        "release": platform.release(),
        "build": platform.version(),
        "preemption": preempt[0] if preempt else "",
        "cmdline": read_text(proc / "cmdline"),
        "clock_source": read_text(clock / "current_clocksource"),
        "clock_sources": read_text(clock / "available_clocksource"),
        "isolated_cpus": read_text(sys / "devices/system/cpu/isolated"),
        "scheduler": _known(knobs),
    }


def _mitigations(sys: Path) -> dict[str, Any]:
    folder = sys / "devices/system/cpu/vulnerabilities"
    found = {path.name: read_text(path) for path in sorted(folder.glob("*"))}
    active = [name for name, text in found.items() if text.startswith("Mitigation")]
    exposed = [name for name, text in found.items() if text.startswith("Vulnerable")]
    return {
        "active": ", ".join(active),
        "vulnerable": ", ".join(exposed),
        "vulnerabilities": found,
    }


def _virtualization(proc: Path, sys: Path) -> dict[str, Any]:
    flags = _field(read_text(proc / "cpuinfo"), "flags").split()
    dmi = sys / "class/dmi/id"
    return {
        "hypervisor": "yes" if "hypervisor" in flags else "no" if flags else "",
        "machine": _output("systemd-detect-virt", "--vm"),
        "container": _output("systemd-detect-virt", "--container"),
        "vendor": read_text(dmi / "sys_vendor"),
        "product": read_text(dmi / "product_name"),
        **_cgroup_limits(proc, sys),
    }


def _cgroup_limits(proc: Path, sys: Path) -> dict[str, Any]:
    """The tightest limits on CPU and memory of our control groups, versions 1 and 2."""
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
                limit = _number(read_text(folder / name))
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


def _memory(proc: Path, sys: Path) -> dict[str, Any]:
    info = read_text(proc / "meminfo")
    huge = sys / "kernel/mm/transparent_hugepage"

    def size_bytes(name: str) -> int | None:
        kb = _number(_field(info, name).removesuffix(" kB"))
        return None if kb is None else kb * 1024

    return {
        "total_bytes": size_bytes("MemTotal"),
        "available_bytes": size_bytes("MemAvailable"),
        "swap_total_bytes": size_bytes("SwapTotal"),
        "page_bytes": os.sysconf("SC_PAGE_SIZE"),
        "transparent_huge_pages": _chosen(read_text(huge / "enabled")),
        "transparent_huge_pages_defrag": _chosen(read_text(huge / "defrag")),
        "transparent_huge_pages_shared": _chosen(read_text(huge / "shmem_enabled")),
        **{name: read_text(proc / "sys/vm" / name) for name in _MEMORY_KNOBS},
    }


def _chosen(text: str) -> str:
    """`always [madvise] never` -> madvise."""
    found = re.search(r"\[([\w-]+)\]", text)
    return found[1] if found else text


def _load(proc: Path) -> dict[str, Any]:
    load = read_text(proc / "loadavg").split()
    facts: dict[str, Any] = (
        {"average_1_min": float(load[0]), "average_5_min": float(load[1])} if (len(load) > 1) else {}
    )
    for resource_name in ("cpu", "io", "memory"):
        stalled = re.search(r"some avg10=([\d.]+)", read_text(proc / "pressure" / resource_name))
        if stalled:
            facts[f"{resource_name}_stalled_percent_10_s"] = float(stalled[1])
    return facts


def _storage(data_dir: Path, proc: Path, sys: Path) -> dict[str, Any]:
    facts: dict[str, Any] = {"data_dir": str(data_dir)}
    try:
        facts["free_bytes"] = shutil.disk_usage(data_dir).free
        place = str(data_dir.resolve())
    except OSError:
        return facts
    best = ""
    for line in read_text(proc / "self/mounts").splitlines():
        source, mount, kind, options, *_ = line.split(" ")
        mount = mount.replace("\\040", " ")
        inside = place == mount or place.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):  # of equals the last one mounted is on top
            best = mount
            facts.update(mount=mount, device=source, filesystem=kind, options=options)
    queue = _queue(str(facts.get("device", "")), sys)
    if queue is not None:
        facts["device_scheduler"] = _chosen(read_text(queue / "scheduler"))
        facts["device_rotational"] = read_text(queue / "rotational")
        facts["device_write_cache"] = read_text(queue / "write_cache")
    return facts


def _queue(device: str, sys: Path) -> Path | None:
    """The request queue of a block device, or of the disk that a partition is on."""
    here = sys / "class/block" / Path(device).name
    if not device.startswith("/dev/") or not here.exists():
        return None
    for folder in (here, here.resolve().parent):
        if (folder / "queue").is_dir():
            return folder / "queue"
    return None


def _limits() -> dict[str, Any]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return {"open_files_soft": soft, "open_files_hard": hard}
