"""The load of each host of a fleet: counts and percentiles."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np

from steelyard.bundle.evidence.evidence import Columns
from steelyard.bundle.evidence.histograms import file_of, quantiles

_QUANTILES = {"p50_ns": 0.5, "p99_ns": 0.99}


def host_load(connection: duckdb.DuckDBPyConnection) -> Columns:
    """run, host, point, clients, transactions, errors, p50_ns, p99_ns. Raises InputError."""
    names = ("run", "host", "point", "clients", "transactions", "errors")
    rows = connection.execute(
        f"select {', '.join(names)}, histogram from host_load join used_runs using (run)"
        " order by run, point, host"
    ).fetchall()
    columns: dict[str, list[Any]] = {name: [] for name in (*names, *_QUANTILES)}
    for *plain, histogram in rows:
        found = quantiles(histogram, tuple(_QUANTILES.values()), file_of(plain[0], "host_load"))
        for name, value in zip(columns, (*plain, *found), strict=True):
            columns[name].append(value)
    return {name: np.asarray(values) for name, values in columns.items()}
