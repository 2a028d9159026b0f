"""Memory and disk, as free here or as needed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from steelyard import quantities as fmt


@dataclass(frozen=True)
class Room:
    """An amount of memory and of disk."""

    memory_bytes: int
    disk_bytes: int

    def __str__(self) -> str:
        memory, disk = (fmt.quantity(size, "B") for size in (self.memory_bytes, self.disk_bytes))
        return f"{memory} of memory and {disk} of disk"


def free_room(folder: Path, proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> Room:
    """Memory that programs can take without swapping, within the control groups, and disk of the folder."""
    available = re.search(r"^MemAvailable:\s+(\d+) kB", (proc / "meminfo").read_text(), re.MULTILINE)
    memory = [int(available[1]) * 1024] if available else []
    return Room(min((*memory, *_left(proc, groups)), default=0), shutil.disk_usage(folder).free)


def _left(proc: Path, groups: Path) -> Iterator[int]:
    """What each control group of this process leaves of its limit, the page cache not counted."""
    for line in (proc / "self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        version_2 = not controllers
        if not version_2 and "memory" not in controllers.split(","):
            continue
        base = groups if version_2 else groups / "memory"
        limit, usage, cache = (
            ("memory.max", "memory.current", "inactive_file")
            if version_2
            else ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        )
        own = PurePosixPath(path.lstrip("/"))
        for folder in (base / part for part in (own, *own.parents)):
            # version 2 writes `max` for none, and the root has no files; a container sees another path
            with suppress(OSError, ValueError):
                free = int((folder / limit).read_text()) - int((folder / usage).read_text())
                found = re.search(rf"^{cache} (\d+)$", (folder / "memory.stat").read_text(), re.MULTILINE)
                yield max(0, free + (int(found[1]) if found else 0))
