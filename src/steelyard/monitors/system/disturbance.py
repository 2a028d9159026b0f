"""What keeps the study from the CPU: other processes by name, kernel threads, other studies, a CPU limit.

How much CPU time the others took in all follows from the monitors `host` and `processes`, which miss nobody;
this one says who they are. What a process used between its last reading and its end is not in its figure.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from steelyard.declared_metrics import Declaration, DeclaredMetric
from steelyard.host.processes.other_studies import labs_of
from steelyard.monitors import Sample, Target, Unavailable
from steelyard.monitors.system.procfs import reason
from steelyard.monitors.system.task import parse_stat

_KTHREADD = 2
_NAMES_MAX = 5
_INTERPRETERS = ("python", "steelyard")

_METRICS = (
    DeclaredMetric("cpu_ns_total", "other:*", "CPU time of other processes of this name; the largest five"),
    DeclaredMetric("cpu_ns_total", "kernel-threads", "CPU time of the kernel's threads"),
    DeclaredMetric("studies", "others", "Other studies that run on this machine"),
    DeclaredMetric(
        "throttled_ns_total",
        "control-group",
        "Time in which the CPU limit of a control group around the lab held its processes back",
    ),
    DeclaredMetric(
        "some_ns_total", "control-group", "Pressure: time in which a process of the lab's group had no CPU"
    ),
)


@dataclass(frozen=True)
class _Process:
    """One process as read. born_ticks: with its pid, which process it is."""

    ppid: int
    name: str
    cpu_ns: int
    born_ticks: int


class DisturbanceMonitor:
    """Reads every process of the machine that is not below a pid of the target.

    missing: what cannot be read here.
    """

    declares = Declaration(
        _METRICS, default_hz=0.2, text="It reads at the edges of phases too. See [disturbed](study.md#plan)."
    )

    def __init__(self, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> None:
        self._proc, self._sys = proc, sys
        self._own: frozenset[int] = frozenset()
        self._seen: dict[int, _Process] = {}
        self._guards: dict[tuple[int, int], list[int]] = {}
        self._used_ns: dict[str, int] = {}
        self._kernel_ns = 0
        self._shown: dict[str, None] = {}
        self._groups: list[Path] = []

    def open(self, target: Target) -> None:
        """Remembers what every process has used so far; raises Unavailable."""
        self._own = frozenset(target.pids.values())
        self._groups = _groups(self._proc, self._sys)
        try:
            self._seen = self._processes()
        except OSError as error:
            raise Unavailable(f"{self._proc}: {reason(error)}") from None

    def read(self) -> Iterable[Sample]:
        """CPU time since open."""
        now = self._processes()
        others = self._others(now)
        for pid in others:
            process, before = now[pid], self._seen.get(pid)
            same = before is not None and before.born_ticks == process.born_ticks
            grown_ns = max(0, process.cpu_ns - (before.cpu_ns if before is not None and same else 0))
            if _KTHREADD in (pid, process.ppid):
                self._kernel_ns += grown_ns
            else:
                self._used_ns[process.name] = self._used_ns.get(process.name, 0) + grown_ns
        self._seen = now
        yield Sample("kernel-threads", "cpu_ns_total", self._kernel_ns)
        yield Sample("others", "studies", self._studies(now, others))
        largest = sorted(self._used_ns, key=lambda name: -self._used_ns[name])[:_NAMES_MAX]
        # a counter that was given once goes on
        self._shown |= dict.fromkeys(name for name in largest if self._used_ns[name])
        for name in self._shown:
            yield Sample(f"other:{name}", "cpu_ns_total", self._used_ns[name])
        yield from self._limits()

    def close(self) -> None:
        """Nothing is held open."""

    def _processes(self) -> dict[int, _Process]:
        found: dict[int, _Process] = {}
        for name in os.listdir(self._proc):  # noqa: PTH208  Path.iterdir is thrice as slow
            if name.isdigit():
                with suppress(OSError, ValueError, IndexError):
                    text = (self._proc / name / "stat").read_bytes()
                    stat = parse_stat(text)
                    title = text[text.index(b"(") + 1 : text.rindex(b")")].decode(errors="replace")
                    cpu_ns = stat.user_ns + stat.system_ns
                    found[int(name)] = _Process(stat.ppid, title, cpu_ns, stat.born_ticks)
        return found

    def _others(self, now: dict[int, _Process]) -> list[int]:
        """Those that are no process of the target and descend from none."""
        ours = dict.fromkeys(self._own, True) | {0: False}

        def is_ours(pid: int) -> bool:
            # a chain of parents may break where one ended while we read
            chain: list[int] = []
            while pid not in ours:
                chain.append(pid)
                ours[pid] = False
                pid = now[pid].ppid if pid in now else 0
            ours.update(dict.fromkeys(chain, ours[pid]))
            return ours[pid]

        return [pid for pid in now if not is_ours(pid)]

    def _studies(self, now: dict[int, _Process], others: Iterable[int]) -> int:
        """Guards among the others; the command line of a process is read once."""
        found: set[int] = set()
        for pid in others:
            process = now[pid]
            if process.name.startswith(_INTERPRETERS):
                key = pid, process.born_ticks
                if key not in self._guards:
                    self._guards[key] = labs_of([pid], self._proc)
                found.update(self._guards[key])
        return len(found)

    def _limits(self) -> Iterator[Sample]:
        """Of all groups around the lab together: any of them may hold it back."""
        throttled_ns = [_throttled_ns(folder) for folder in self._groups]
        if known := [value for value in throttled_ns if value is not None]:
            yield Sample("control-group", "throttled_ns_total", sum(known))
        with suppress(OSError, IndexError, ValueError):
            some = (self._groups[0] / "cpu.pressure").read_text().splitlines()[0]
            yield Sample("control-group", "some_ns_total", int(some.rpartition("total=")[2]) * 1000)


def _throttled_ns(folder: Path) -> int | None:
    """cgroup-v2.rst: throttled_usec; sched-bwc.rst, version 1: throttled_time in ns. None: no limit."""
    with suppress(OSError, ValueError):
        fields = dict(line.split() for line in (folder / "cpu.stat").read_text().splitlines())
        if "throttled_usec" in fields:
            return int(fields["throttled_usec"]) * 1000
        if "throttled_time" in fields:
            return int(fields["throttled_time"])
    return None


def _groups(proc: Path, sys: Path) -> list[Path]:
    """Folders of the lab's control group that limits the CPU, and of those around it, its own first."""
    with suppress(OSError):
        for line in (proc / "self" / "cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and "cpu" not in controllers.split(","):
                continue
            for name in ("", "unified") if not controllers else (controllers, "cpu"):
                top = sys / "fs/cgroup" / name
                own = top / path.lstrip("/")
                if (own / "cpu.stat").exists():
                    return [own, *(folder for folder in own.parents if folder.is_relative_to(top))]
    return []
