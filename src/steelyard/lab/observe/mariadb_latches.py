"""Latches of a live server: what a monitor read of them, as rows of the table `latches`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from steelyard.monitors import MONITORS, declared

# of a server's hundreds of latches, those whose gets take longest, waits among them
_LATCHES_PER_POINT_MAX = 12
_FOREMOST_BY = ("get_ns", "wait_ns", "sleeps", "gets")


def watched_latches(
    samples: Mapping[str, Sequence[Any]], phases: Mapping[str, Sequence[Any]]
) -> dict[str, list[Any]]:
    """A row per load point and latch, growth over the measure phase; no columns where none was watched.

    Monitors read at the edges of phases: the first reading from an edge on is that edge's.
    """
    filled = _latch_columns(samples["monitor"])
    read: dict[tuple[str, str], list[tuple[int, float]]] = {}
    columns = (samples[name] for name in ("monitor", "entity", "metric", "t_ns", "value"))
    for monitor, entity, metric, t_ns, value in zip(*columns, strict=True):
        if counter := filled.get((monitor, metric)):
            read.setdefault((entity, counter), []).append((t_ns, value))
    if not read:
        return {}
    counters = tuple(dict.fromkeys(filled.values()))
    by = next(name for name in _FOREMOST_BY if name in counters)
    rows: dict[str, list[Any]] = {name: [] for name in ("point", "latch", *counters)}
    edges = zip(*(phases[name] for name in ("phase", "point", "start_ns", "end_ns")), strict=True)
    for point, start_ns, end_ns in ((p, a, b) for phase, p, a, b in edges if phase == "measure"):
        grown = {
            latch: {name: _growth(read.get((latch, name), []), start_ns, end_ns) for name in counters}
            for latch in dict.fromkeys(entity for entity, _ in read)
        }
        foremost = sorted(grown, key=lambda latch: -grown[latch][by])[:_LATCHES_PER_POINT_MAX]
        for latch in (name for name in foremost if any(grown[name].values())):
            for name, value in {"point": point, "latch": latch, **grown[latch]}.items():
                rows[name].append(value)
    return rows


def _latch_columns(monitors: Iterable[str]) -> dict[tuple[str, str], str]:
    """Column of the table `latches` by monitor and metric, of the monitors that supply it."""
    return {
        (monitor, metric.name): metric.latch
        for monitor in MONITORS.keys() & set(monitors)
        for metric in declared(monitor).metrics
        if metric.latch
    }


def _growth(readings: Sequence[tuple[int, float]], start_ns: int, end_ns: int) -> int:
    """Between the readings at two edges; what was first seen in between grew from 0."""
    if not readings:
        return 0
    first, last = (bisect_left(readings, (edge, -1.0)) for edge in (start_ns, end_ns))
    before = readings[first][1] if first < len(readings) and readings[first][0] < end_ns else 0.0
    return round(readings[min(last, len(readings) - 1)][1] - before)
