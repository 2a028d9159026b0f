"""Runs the monitors beside the load: each at its own rate, and all at the edges of phases.

A monitor waits for its source, which may never answer: then the reading thread is abandoned.
"""

import os
import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from steelyard.host.processes.limits import TimedOut, within
from steelyard.monitors import Reader, Target, Unavailable
from steelyard.run_tables.rows import Rows

_OPEN_S = 10.0
_LAST_READING_S = 5.0
_EDGE_S = 5.0


class Monitoring:
    """Samples of one run. start, mark at each edge of a phase, stop; then columns()."""

    def __init__(self, readers: Mapping[str, tuple[Reader, float]], target: Target, origin_ns: int) -> None:
        """readers: monitors with their rates in Hz, by name."""
        self.notices: list[tuple[str, str]] = []
        self._origin_ns = origin_ns
        self._period_ns: dict[str, int] = {}
        self._monitors: dict[str, Reader] = {}
        self._cost_ns: dict[str, int] = {}
        self._columns = Rows("samples").columns()
        self._wakeup = threading.Condition()
        self._marks = self._answered = 0
        self._rests = self._over = self._idle = False
        self._reading = ""
        self._thread = threading.Thread(target=self._loop, name="monitors", daemon=True)
        for name, (monitor, rate_hz) in readers.items():
            try:
                within(_OPEN_S, "connecting", partial(monitor.open, target))
            except (Unavailable, TimedOut) as reason:
                if isinstance(reason, Unavailable):
                    monitor.close()
                self.notices.append(("monitor-unavailable", f"{name}: {reason}"))
                continue
            # a monitor of several sources continues without the missing ones, and names them
            for reason in getattr(monitor, "missing", ()):
                self.notices.append(("monitor-partial", f"{name}: {reason}"))
            self._monitors[name] = monitor
            self._period_ns[name] = int(1e9 / rate_hz)
            self._cost_ns[name] = 0

    def start(self, cpus: frozenset[int]) -> None:
        """Starts reading, on these CPUs."""
        self._cpus = cpus
        self._thread.start()

    def mark(self) -> None:
        """Makes every monitor read now, at the edge of a phase."""
        with self._wakeup:
            self._marks += 1
            self._wakeup.notify_all()

    def read_now(self) -> None:
        """Reads every monitor and waits for that: at the edge of a turn, when nothing is under way.

        Raises TimedOut when a monitor does not answer.
        """
        with self._wakeup:
            self._marks += 1
            mark, self._idle = self._marks, True
            self._wakeup.notify_all()
            if not self._wakeup.wait_for(lambda: self._answered >= mark, _EDGE_S):
                raise TimedOut(f"the monitor {self._reading} did not answer within {_EDGE_S:g} s")
            self._idle = False

    def rest(self, rests: bool) -> None:
        """Whether to read only when marked: while the options of other turns load the server."""
        with self._wakeup:
            self._rests = rests
            self._wakeup.notify_all()

    def stop(self) -> None:
        """Reads a last time and closes the monitors; abandons a monitor that does not answer."""
        with self._wakeup:
            self._over = True
            self._wakeup.notify_all()
        if self._thread.is_alive():
            self._thread.join(_LAST_READING_S)
        if self._thread.is_alive():
            text = f"{self._reading}: no answer within {_LAST_READING_S:g} s; nothing was read after that"
            self.notices.append(("monitor-lost", text))
            # samples that the abandoned thread still adds are not part of the run
            self._columns = {name: list(values) for name, values in self._columns.items()}
            return
        for name, monitor in self._monitors.items():
            for remark in getattr(monitor, "remarks", ()):
                self.notices.append(("monitor-partial", f"{name}: {remark}"))
            monitor.close()

    def columns(self) -> dict[str, list[Any]]:
        """The table `samples`, without the run."""
        return self._columns

    def _loop(self) -> None:
        os.sched_setaffinity(0, self._cpus)
        due = dict.fromkeys(self._monitors, time.monotonic_ns())
        seen = 0
        while True:
            now = time.monotonic_ns()
            with self._wakeup:
                first_ns = now + 10**9 if self._rests else min(due.values(), default=now + 10**9)
                wait_s = (first_ns - now) / 1e9
                if wait_s > 0 and not self._over and self._marks == seen:
                    self._wakeup.wait(wait_s)
                over, marked, seen = self._over, self._marks != seen, self._marks
                rests, idle = self._rests, self._idle
            now = time.monotonic_ns()
            for name in list(self._monitors):
                if over or marked or (due[name] <= now and not rests):
                    self._read(name, idle)
                while due.get(name, now + 1) <= now:
                    due[name] += self._period_ns[name]
                if name not in self._monitors:
                    del due[name]
            with self._wakeup:
                self._answered = seen
                self._wakeup.notify_all()
            if over:
                return

    def _read(self, name: str, idle: bool) -> None:
        self._reading = name
        began_ns = time.thread_time_ns()
        t_ns = time.monotonic_ns() - self._origin_ns
        try:
            samples = list(self._monitors[name].read())
        except Exception as reason:
            # also for a bug in a monitor: it must not stop the others
            self.notices.append(("monitor-lost", f"{name}: {reason}"))
            self._monitors.pop(name).close()
            return
        for entity, metric, value in samples:
            self._add(t_ns, name, entity, metric, float(value))
        if not idle:
            # between turns it takes no time from the load
            self._cost_ns[name] += time.thread_time_ns() - began_ns
        took_ns = time.monotonic_ns() - self._origin_ns - t_ns
        self._add(t_ns, "monitors", name, "cpu_ns_total", self._cost_ns[name])
        self._add(t_ns, "monitors", name, "reading_ns", took_ns)

    def _add(self, *row: Any) -> None:
        for values, value in zip(self._columns.values(), row, strict=True):
            values.append(value)
