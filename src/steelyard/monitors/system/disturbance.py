"""What keeps the study from the CPU: other processes by name, kernel threads, other studies, a CPU limit.

How much CPU time the others took in all follows from the monitors `host` and `processes`, which miss nobody;
this one says who they are. What a process used between its last reading and its end is not in its figure.
"""

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from steelyard.declared_metrics import Declaration
from steelyard.host.cpus.control_group import around
from steelyard.host.processes.process_mark import labs_of
from steelyard.monitors import Sample, Target, Unavailable, described
from steelyard.monitors.system.procfs import ProcFile, parents_in, parse_stat, reason, shared_budget, tasks_of
from steelyard.monitors.system.task import Thread

_KTHREADD = 2
_KERNEL = "kernel-threads"
_NAMES_MAX = 5
_INTERPRETERS = ("python", "steelyard")

_METRICS = described(f"""
other:* cpu_ns_total | CPU time of other processes of this name; the largest five
{_KERNEL} cpu_ns_total | CPU time of the kernel's threads
others studies | Other studies that run on this machine
control-group throttled_ns_total | \
Time in which the CPU limit of a control group around the lab held its processes back
control-group some_ns_total | Pressure: time in which a process of the lab's group had no CPU
""")


class _Process:
    """One process of the others. Its files stay open; `stat` is read only if a thread may have run."""

    def __init__(self, proc: Path, pid: int) -> None:
        folder, budget = proc / str(pid), shared_budget()
        self._stat = ProcFile(folder / "stat", budget)
        self._thread = Thread(folder / "task" / str(pid), budget, self._stat)
        self._threads = self._cpu_ns = self.born_ticks = self.ppid = 0
        self.name = ""

    def read(self) -> int:
        """CPU time since the last reading, ns; at the first since its birth. Raises OSError at its end."""
        if not self._thread.read() and self._threads == 1:
            return 0
        text = self._stat.read()
        stat = parse_stat(text)
        if self.born_ticks not in (0, stat.born_ticks):
            raise ProcessLookupError
        self.name = text[text.index(b"(") + 1 : text.rindex(b")")].decode(errors="replace")
        self.ppid, self.born_ticks, self._threads = stat.ppid, stat.born_ticks, stat.threads
        before_ns, self._cpu_ns = self._cpu_ns, stat.user_ns + stat.system_ns
        return max(0, self._cpu_ns - before_ns)

    def close(self) -> None:
        """Closes the files."""
        self._stat.close()
        self._thread.close()


class DisturbanceMonitor:
    """Reads every process of the machine that is not below a pid of the target.

    missing: what cannot be read here.
    """

    declares = Declaration(
        (*_METRICS.values(),),
        default_hz=0.2,
        text="It reads at the edges of phases too. See [disturbed](study.md#plan).",
    )

    def __init__(self, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> None:
        self._proc, self._sys = proc, sys
        self._own = frozenset[int]()
        self._tasks = b""
        self._parents: dict[int, int] = {}
        self._others: dict[int, _Process] = {}
        self._guards: dict[tuple[int, int], list[int]] = {}
        self._used_ns = Counter[str]()
        self._shown = {_KERNEL: None}
        self._groups: list[Path] = []

    def open(self, target: Target) -> None:
        """Remembers what every process has used so far; raises Unavailable."""
        self._own = frozenset(target.pids.values())
        groups = around("cpu", self._proc, self._sys)
        self._groups = [folder for folder in groups if (folder / "cpu.stat").exists()]
        try:
            self._update()
        except OSError as error:
            raise Unavailable(f"{self._proc}: {reason(error)}") from None
        self._used_ns.clear()

    def read(self) -> Iterable[Sample]:
        """CPU time since open."""
        self._update()
        yield Sample("others", "studies", self._studies())
        largest = [entity for entity, _ in self._used_ns.most_common() if entity != _KERNEL]
        # a counter that was given once goes on
        self._shown |= dict.fromkeys(largest[:_NAMES_MAX])
        for entity in self._shown:
            yield Sample(entity, "cpu_ns_total", self._used_ns[entity])
        throttled_ns = [_throttled_ns(folder) for folder in self._groups]
        # of all groups around the lab together: any of them may hold it back
        if known := [value for value in throttled_ns if value is not None]:
            yield Sample("control-group", "throttled_ns_total", sum(known))
        with suppress(OSError, IndexError, ValueError):
            some = (self._groups[0] / "cpu.pressure").read_text().splitlines()[0]
            yield Sample("control-group", "some_ns_total", int(some.rpartition("total=")[2]) * 1000)

    def close(self) -> None:
        """Closes the files."""
        for process in self._others.values():
            process.close()
        self._others.clear()
        self._tasks = b""

    def _update(self) -> None:
        self._search()
        for pid, process in list(self._others.items()):
            try:
                used_ns = process.read()
            except (OSError, ValueError, IndexError):  # it has ended; its pid may have been reused
                self._others.pop(pid).close()
                self._parents.pop(pid, None)
                self._tasks = b""
                continue
            if used_ns:
                entity = _KERNEL if _KTHREADD in (pid, process.ppid) else f"other:{process.name}"
                self._used_ns[entity] += used_ns

    def _search(self) -> None:
        """Finds the others: those that are no process of the target and descend from none."""
        tasks = tasks_of(self._proc)
        if tasks and tasks == self._tasks:
            return
        self._tasks = tasks
        known = self._parents
        self._parents = parents_in(self._proc, known)
        ours = self._own
        while born := {pid for pid, parent in self._parents.items() if parent in ours} - ours:
            ours |= born
        others = self._parents.keys() - ours
        for pid in self._others.keys() - others:
            self._others.pop(pid).close()
        for pid in others - self._others.keys():
            with suppress(OSError, ValueError, IndexError):
                self._others[pid] = process = _Process(self._proc, pid)
                if pid in known:  # it was ours
                    process.read()

    def _studies(self) -> int:
        """Guards among the others; the command line of a process is read once."""
        found = set[int]()
        for pid, process in self._others.items():
            if process.name.startswith(_INTERPRETERS):
                key = pid, process.born_ticks
                if key not in self._guards:
                    self._guards[key] = labs_of([pid], self._proc)
                found.update(self._guards[key])
        return len(found)


def _throttled_ns(folder: Path) -> int | None:
    """cgroup-v2.rst: throttled_usec; sched-bwc.rst, version 1: throttled_time in ns. None: no limit."""
    with suppress(OSError, ValueError):
        fields = dict(line.split() for line in (folder / "cpu.stat").read_text().splitlines())
        for name, unit_ns in (("throttled_usec", 1000), ("throttled_time", 1)):
            if name in fields:
                return int(fields[name]) * unit_ns
    return None
