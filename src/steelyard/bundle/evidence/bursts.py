"""Bursts and sleeps of a server's threads, from the scheduling trace of a bundle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from steelyard.bundle.evidence.histograms import merged, quantiles, summary
from steelyard.study.errors import InputError

_HISTOGRAMS = """
    select s.voluntary, s.run_queue_histogram, s.slice_histogram, s.off_cpu_histogram
    from scheduling s join used_runs using (run) where option = ? and role = 'server'
"""
# quantiles in the middle of equal parts stand for the distribution
_MIDDLES = tuple((part + 0.5) / 2_000 for part in range(2_000))


class _Reader(Protocol):
    path: Path

    @property
    def duckdb(self) -> Any:
        """A connection in which every table is a view."""
        ...


@dataclass(frozen=True)
class Bursts:
    """Means and coefficients of variation, of all runs of an option together.

    A burst is CPU time until the thread waits for something, whether or not it lost its CPU meanwhile. A
    sleep ends when the thread is ready again, so that its wait for a CPU is no part of it.
    """

    count: int
    burst_us: float
    burst_cv: float
    sleep_us: float
    sleep_cv: float


def bursts(bundle: _Reader, option: str) -> Bursts:
    """Of the server's threads in the phase scheduling-trace. Raises InputError without a trace."""
    rows = bundle.duckdb.execute(_HISTOGRAMS, [option]).fetchall()
    count = sum(row[0] for row in rows)
    if not count:
        raise InputError(
            f"{bundle.path} has no scheduling trace of a server under {option}",
            "run the study with --scheduling-trace, or name another option with --option",
        )
    where = f"{bundle.path}: table scheduling of option {option}"
    waits, slices, sleeps = (merged([row[place] for row in rows], where) for place in (1, 2, 3))
    pieces, _, piece_ns, _ = summary(slices, where)
    asleep_ns = summary(sleeps, where)[2] - summary(waits, where)[2]
    if asleep_ns <= 0:
        raise InputError(f"{where}: threads waited for a CPU for longer than they slept")
    return Bursts(
        count=int(count),
        burst_us=pieces * piece_ns / count / 1e3,
        burst_cv=_variation(slices, where),
        sleep_us=asleep_ns / 1e3,
        sleep_cv=_variation(sleeps, where),
    )


def _variation(histogram: bytes, where: str) -> float:
    values = np.array(quantiles(histogram, _MIDDLES, where), dtype=np.float64)
    return float(values.std() / values.mean())
