"""Latches of a live server: what a monitor read of them, as rows of the table `latches`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

_MONITORS = ("mariadb-latches",)
_METRICS = {"gets_total": "gets", "get_ns_total": "get_ns"}
# of a server's hundreds of latches, those whose gets take longest, waits among them
_LATCHES_A_POINT_MAX = 12
_UNSEEN = (
    *("children", "spin", "misses", "spin_gets", "sleeps", "wait_ns", "hand_overs"),
    *("hold_histogram", "wait_histogram"),
)


def watched_latches(
    samples: Mapping[str, Sequence[Any]], phases: Mapping[str, Sequence[Any]]
) -> dict[str, list[Any]]:
    """A row for each point and latch, growth over the measure phase; no columns where none was watched.

    Monitors read at the edges of phases: the first reading from an edge on is that edge's.
    """
    read: dict[tuple[str, str], list[tuple[int, float]]] = {}
    columns = (samples[name] for name in ("monitor", "entity", "metric", "t_ns", "value"))
    for monitor, entity, metric, t_ns, value in zip(*columns, strict=True):
        if monitor in _MONITORS and metric in _METRICS:
            read.setdefault((entity, _METRICS[metric]), []).append((t_ns, value))
    if not read:
        return {}
    rows: dict[str, list[Any]] = {name: [] for name in ("point", "latch", *_METRICS.values(), *_UNSEEN)}
    edges = zip(*(phases[name] for name in ("phase", "point", "start_ns", "end_ns")), strict=True)
    for point, start_ns, end_ns in ((p, a, b) for phase, p, a, b in edges if phase == "measure"):
        grown = {
            latch: {
                counter: _growth(read.get((latch, counter), []), start_ns, end_ns)
                for counter in _METRICS.values()
            }
            for latch in dict.fromkeys(entity for entity, _ in read)
        }
        foremost = sorted(grown, key=lambda latch: -grown[latch]["get_ns"])[:_LATCHES_A_POINT_MAX]
        for latch in (name for name in foremost if grown[name]["gets"] > 0):
            row = {"point": point, "latch": latch, **grown[latch], **dict.fromkeys(_UNSEEN)}
            for name, value in row.items():
                rows[name].append(value)
    return rows


def _growth(readings: Sequence[tuple[int, float]], start_ns: int, end_ns: int) -> int:
    """Between the readings at two edges; what was first seen in between grew from 0."""
    if not readings:
        return 0
    first, last = (bisect_left(readings, (edge, -1.0)) for edge in (start_ns, end_ns))
    before = readings[first][1] if first < len(readings) and readings[first][0] < end_ns else 0.0
    return round(readings[min(last, len(readings) - 1)][1] - before)
