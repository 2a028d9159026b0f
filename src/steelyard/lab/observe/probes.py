"""The kernel's probes beside the load: opened per phase, with their records as tables.

Profile, locks and latches record in the measure phase. Scheduling costs more and is recorded in the phase
scheduling-trace after it; gets of latches cost most and are counted in the phase latch-count. A thread of
the lab collects the records: its CPU time counts as that of the monitors.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard import _core
from steelyard.host.kernel import mount_tracefs, with_cause
from steelyard.monitors import Target
from steelyard.run_tables.rows import Columns, check, decoded
from steelyard.run_tables.schema import BY_NAME

if TYPE_CHECKING:
    # not needed in guests, where only the standard library is available
    from steelyard.lab.observe.latch_rows_postgres import Tranches
    from steelyard.study.study import Study
    from steelyard.subjects import Server

_PROBED = ("measure", "scheduling-trace", "latch-count")
_NEVER_NS = 2**63  # a phase ends when the next begins
_THREAD = "probes"  # name of the collecting thread


class Probing:
    """Probes of one run: phase at each event of the engine, stop; then tables."""

    def __init__(
        self,
        requested: Mapping[str, Any],
        target: Target,
        cpus: frozenset[int],
        tranches: Tranches | None = None,
    ) -> None:
        """requested: the keys of a study's [probes] except latches; tranches: of a PostgreSQL server."""
        self._tranches = tranches
        self._trace_s: float = requested.get("scheduling_trace_s", 0)
        self._open: tuple[str, int, int] | None = None  # phase, point, start
        self._recorded_s: dict[str, dict[int, float]] = {phase: {} for phase in _PROBED}
        self._ready_ns: dict[int, int] = {}  # by point, of the count phase
        self._records: dict[str, Any] = {}
        roots = [{"pid": pid, "role": role} for role, pid in target.pids.items()]
        roots += [{"pid": pid, "role": "monitors"} for pid in target.own_backends]
        plan = {
            "profile_hz": requested.get("profile_hz", 0),
            "locks": requested.get("locks", False),
            "sched": self._trace_s > 0,
            "latches": tranches.plan() if tranches else None,
            "roots": roots,
            "cpus": sorted(cpus),
        }
        needed = any(requested.values()) or plan["latches"]
        # for root this mount suffices; the guard mounts its own if it has to remove probes
        self._no_tracefs = mount_tracefs() if needed else ""
        self._probe = _core.Probe(json.dumps(plan)) if needed else None
        self._thread: Path | None = None
        self._cost_ns: list[tuple[int, int]] = []

    def phase(self, event: Mapping[str, Any]) -> None:
        """Starts a phase: records until the next one, if this phase is probed."""
        if self._probe is None:
            return
        name, point, t_ns = str(event["phase"]), int(event["point"]), int(event["t_ns"])
        if self._open is not None:
            probed, where, start_ns = self._open
            self._recorded_s[probed][where] = (t_ns - start_ns) / 1e9
            self._open = None
        self._probe.close()
        self._note_cost()
        if name == "measure" and self._tranches is not None:
            self._tranches.measured(point)
        if name in _PROBED:
            self._probe.open(name, point, t_ns, _NEVER_NS)
            self._open = name, point, t_ns
            if name == "latch-count":
                self._ready_ns[point] = time.monotonic_ns()

    def stop(self) -> None:
        """Stops recording, and looks up names while the server's files still exist. May be called twice."""
        if self._probe is not None and (records := self._probe.finish()) is not None:
            self._records = json.loads(records)
            if self._tranches is not None:
                latches, gets = self._records["latches"], self._records["latch_gets"]
                refused = [(source, with_cause(why, self._no_tracefs)) for source, why in self._probe.refused]
                self._tranches.take(latches, gets, refused, self._ready_ns)

    def notices(self) -> Iterator[tuple[str, str]]:
        """Notices about missing data, each with a remedy."""
        if self._tranches is not None:
            yield from self._tranches.notices()
        if self._probe is None:
            return
        for source, reason in self._probe.refused:
            yield "probe-unavailable", f"{source}: {with_cause(reason, self._no_tracefs)}"
        gets = self._tranches is not None and self._tranches.gets and self._tranches.server is not None
        for source, enabled, phase in (
            ("sched", self._trace_s, "scheduling-trace"),
            ("gets", gets, "latch-count"),
        ):
            if enabled and not self._recorded_s[phase]:
                text = "the engine of this subject has no diagnostic phase after the measure phase"
                yield "probe-unavailable", f"{source}: {text}"
        if lost := self._records.get("lost", 0):
            yield (
                "probe-lost",
                f"{lost:,} records of the kernel's probes were lost: waits, switches and gets are"
                " underestimated (use fewer clients, or a separate CPU for the lab)",
            )

    def samples(self, origin_ns: int) -> Iterator[tuple[int, str, str, str, float]]:
        """Rows of the table `samples`: CPU time of the collecting thread, as the monitors' own."""
        for t_ns, cpu_ns in self._cost_ns:
            yield t_ns - origin_ns, "monitors", _THREAD, "cpu_ns_total", float(cpu_ns)

    def tables(self) -> dict[str, Columns]:
        """Tables of the bundle with at least one row: profile, locks, scheduling, latches, latch_gets.

        Raises SchemaError where a record does not fit its table.
        """
        found = {
            name: decoded(name, self._records[name])
            for name in ("profile", "locks", "scheduling")
            if self._records
        }
        if "scheduling" in found:
            seconds = [self._recorded_s["scheduling-trace"][point] for point in found["scheduling"]["point"]]
            found["scheduling"] = {**found["scheduling"], "seconds": seconds}
        for name, columns in found.items():
            check(BY_NAME[name], columns)
        if self._tranches is not None:
            found |= {"latches": self._tranches.rows(), "latch_gets": self._tranches.counted()}
        return {name: columns for name, columns in found.items() if columns["point"]}

    def _note_cost(self) -> None:
        # a thread names itself a moment after its start
        self._thread = self._thread or _collecting_thread()
        if self._thread is not None:
            with suppress(OSError):
                cpu_ns = int((self._thread / "schedstat").read_text().split()[0])
                self._cost_ns.append((time.monotonic_ns(), cpu_ns))


def not_in_turns(study: Study, server: Server | None) -> Iterator[tuple[str, str]]:
    """Notices on what is recorded in measured runs by default, and not where options take turns."""
    if server is not None and server.latch_names is not None and study.probes.latches:
        yield (
            "not-in-turns",
            "latches: sleeps are not recorded where options take turns; turns = false under [plan] records"
            " them",
        )


def _collecting_thread() -> Path | None:
    """The folder in /proc of the collecting thread; None where there is none."""
    for task in Path("/proc/self/task").iterdir():
        try:
            if (task / "comm").read_text().strip() == _THREAD and (task / "schedstat").exists():
                return task
        except OSError:
            continue
    return None
