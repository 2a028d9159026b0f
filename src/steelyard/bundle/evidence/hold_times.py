"""Hold times of latches, from their histograms: each part of the holds with the time in its middle."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.bundle.evidence.evidence import Columns
from steelyard.bundle.evidence.histograms import file_of, quantiles

# each part between these edges is represented by its middle; edges are denser in the tail
_HOLD_EDGES = (*np.linspace(0, 0.98, 50).tolist(), 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 0.99999, 1.0)


def holds(duckdb: Any) -> Columns:
    """Hold times of latches: run, point, latch, ns, share (of all holds)."""
    rows = duckdb.execute(
        "select l.run, l.point, l.latch, l.hold_histogram from latches l semi join used_runs using (run)"
        " where l.hold_histogram is not null order by l.run, l.point, l.latch"
    ).fetchall()
    edges = np.asarray(_HOLD_EDGES)
    share, middles = np.diff(edges), ((edges[:-1] + edges[1:]) / 2).tolist()
    found: list[tuple[Any, ...]] = [
        (run, point, latch, float(ns), part)
        for run, point, latch, histogram in rows
        for ns, part in zip(
            quantiles(histogram, middles, file_of(run, "latches")), share.tolist(), strict=True
        )
    ]
    names = ("run", "point", "latch", "ns", "share")
    return {name: np.asarray([row[i] for row in found]) for i, name in enumerate(names)}
