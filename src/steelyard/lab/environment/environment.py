"""The environment of a run: the machine, and the version of Steelyard."""

import os
import platform
import re
import resource
import shutil
from pathlib import Path
from typing import Any

from steelyard import __version__
from steelyard.host.kernel.setting import chosen
from steelyard.lab.environment.machine import (
    cpu_facts,
    field,
    kernel_facts,
    known,
    mitigation_facts,
    number,
    output,
    read_text,
    virtualization_facts,
)
from steelyard.lab.environment.redaction import redact

_PROC, _SYS = Path("/proc"), Path("/sys")
_PACKAGE = Path(__file__).parents[2]


_MEMORY_SETTINGS = (
    "swappiness",
    "overcommit_memory",
    "dirty_ratio",
    "dirty_background_ratio",
    "nr_hugepages",
)


def environment(
    data_dir: Path | None = None, proc: Path = _PROC, sys: Path = _SYS, package: Path = _PACKAGE
) -> dict[str, Any]:
    """Facts in groups, as JSON types, secrets removed; unreadable facts are left out.

    data_dir: folder of the servers' data; default: the folder for temporary files. package: folder of
    Steelyard's code.
    """
    facts = {
        "steelyard": _own_version(package),
        "cpu": cpu_facts(proc, sys),
        "kernel": kernel_facts(proc, sys),
        "mitigations": mitigation_facts(sys),
        "virtualization": virtualization_facts(proc, sys),
        "memory": _memory(proc, sys),
        "load at start": _load(proc),
        "storage": _storage(data_dir or Path(os.environ.get("TMPDIR", "/tmp")), proc, sys),
        "limits": _limits(),
    }
    return redact({group: known(found) for group, found in facts.items()})


def _own_version(package: Path) -> dict[str, Any]:
    return {
        "version": __version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        **_checkout(package),
    }


def _checkout(package: Path) -> dict[str, Any]:
    """The Git commit and state of Steelyard's code; {} when it was installed from a package."""
    git = ("git", "-C", str(package))
    # a virtual environment may lie in another project's work tree
    if output(*git, "ls-files", "--error-unmatch", "__init__.py") is None:
        return {}
    return {
        "package_git_commit": output(*git, "rev-parse", "HEAD"),
        "package_git_dirty": bool(output(*git, "status", "--porcelain")),
    }


def _memory(proc: Path, sys: Path) -> dict[str, Any]:
    info = read_text(proc / "meminfo")
    huge = sys / "kernel/mm/transparent_hugepage"

    def size_bytes(name: str) -> int | None:
        kb = number(field(info, name).removesuffix(" kB"))
        return None if kb is None else kb * 1024

    return {
        "total_bytes": size_bytes("MemTotal"),
        "available_bytes": size_bytes("MemAvailable"),
        "swap_total_bytes": size_bytes("SwapTotal"),
        "page_bytes": os.sysconf("SC_PAGE_SIZE"),
        "transparent_huge_pages": chosen(read_text(huge / "enabled")),
        "transparent_huge_pages_defrag": chosen(read_text(huge / "defrag")),
        "transparent_huge_pages_shared": chosen(read_text(huge / "shmem_enabled")),
        **{name: read_text(proc / "sys/vm" / name) for name in _MEMORY_SETTINGS},
    }


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
        if inside and len(mount) >= len(best):  # of equal mount points the last one mounted is visible
            best = mount
            facts.update(mount=mount, device=source, filesystem=kind, options=options)
    queue = _queue(str(facts.get("device", "")), sys)
    if queue is not None:
        facts["device_scheduler"] = chosen(read_text(queue / "scheduler"))
        facts["device_rotational"] = read_text(queue / "rotational")
        facts["device_write_cache"] = read_text(queue / "write_cache")
    return facts


def _queue(device: str, sys: Path) -> Path | None:
    """The request queue of a block device, or of a partition's disk."""
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
