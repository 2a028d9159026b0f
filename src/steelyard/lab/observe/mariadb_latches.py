"""Latches of a live MariaDB: samples of its monitor as rows of the table `latches`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from steelyard.tables.rows import Columns, Rows

_MONITORS = ("mariadb-latches",)
_METRICS = {"gets_total": "gets", "get_ns_total": "get_ns"}
# of a server's hundreds of latches, those whose gets take longest, waits among them
_LATCHES_PER_POINT_MAX = 12


def monitored_latches(samples: Columns, phases: Columns) -> Columns | None:
    """One row per load point and latch, growth over the measure phase; None where no monitor read latches.

    Monitors read at the edges of phases: the first sample from an edge on is that of the edge.
    """
    read: dict[tuple[str, str], list[tuple[int, float]]] = {}
    columns = (samples[name] for name in ("monitor", "entity", "metric", "t_ns", "value"))
    for monitor, entity, metric, t_ns, value in zip(*columns, strict=True):
        if monitor in _MONITORS and metric in _METRICS:
            read.setdefault((entity, _METRICS[metric]), []).append((t_ns, value))
    if not read:
        return None
    rows = Rows("latches")
    edges = zip(*(phases[name] for name in ("phase", "point", "start_ns", "end_ns")), strict=True)
    for point, start_ns, end_ns in ((p, a, b) for phase, p, a, b in edges if phase == "measure"):
        grown = {
            latch: {
                counter: _growth(read.get((latch, counter), []), start_ns, end_ns)
                for counter in _METRICS.values()
            }
            for latch in dict.fromkeys(entity for entity, _ in read)
        }
        foremost = sorted(grown, key=lambda latch: -grown[latch]["get_ns"])[:_LATCHES_PER_POINT_MAX]
        for latch in (name for name in foremost if grown[name]["gets"] > 0):
            rows.add(point=point, latch=latch, **grown[latch])
    return rows.columns()


def _growth(samples: Sequence[tuple[int, float]], start_ns: int, end_ns: int) -> int:
    """Between the samples at two edges; a counter first seen in between grew from 0."""
    if not samples:
        return 0
    first, last = (bisect_left(samples, (edge, -1.0)) for edge in (start_ns, end_ns))
    before = samples[first][1] if first < len(samples) and samples[first][0] < end_ns else 0.0
    return round(samples[min(last, len(samples) - 1)][1] - before)
