"""What two CPUs share, by what the kernel says of them (of a virtual machine: what its host made up)."""

from __future__ import annotations

from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")
_SOCKET = "physical_package_id"


def shared(one: int, other: int, cpus: Path = _CPUS) -> str:
    """The nearest thing that both use: the core, a cache, the socket; `nothing`, or '' where not known."""
    here, there = cpus / f"cpu{one}", cpus / f"cpu{other}"
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
    """A list of the kernel: 0-3,8."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found
