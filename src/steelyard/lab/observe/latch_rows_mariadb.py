"""Latches of a live MariaDB: samples of its monitor as rows of the table `latches`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from steelyard.monitors import MONITORS, declared
from steelyard.run_tables.rows import Columns, Rows

# of a server's hundreds of latches, those with the longest total time of gets, waits included
_LATCHES_PER_POINT_MAX = 12
_RANKED_BY = ("get_ns", "wait_ns", "sleeps", "gets")


def monitored_latches(samples: Columns, phases: Columns) -> Columns | None:
    """One row per load point and latch, growth over the measure phase; None where no monitor read latches.

    Monitors read at the edges of phases: the first sample at or after an edge belongs to the edge.
    """
    supplied = _latch_columns(samples["monitor"])
    read: dict[tuple[str, str], list[tuple[int, float]]] = {}
    columns = (samples[name] for name in ("monitor", "entity", "metric", "t_ns", "value"))
    for monitor, entity, metric, t_ns, value in zip(*columns, strict=True):
        if counter := supplied.get((monitor, metric)):
            read.setdefault((entity, counter), []).append((t_ns, value))
    if not read:
        return None
    counters = tuple(dict.fromkeys(supplied.values()))
    by = next(name for name in _RANKED_BY if name in counters)
    rows = Rows("latches")
    edges = zip(*(phases[name] for name in ("phase", "point", "start_ns", "end_ns")), strict=True)
    for point, start_ns, end_ns in ((p, a, b) for phase, p, a, b in edges if phase == "measure"):
        grown = {
            latch: {name: _growth(read.get((latch, name), []), start_ns, end_ns) for name in counters}
            for latch in dict.fromkeys(entity for entity, _ in read)
        }
        ranked = sorted(grown, key=lambda latch: -grown[latch][by])[:_LATCHES_PER_POINT_MAX]
        for latch in (name for name in ranked if any(grown[name].values())):
            rows.add(point=point, latch=latch, **grown[latch])
    return rows.columns()


def _latch_columns(monitors: Iterable[str]) -> dict[tuple[str, str], str]:
    """Column of the table `latches` by monitor and metric, of the monitors that supply it."""
    return {
        (monitor, metric.name): metric.latch
        for monitor in MONITORS.keys() & set(monitors)
        for metric in declared(monitor).metrics
        if metric.latch
    }


def _growth(samples: Sequence[tuple[int, float]], start_ns: int, end_ns: int) -> int:
    """Growth between the samples at two edges; a counter first seen in between starts at 0."""
    if not samples:
        return 0
    first, last = (bisect_left(samples, (edge, -1.0)) for edge in (start_ns, end_ns))
    before = samples[first][1] if first < len(samples) and samples[first][0] < end_ns else 0.0
    return round(samples[min(last, len(samples) - 1)][1] - before)
