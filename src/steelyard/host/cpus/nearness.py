"""The closest resource that two CPUs share, as the kernel reports it (in a guest: as its host shows it)."""

from __future__ import annotations

from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")
_SOCKET = "physical_package_id"


def shared(cpu: int, other: int, cpus: Path = _CPUS) -> str:
    """The closest resource that both use: the core, a cache, the socket; `nothing`, or '' if unknown."""
    here, there = cpus / f"cpu{cpu}", cpus / f"cpu{other}"
    package = _text(here / "topology" / _SOCKET)
    if not package:
        return ""
    alike = package == _text(there / "topology" / _SOCKET)
    if alike and _text(here / "topology" / "core_id") == _text(there / "topology" / "core_id"):
        return "core"
    for cache in sorted((here / "cache").glob("index*")):
        if other in _members(_text(cache / "shared_cpu_list")):
            return f"L{_text(cache / 'level')} cache"
    return "socket" if alike else "nothing"


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _members(text: str) -> set[int]:
    """CPUs of a list in the kernel's format: 0-3,8."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found
