"""The total usage of all processes of one role: sums that never fall."""

from steelyard.monitors.system.task import CPU, SYSTEM, USER, Process, added, nothing


class Role:
    """The sums of one role; they never fall, although its processes come and go."""

    def __init__(self) -> None:
        self.retained = nothing()  # of processes that died, or moved to another role
        self.retained_io = [0, 0]
        self._totals = nothing()
        self._io = [0, 0]

    def totals(self, processes: list[Process]) -> list[int]:
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
