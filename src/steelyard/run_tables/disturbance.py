"""Whether others kept a role of the study (server, load engine) from its CPUs in a measure phase: the rule.

    lost = min(outside + throttled, waited) + stolen x own / (own + outside)
    share = lost / (lost + used)

All in CPUs (seconds per second), on the CPUs that the role may use:

- outside: CPU time in user and system mode, less that of all our roles and of the kernel's threads. From
  /proc/stat, so that short-lived processes, containers and other users count, visible or not.
- waited: the run-queue wait of the role's own threads. 64 clients on one CPU make a server's threads wait for
  each other for a minute per second: wait alone is no disturbance, and counts only as far as outsiders took
  CPU time. CPU time of outsiders alone is none either: on a CPU that nobody of ours wanted it did no harm.
  The smaller of the two is the most that the role can have lost to them.
- throttled: time in which the CPU limit of a group around the lab held it back. stolen: by the hypervisor; it
  comes on top, as the kernel of a guest cannot see what waits meanwhile.
- used: the role's own CPU time. lost + used is its busy time: it ran or could have run.

Kernel threads do not count: most of their work (writing back, RAID, encryption) is the study's own. A server
at an address chooses its CPUs itself, or is not seen and would look like an outsider: it is not judged.
Another study is an outsider like any other; that it runs at all is no disturbance. Without run-queue waits,
pressure (PSI) stands in: the time in which any process waited, on each CPU.

A run is disturbed from a share of 10 %, if that is 2 % of a CPU or more: a load engine that hardly works
may wait for as long as it works. Blocks in random order deal with less, and what remains of it widens the
intervals. /proc/stat counts ticks of 10 ms, which find a CPU busy or not: outside is nothing until it
exceeds three standard errors of such a count (15 % of a CPU in 1 s, 5 % in 10 s). Below 1 s none is judged.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from steelyard.quantities import duration, listed, percent, quantity, significant

DISTURBED_SHARE = 0.1
_LOST_CPUS_MIN = 0.02
# a little less: a phase of one second ends by the clock
_SECONDS_MIN = 0.95
_TICK_S = 0.01
_NOISE_ERRORS = 3.0
_NAMED_MAX = 3
_NAMES = {"steelyard": "another steelyard process"}  # those of the study itself are not among the others
_NAMED_CPUS_MIN = 0.05

# growth per second of each counter in a measure phase, by monitor, entity and metric
Rates = Mapping[tuple[str, str, str], float]
Cause = Literal["other processes", "other guests", "CPU limit"]

_MODES = ("user_ns_total", "nice_ns_total", "system_ns_total")
ROLES = ("server", "engine")
_CAUSES: Mapping[Cause, str] = {
    "other processes": "other processes used",
    "other guests": "the hypervisor gave to other guests",
    "CPU limit": "the CPU limit of its control group withheld",
}


@dataclass(frozen=True)
class CpuUse:
    """What happened on the CPUs that one role may use, in CPUs; see the module for each word.

    cpus: their number. seconds: length of the phase. own: CPU time of all our roles there.
    """

    cpus: int
    seconds: float
    outside: float
    own: float
    used: float
    waited: float
    stolen: float = 0.0
    throttled: float = 0.0

    @property
    def lost_to(self) -> dict[Cause, float]:
        """CPU time that the role could have used, by what took it."""
        # at worst a tick finds a CPU busy every other time: a variance of 1/4
        noise = _NOISE_ERRORS * 0.5 * math.sqrt(self.cpus * _TICK_S / self.seconds)
        outside = self.outside if self.outside > noise else 0.0
        withheld = outside + self.throttled
        part = min(1.0, self.waited / withheld) if withheld > 0 else 0.0
        ours = self.own / (self.own + outside) if self.own > 0 else 0.0
        return {
            "other processes": outside * part,
            "other guests": self.stolen * ours,
            "CPU limit": self.throttled * part,
        }

    @property
    def share(self) -> float:
        """The part of the role's busy time that was lost, 0 to 1."""
        lost = self.lost_s / self.seconds
        return lost / (lost + self.used) if lost > 0 else 0.0

    @property
    def lost_s(self) -> float:
        """CPU time that the role could have used, over the phase."""
        return self.seconds * sum(self.lost_to.values())


@dataclass(frozen=True)
class Disturbance:
    """A role that was kept from its CPUs. share: of its busy time; cause: the largest.

    lost_s: the CPU time that it lost. seconds: length of the phase.
    largest: the largest other processes by name, each with the CPUs that it used; empty where not known.
    studies: other studies that ran on the machine meanwhile.
    """

    role: str
    share: float
    cause: Cause
    lost_s: float
    seconds: float
    largest: tuple[tuple[str, float], ...]
    studies: int = 0

    def sentence(self, who_works: str, where: str = "") -> str:
        """`in run 3 the server's tasks together waited 6.90 s in 10 s for a CPU that ... used: ...`.

        who_works: the role `server` by the name that the workload gives it; where: `in run 3`.
        """
        who = "load engine" if self.role == "engine" else who_works
        waited = f"tasks together waited {quantity(self.lost_s, 's')} in {duration(self.seconds)}"
        return (
            f"{where}{where and ' '}the {who}'s {waited} for a CPU that {_CAUSES[self.cause]}{self._known}:"
            f" {percent(self.share)} of the CPU time that they wanted"
        )

    @property
    def _known(self) -> str:
        parts = [f"{_NAMES.get(name, name)} {significant(cpus, 2)} CPUs" for name, cpus in self.largest]
        if self.studies:
            parts.append(f"{self.studies} other stud{'y' if self.studies == 1 else 'ies'}")
        return f" ({listed(parts)})" if parts and self.cause == "other processes" else ""


def disturbance(
    rates: Rates, seconds: float, cpus: Mapping[str, frozenset[int]], studies: int = 0
) -> Disturbance | None:
    """The first role, server before engine, that lost 10 % of its busy time; None: none, or not known.

    cpus: those that each role may use; a role that is not named counts as ours on all of them.
    """
    for role in ROLES:
        use = cpu_use(rates, seconds, role, cpus)
        if use is not None and use.share >= DISTURBED_SHARE and use.lost_s >= _LOST_CPUS_MIN * seconds:
            cause = max(use.lost_to, key=lambda name: use.lost_to[name])
            return Disturbance(role, use.share, cause, use.lost_s, seconds, _largest(rates), studies)
    return None


def cpu_use(rates: Rates, seconds: float, role: str, cpus: Mapping[str, frozenset[int]]) -> CpuUse | None:
    """What happened on the CPUs of a role; None where a monitor or the server is not in sight."""
    mine = cpus.get(role, frozenset())
    busy = [rates.get(("host", f"cpu{cpu}", mode)) for cpu in mine for mode in _MODES]
    used = _cpus(rates, "processes", role, "cpu_ns_total")
    waited = _waited(rates, role, len(mine))
    server = _cpus(rates, "processes", "server", "cpu_ns_total")
    if not mine or seconds < _SECONDS_MIN or None in busy or used is None or waited is None or server is None:
        return None
    roles = {role for monitor, role, metric in rates if (monitor, metric) == ("processes", "cpu_ns_total")}
    there = [name for name in roles if cpus.get(name, mine) & mine]
    own = sum(_cpus(rates, "processes", name, "cpu_ns_total") or 0.0 for name in there)
    kernel = _cpus(rates, "disturbance", "kernel-threads", "cpu_ns_total") or 0.0
    stolen = (_cpus(rates, "host", f"cpu{cpu}", "steal_ns_total") for cpu in mine)
    return CpuUse(
        cpus=len(mine),
        seconds=seconds,
        outside=max(0.0, sum(value for value in busy if value is not None) / 1e9 - own - kernel),
        own=own,
        used=used,
        waited=waited,
        stolen=sum(value or 0.0 for value in stolen),
        throttled=_cpus(rates, "disturbance", "control-group", "throttled_ns_total") or 0.0,
    )


def _waited(rates: Rates, role: str, cpus: int) -> float | None:
    waited = _cpus(rates, "processes", role, "runqueue_wait_ns_total")
    if waited is not None:
        return waited
    stalled = [
        _cpus(rates, "host", "psi:cpu", "some_ns_total"),
        _cpus(rates, "disturbance", "control-group", "some_ns_total"),
    ]
    known = [value for value in stalled if value is not None]
    return cpus * min(known) if known else None


def _cpus(rates: Rates, monitor: str, entity: str, metric: str) -> float | None:
    value = rates.get((monitor, entity, metric))
    return None if value is None or not math.isfinite(value) else value / 1e9


def _largest(rates: Rates) -> tuple[tuple[str, float], ...]:
    found = [
        (entity.partition(":")[2], rate / 1e9)
        for (monitor, entity, _), rate in rates.items()
        if monitor == "disturbance" and entity.startswith("other:") and rate / 1e9 >= _NAMED_CPUS_MIN
    ]
    return tuple(sorted(found, key=lambda item: -item[1])[:_NAMED_MAX])
