"""How long a run typically takes, before any has run."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.study.plan import Option
from steelyard.study.study import Study
from steelyard.subjects import kind_of
from steelyard.subjects.drivers.connection import driven

# two JVMs start, and the JVM of the load compiles: 2 to 9 s of warm-up for point lookups
_DRIVER_S = 7.5


def expected_run_s(study: Study, options: Sequence[Option]) -> float | None:
    """Typical length of a run; None: only the first run can show it. options: of a study that was checked."""
    kind, plan = kind_of(study), study.plan
    if kind.run_s is not None:
        return kind.run_s(study, options)
    phases = plan.warm_up_s, plan.measure_s, kind.round_s
    points = [study.workload.point_s(clients, *phases) for clients in plan.clients]
    known = [seconds for seconds in points if seconds is not None]
    if len(known) < len(points) or plan.transactions is not None:
        return None
    diagnostic_s = study.probes.scheduling_trace_s + study.probes.latch_count_s
    driven_share = sum(driven(option) is not None for option in options) / len(options)
    set_up_s = kind.set_up_s + driven_share * _DRIVER_S
    return sum(known) + len(points) * diagnostic_s + plan.cool_down_s + set_up_s
