"""Latches of a live server: samples of the monitors that count them, as rows of the table `latches`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from steelyard.declared_metrics import Declared
from steelyard.run_tables.rows import Columns, Rows

# of a server's hundreds of latches, those with the longest total time of gets, else of waits
_LATCHES_PER_POINT_MAX = 12
_RANKED_BY = ("get_ns", "wait_ns", "sleeps", "gets")


def monitored_latches(samples: Columns, phases: Columns, declared: Declared) -> Columns | None:
    """One row per load point and latch, growth over the measure phase; None where no monitor read latches.

    Monitors read at the edges of phases: the first sample at or after an edge belongs to the edge.
    """
    supplied = {
        (monitor, metric.name): metric.latch
        for monitor, metrics in declared.items()
        for metric in metrics
        if metric.latch
    }
    read: dict[tuple[str, str], list[tuple[int, float]]] = {}
    columns = (samples[name] for name in ("monitor", "entity", "metric", "t_ns", "value"))
    for monitor, entity, metric, t_ns, value in zip(*columns, strict=True):
        if counter := supplied.get((monitor, metric)):
            read.setdefault((entity, counter), []).append((t_ns, value))
    if not read:
        return None
    counters = dict.fromkeys(counter for _, counter in read)
    rows = Rows("latches")
    edges = zip(*(phases[name] for name in ("phase", "point", "start_ns", "end_ns")), strict=True)
    for point, start_ns, end_ns in ((p, a, b) for phase, p, a, b in edges if phase == "measure"):
        grown = {
            latch: {name: _growth(read.get((latch, name), []), start_ns, end_ns) for name in counters}
            for latch in dict.fromkeys(entity for entity, _ in read)
        }
        ranked = sorted(grown, key=lambda latch: _rank(grown[latch]), reverse=True)[:_LATCHES_PER_POINT_MAX]
        for latch in (name for name in ranked if any(grown[name].values())):
            rows.add(point=point, latch=latch, **grown[latch])
    return rows.columns()


def _rank(grown: Mapping[str, int | None]) -> list[int]:
    return [grown.get(name) or 0 for name in _RANKED_BY]


def _growth(samples: Sequence[tuple[int, float]], start_ns: int, end_ns: int) -> int | None:
    """Growth between the samples at two edges; a counter first seen in between starts at 0.

    None without samples: not available.
    """
    if not samples:
        return None
    first, last = (bisect_left(samples, (edge, -1.0)) for edge in (start_ns, end_ns))
    before = samples[first][1] if first < len(samples) and samples[first][0] < end_ns else 0.0
    return round(samples[min(last, len(samples) - 1)][1] - before)
