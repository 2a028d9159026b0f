"""Tables that `sql` and `export` derive from those of a bundle: no files of their own."""

from __future__ import annotations

from steelyard.run_tables.schema import BY_NAME, Column, Table

# of a histogram, by column; the last column of the table is the highest value
QUANTILES = {"p50_ns": 0.5, "p90_ns": 0.9, "p95_ns": 0.95, "p99_ns": 0.99, "p999_ns": 0.999}

PERCENTILES = Table(
    "percentiles",
    "latency of one statement over the measure phase, or of the transactions of one client; derived from"
    " `latency` and `clients`",
    (
        *BY_NAME["latency"].columns[:3],
        Column("client", "INTEGER", "number of the client; NULL: all clients", nullable=True),
        *(
            Column(name, "DOUBLE", f"{100 * quantile:g} % were quicker; of a client only p99", nullable=True)
            for name, quantile in QUANTILES.items()
        ),
        Column("max_ns", "DOUBLE", "the slowest", nullable=True),
    ),
)

DERIVED = (PERCENTILES,)
