"""The usage of one process and its threads since their birth, from /proc."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.monitors.system.procfs import Budget, ProcFile, Stat, parse_stat

# The sums, in this order; I/O is separate because a parent's includes its children's.
USAGE = (
    "cpu_ns",
    "user_cpu_ns",
    "system_cpu_ns",
    "runqueue_wait_ns",
    "slices",
    "voluntary_switches",
    "involuntary_switches",
)
CPU, USER, SYSTEM = 0, 1, 2
_Usage = list[int]

_SWITCHES = re.compile(rb"\nvoluntary_ctxt_switches:\t(\d+)\nnonvoluntary_ctxt_switches:\t(\d+)")
_MEMORY = re.compile(rb"\nRssAnon:\s+(\d+) kB\nRssFile:\s+\d+ kB\nRssShmem:\s+(\d+) kB")
_IGNORED_SIGNALS = re.compile(rb"\nSigIgn:\t([0-9a-f]+)")
_IO = re.compile(rb"\nread_bytes: (\d+)\nwrite_bytes: (\d+)")
_SIGCHLD_BIT = 1 << 16


def added(*usages: Sequence[int]) -> list[int]:
    """The sums, place by place."""
    return [sum(column) for column in zip(*usages, strict=True)]


def nothing() -> _Usage:
    """A usage of zero."""
    return [0] * len(USAGE)


class Thread:
    """One thread: run time, run-queue wait, slices, switches; its children's pids."""

    __slots__ = ("_children", "_schedstat", "_seen", "_status", "timed", "used")

    def __init__(self, task: Path, budget: Budget, status: ProcFile | None = None) -> None:
        self._schedstat = _optional(task / "schedstat", budget)
        self._children = _optional(task / "children", budget)
        self._status = ProcFile(task / "status", budget) if status is None else None
        self.timed = self._schedstat is not None  # exact run time and run-queue wait
        self._seen = b""
        self.used = nothing()

    def read(self) -> bool:
        """Brings `used` up to date; False: it has not run since the last call."""
        if self._schedstat is not None:
            seen, self._seen = self._seen, self._schedstat.read()
            if self._seen == seen:
                return False
            self.used[CPU], self.used[3], self.used[4] = map(int, self._seen.split())
        if self._status is not None:
            self.switched(self._status.read())
        return True

    def switched(self, status: bytes) -> None:
        """Brings the switches up to date from the text of `status`."""
        if found := _SWITCHES.search(status):
            self.used[5], self.used[6] = int(found[1]), int(found[2])

    def children(self) -> list[int] | None:
        """Pids of the processes that it started; None when the kernel does not list them."""
        if self._children is None:
            return None
        return [int(pid) for pid in self._children.read().split()]

    def close(self) -> None:
        """Closes the files."""
        for file in (self._schedstat, self._children, self._status):
            if file is not None:
                file.close()


@dataclass
class Reaped:
    """The usage of the dead children of one process.

    The kernel adds a child's exact CPU time to its parent's when the parent waits for it, but shows
    the sum in ticks; the last reading of a child is exact but lacks its end. The larger of both is
    kept: at most two ticks per process too small, also for children that were never read.
    A dead child's run-queue wait, slices and switches since its last reading are lost: the kernel
    adds them up too, but shows them to the parent only.
    seen: at their last readings. foreign: of children counted under another role.
    """

    seen: _Usage
    foreign: _Usage = field(default_factory=nothing)
    used: _Usage = field(default_factory=nothing)
    _reported: tuple[int, int, int] = (-1, 0, 0)

    def add(self, used: _Usage) -> None:
        """Adds a dead child's usage at its last reading."""
        self.seen = added(self.seen, used)
        self._reported = (-1, 0, 0)

    def update(self, stat: Stat) -> None:
        """Brings `used` up to date; it never falls."""
        user, system = stat.children_user_ns, stat.children_system_ns
        reported = (user + system, user, system)
        if reported == self._reported:
            return  # no child was reaped: most processes never have a child
        self._reported = reported
        for i, seen in enumerate(self.seen):
            now = max(seen, reported[i] - self.foreign[i]) if i < len(reported) else seen
            if now > self.used[i]:
                self.used[i] = now


class Process:
    """One process with its threads: its usage, and that of its dead children."""

    def __init__(self, proc: Path, pid: int, role: str, budget: Budget) -> None:
        self.pid = pid
        self.role = role
        self._dir = proc / str(pid)
        self._budget = budget
        self._stat = ProcFile(self._dir / "stat", budget)
        try:
            self._status = ProcFile(self._dir / "status", budget)
            self._io = _optional(self._dir / "io", budget)
            self._threads = {pid: Thread(self._dir / "task" / str(pid), budget, self._status)}
            self.stat = parse_stat(self._stat.read())
        except OSError:
            self.close()
            raise
        children = [self.stat.children_user_ns, self.stat.children_system_ns]
        self.reaped = Reaped([sum(children), *children, 0, 0, 0, 0])
        self._gone = nothing()  # of its threads that ended
        self._used = nothing()
        # files to read, usage to sum up, children and threads to search for
        self.stale = self._grown = self._unsearched = True
        self.reaps = True
        self.timed, self.sees_io = self._threads[pid].timed, self._io is not None
        self.private_bytes = 0
        self.shared_bytes = 0
        self.io: tuple[int, int] | None = None  # read and written, its reaped children's included

    def read(self, discover: bool) -> bool:
        """Updates everything; raises OSError when the process is gone. Whether to search for its children.

        discover: search for new threads. While no thread runs, only the kernel's reclaim changes its
        memory, which is not seen then: only the run times are read.
        """
        for tid in list(self._threads):
            self._read_thread(tid)
        if self.stale:
            self._read_files()
        if not (discover and self._unsearched):
            return False
        self._unsearched = False
        if self.stat.threads > 1:
            self._find_threads()
            self._grown = True
        return True

    def _read_files(self) -> None:
        stat = parse_stat(self._stat.read())
        if stat.born_ticks != self.stat.born_ticks:
            raise ProcessLookupError(f"the pid {self.pid} now belongs to another process")
        self.stat = stat
        status = self._status.read()
        if found := _MEMORY.search(status):
            self.private_bytes, self.shared_bytes = int(found[1]) * 1024, int(found[2]) * 1024
        if found := _IGNORED_SIGNALS.search(status):
            self.reaps = not int(found[1], 16) & _SIGCHLD_BIT
        self._threads[self.pid].switched(status)
        self._read_io()
        self.stale, self._grown, self._unsearched = False, True, True

    def used(self) -> _Usage:
        """Totals in the order of USAGE, of dead threads and children too; they never fall."""
        if self._grown:
            self._grown = False
            own = added(self._gone, *(thread.used for thread in self._threads.values()))
            # ticks include the ends of threads after their last reading, but are rounded down: use the larger
            own[CPU] = max(own[CPU], self.stat.user_ns + self.stat.system_ns)
            own[USER], own[SYSTEM] = self.stat.user_ns, self.stat.system_ns
            self._used = list(map(max, self._used, own))
        return added(self._used, self.reaped.used)

    def children(self) -> list[int] | None:
        """Pids of the children of all its threads; None when the kernel does not list them."""
        pids: list[int] = []
        for thread in self._threads.values():
            found = thread.children()
            if found is None:
                return None
            pids.extend(found)
        return pids

    def close(self) -> None:
        """Closes the files, also after an incomplete open."""
        for name in ("_stat", "_status", "_io"):
            file: ProcFile | None = getattr(self, name, None)
            if file is not None:
                file.close()
        threads: dict[int, Thread] = getattr(self, "_threads", {})
        for thread in threads.values():
            thread.close()

    def _find_threads(self) -> None:
        for name in os.listdir(self._dir / "task"):  # noqa: PTH208  Path.iterdir is thrice as slow
            tid = int(name)
            if tid not in self._threads:
                try:
                    self._threads[tid] = Thread(self._dir / "task" / name, self._budget)
                except (FileNotFoundError, ProcessLookupError):
                    continue  # it has already ended
                self._read_thread(tid)

    def _read_thread(self, tid: int) -> None:
        try:
            self.stale |= self._threads[tid].read()
        except (FileNotFoundError, ProcessLookupError):
            if tid == self.pid:
                raise
            thread = self._threads.pop(tid)
            thread.close()
            self._gone = added(self._gone, thread.used)
            self.stale = True

    def _read_io(self) -> None:
        if self._io is None:
            return
        try:
            found = _IO.search(self._io.read())
        except PermissionError:
            self._io.close()
            self._io = self.io = None
            return
        if found:
            self.io = (int(found[1]), int(found[2]))


def _optional(path: Path, budget: Budget) -> ProcFile | None:
    """The file, or None where this kernel lacks it or this user may not read it."""
    try:
        file = ProcFile(path, budget)
        file.read()
    except (FileNotFoundError, PermissionError):
        return None
    return file


class Role:
    """The sums of one role; they never fall, although its processes come and go."""

    def __init__(self) -> None:
        self.retained = nothing()  # of processes that died, or moved to another role
        self.retained_io = [0, 0]
        self._totals = nothing()
        self._io = [0, 0]

    def totals(self, processes: list[Process]) -> _Usage:
        """Totals in the order of USAGE; user and system CPU scaled so that their sum is the CPU."""
        raw = added(self.retained, *(process.used() for process in processes))
        before = self._totals
        now = list(map(max, before, raw))
        # The kernel splits exact time by ticks and rounds down, up to a tick per process: the user's
        # part follows the long-run ratio, and neither part ever falls.
        ticks = raw[USER] + raw[SYSTEM]
        target = now[CPU] * raw[USER] // ticks if ticks > 0 else 0
        now[USER] = min(max(target, before[USER]), before[USER] + now[CPU] - before[CPU])
        now[SYSTEM] = now[CPU] - now[USER]
        self._totals = now
        return now

    def io(self, processes: list[Process]) -> list[int] | None:
        """Bytes read from and written to storage; None when no process's I/O is readable."""
        seen = [process.io for process in processes if process.io is not None]
        if not seen:
            return None
        self._io = list(map(max, self._io, added(self.retained_io, *seen)))
        return self._io
