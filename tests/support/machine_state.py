"""The state of the machine that the lab could change: kernel settings, huge pages, control groups."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

_ROOTS = (
    "proc/sys",
    "sys/kernel/mm/transparent_hugepage",
    "sys/kernel/mm/hugepages",
    "sys/devices/system/node/node*/hugepages",
    "sys/kernel/debug/sched",
    "sys/fs/cgroup",
)
# counters and states, not settings; and control groups of other runs on this machine
_OTHERS = re.compile(
    r"/proc/sys/fs/(dentry-state|inode-(nr|state)|file-nr|aio-nr|quota/.*)"
    r"|/proc/sys/kernel/(random/.*|pty/nr|ns_last_pid|tainted|perf_event_max_sample_rate|hung_task_detect_count)"
    r"|/proc/sys/net/netfilter/nf_conntrack_count"
    r"|/sys/(kernel|devices)/.*/(stats/.*|free_hugepages|surplus_hugepages|resv_hugepages)"
    r"|/sys/kernel/mm/transparent_hugepage/khugepaged/(full_scans|pages_collapsed)"
    r"|/sys/kernel/debug/sched/(debug|verbose)"
    r"|/sys/fs/cgroup/(.*/)?(steelyard-.*|(?!cpuset\.|cpu\.)[^/]*|[^/]*\.(stat|pressure|memory_pressure|usage.*))"
)


def state() -> dict[str, str]:
    """The readable values that do not change by themselves, by path; an unreadable value is its error."""
    first, second = (dict(_values()) for _ in range(2))
    return {path: value for path, value in first.items() if second.get(path) == value}


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Value before and after of each path in both whose value differs."""
    return {
        path: (before[path], after[path])
        for path in before.keys() & after.keys()
        if before[path] != after[path]
    }


def _values() -> Iterator[tuple[str, str]]:
    for root in (root for pattern in _ROOTS for root in Path("/").glob(pattern)):
        for folder, _, names in os.walk(root):
            for path in (Path(folder, name) for name in names):
                if not _OTHERS.fullmatch(str(path)):
                    # files of a network device or a control group may go meanwhile
                    with suppress(FileNotFoundError):
                        yield str(path), _value(path)


def _value(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except FileNotFoundError:
        raise
    except OSError as error:
        return str(error.strerror)
