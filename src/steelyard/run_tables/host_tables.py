"""Tables of each host of a fleet, beside those of all hosts together."""

from __future__ import annotations

from steelyard.run_tables.table import POINT_COLUMN, RUN_COLUMN, Column, Table

_HOST = Column("host", "VARCHAR", "its name in the study's [fleet]")

HOST_TABLES: tuple[Table, ...] = (
    Table(
        "hosts",
        "the clock of one host of a fleet, against that of the lab",
        (
            RUN_COLUMN,
            _HOST,
            Column("offset_ns", "BIGINT", "reading of the host less that of the lab, before the load"),
            Column("bound_ns", "BIGINT", "largest error of the offset: half of the shortest round trip"),
            Column("drift_ns", "BIGINT", "the offset after the load less that before"),
            Column("drift_bound_ns", "BIGINT", "largest error of the drift"),
            Column("drift_after_ns", "BIGINT", "time between the two exchanges"),
        ),
    ),
    Table(
        "host_load",
        "the load from one host of a fleet at one load point",
        (
            RUN_COLUMN,
            _HOST,
            POINT_COLUMN,
            Column("clients", "INTEGER", "of this host"),
            Column("transactions", "BIGINT", "completed without error in the measure phase"),
            Column("errors", "BIGINT", "in the measure phase"),
            Column("began_ns", "BIGINT", "when its first transaction began, on the lab's clock"),
            Column("histogram", "BLOB", "latency of its transactions, HdrHistogram, V2 encoding, ns"),
        ),
    ),
    Table(
        "host_samples",
        "one reading of one metric on one host of a fleet",
        (
            RUN_COLUMN,
            _HOST,
            Column("t_ns", "BIGINT", "when it was read, on the lab's clock"),
            Column("monitor", "VARCHAR", "which monitor read it"),
            Column("entity", "VARCHAR", "of what: cpu0, engine ..."),
            Column("metric", "VARCHAR", "name with its unit; `_total` for counters"),
            Column("value", "DOUBLE", ""),
        ),
    ),
)
