"""The view `percentiles`: latencies as numbers, decoded from histograms when a query needs them."""

from __future__ import annotations

from typing import Any

import duckdb

from steelyard.bundle.evidence.histograms import add_functions, quantiles, summary
from steelyard.run_tables.derived import PERCENTILES, QUANTILES


def add_percentiles(connection: duckdb.DuckDBPyConnection) -> None:
    """Adds the view, and the function latency_ns(histogram) with its values. Raises duckdb.Error."""
    add_functions(connection)
    untyped: Any = connection
    untyped.create_function("latency_ns", _latency_ns, ["BLOB"], "DOUBLE[]")
    names = [column.name for column in PERCENTILES.columns[4:]]
    decoded = ", ".join(f"ns[{place}] as {name}" for place, name in enumerate(names, start=1))
    connection.execute(f"""
        create view percentiles as
        select run, point, statement, null::integer as client, {decoded}
        from (select run, point, statement, latency_ns(histogram) as ns from latency where count > 0)
        union all by name
        select run, point, 'transaction' as statement, client, p99_ns from clients where transactions > 0
    """)


def _latency_ns(histogram: bytes) -> list[float]:
    _, _, _, highest = summary(histogram, "latency")
    return [float(ns) for ns in (*quantiles(histogram, tuple(QUANTILES.values()), "latency"), highest)]
