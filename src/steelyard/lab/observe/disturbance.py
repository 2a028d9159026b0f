"""Whether a run was disturbed, from its own tables, as soon as it ends."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from steelyard.host.cpus.scheduling import NotTaken
from steelyard.run_tables.disturbance import Disturbance, Rates, disturbance
from steelyard.run_tables.rows import Columns

_MONITORS = ("host", "processes", "disturbance")
_STUDIES = ("disturbance", "others", "studies")
_Series = Sequence[tuple[int, float]]


def disturbance_of(
    tables: Mapping[str, Columns], cpus: Mapping[str, frozenset[int]], quotas: Mapping[str, float]
) -> Disturbance | None:
    """The worst of its measure phases; None where none was disturbed.

    cpus: those that each role may use; quotas: how many of them. Raises NotTaken where a role used more.
    """
    series = _series(tables["samples"]) if "samples" in tables else {}
    studies = int(max((value for _, value in series.get(_STUDIES, ())), default=0.0))
    found: list[Disturbance] = []
    columns = (tables["phases"][name] for name in ("phase", "start_ns", "end_ns"))
    for phase, start_ns, end_ns in zip(*columns, strict=True):
        if phase != "measure" or end_ns <= start_ns:
            continue
        rates, seconds = _rates(series, start_ns, end_ns), (end_ns - start_ns) / 1e9
        for role, quota in quotas.items():
            used = rates.get(("processes", role, "cpu_ns_total"), 0.0) / 1e9
            # a phase may hold what a period of 100 ms gives beyond its length, and readings take time
            if used > quota * (1.1 + 0.1 / seconds):
                raise NotTaken(f"{role}.cpu_quota = {quota:g} does not act: {used:.2f} CPUs were used")
        if one := disturbance(rates, seconds, cpus, studies):
            found.append(one)
    return max(found, key=lambda one: one.share, default=None)


def _series(samples: Columns) -> dict[tuple[str, str, str], list[tuple[int, float]]]:
    found: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    columns = (samples[name] for name in ("monitor", "entity", "metric", "t_ns", "value"))
    for monitor, entity, metric, t_ns, value in zip(*columns, strict=True):
        if monitor in _MONITORS:
            found.setdefault((monitor, entity, metric), []).append((t_ns, value))
    return found


def _rates(series: Mapping[tuple[str, str, str], _Series], start_ns: int, end_ns: int) -> Rates:
    """Growth per second of each counter that was read before the end and after the start."""
    found: dict[tuple[str, str, str], float] = {}
    for key, readings in series.items():
        if not key[2].endswith("_total"):
            continue
        first_ns, last_ns = max(start_ns, readings[0][0]), min(end_ns, readings[-1][0])
        if last_ns > first_ns:
            growth = _at(readings, last_ns) - _at(readings, first_ns)
            found[key] = growth / ((last_ns - first_ns) / 1e9)
    return found


def _at(readings: _Series, t_ns: int) -> float:
    """On the line between the readings around a time; t_ns lies within them."""
    after = max(1, bisect_left(readings, t_ns, key=lambda reading: reading[0]))
    (before_ns, before), (after_ns, later) = readings[after - 1], readings[min(after, len(readings) - 1)]
    if after_ns <= before_ns:
        return before
    return before + (later - before) * (t_ns - before_ns) / (after_ns - before_ns)
