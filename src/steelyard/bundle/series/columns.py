"""Small tables for charts, as columns and as rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Columns = Mapping[str, Sequence[Any] | np.ndarray[Any, Any]]
else:
    Columns = Mapping


@dataclass(frozen=True)
class Series:
    """Small tables for charts, as columns of equal length (lists or numpy arrays); all optional.

    Already reduced by the reader: a few thousand rows each, whatever the size of the bundle.

    throughput: option, t_s, run, tps. t_s: seconds of execution over all runs, one after another.
    cpu: run, option, t_s (as above), role (server, engine, monitors, idle ...), percent (of one core).
    gauges: option, t_s (since the start of measure), monitor, entity, metric, value, limit (NaN or
        absent: none), unit ('': a number of things), group (as declared): median over runs.
    counters: of the study's own queries: option, clients, monitor, series, counter, per_s, per_txn, unit,
        meaning: median over runs.
    statements: option, statement, per_s: geometric mean over runs and points, as estimates are.
    clients: option, clients, client, transactions: geometric mean over runs; of instances of a
        program, their scores stand as transactions (times in ns).
    priorities: option, clients, priority, seconds: of simulated threads that are weighed, running or
        waiting for a CPU, mean over runs. trace: option, thread, reason (`ran`, or why its priority
        changed), cpu, start_s, end_s (from the first), priority.
    latency: option, clients, quantile (0 to 1), ns: geometric mean over runs, as estimates are.
    latch_times: option, clients, kind (hold, wait), quantile, ns: geometric mean over runs.
    stacks: option, role, stack (folded, outermost first), us_per_txn: CPU time, of profiled runs.
    """

    throughput: Columns = field(default_factory=dict[str, Any])
    cpu: Columns = field(default_factory=dict[str, Any])
    gauges: Columns = field(default_factory=dict[str, Any])
    counters: Columns = field(default_factory=dict[str, Any])
    statements: Columns = field(default_factory=dict[str, Any])
    clients: Columns = field(default_factory=dict[str, Any])
    latency: Columns = field(default_factory=dict[str, Any])
    latch_times: Columns = field(default_factory=dict[str, Any])
    priorities: Columns = field(default_factory=dict[str, Any])
    trace: Columns = field(default_factory=dict[str, Any])
    stacks: Columns = field(default_factory=dict[str, Any])


def rows(columns: Columns) -> list[dict[str, Any]]:
    """Columns as rows of plain Python values; NaN and infinities become None."""
    names = list(columns)
    plain = [[_plain(value) for value in columns[name]] for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*plain, strict=True)]


def _plain(value: Any) -> Any:
    item = getattr(value, "item", None)
    plain = item() if callable(item) else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain
