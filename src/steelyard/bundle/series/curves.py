"""Times by quantile: latencies of the load, holds and waits of a latch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.bundle.evidence.histograms import quantiles
from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.columns import Columns

_QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999, 1.0)


def latency(bundle: Bundle, runs: Sequence[int]) -> Columns:
    """Latency by quantile: option, clients, quantile, ns (geometric mean over these runs)."""
    return _curves(
        bundle,
        ("option", "clients"),
        "select u.option, p.clients, l.histogram from latency l join used_runs u using (run) join"
        " measures p using (run, point) where l.count > 0 and l.statement = 'transaction'"
        " and list_contains($runs, l.run) order by l.run",
        {"runs": list(runs)},
    )


def latch_times(bundle: Bundle) -> Columns:
    """Times of a latch: option, clients, kind (hold, wait), quantile, ns (geometric mean over runs)."""
    return _curves(
        bundle,
        ("option", "clients", "kind"),
        # a live server has many latches, and waits only: not comparable with one latch
        "select u.option, p.clients, h.kind, h.histogram from (unpivot (from latches where"
        " hold_histogram is not null) on hold_histogram as hold, wait_histogram as wait"
        " into name kind value histogram) h join used_runs u using (run) join measures p"
        " using (run, point) order by h.run",
    )


def _curves(
    bundle: Bundle, keyed_by: Sequence[str], query: str, given: Mapping[str, Any] | None = None
) -> Columns:
    """query: the keys, then a histogram; given: its parameters by name."""
    curves: dict[tuple[Any, ...], list[list[int]]] = {}
    for *key, histogram in bundle.duckdb.execute(query, given).fetchall():
        curves.setdefault(tuple(key), []).append(quantiles(histogram, _QUANTILES, "a histogram"))
    columns: dict[str, Any] = {
        name: np.asarray([key[i] for key in curves for _ in _QUANTILES], dtype=object)
        for i, name in enumerate(keyed_by)
    }
    columns["quantile"] = np.asarray([q for _ in curves for q in _QUANTILES])
    columns["ns"] = np.asarray([ns for runs in curves.values() for ns in _mean_of_runs(runs)])
    return columns


def _mean_of_runs(curves: Sequence[Sequence[int]]) -> np.ndarray[Any, Any]:
    """Geometric mean by quantile, mean where zeros occur, as in the analysis."""
    ns = np.asarray(curves, dtype=np.float64)
    mean = ns.mean(axis=0)
    positive = ns.min(axis=0) > 0
    mean[positive] = np.exp(np.log(ns[:, positive]).mean(axis=0))
    return mean
