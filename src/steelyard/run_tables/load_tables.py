"""Tables of what the load engine counts: statements, clients, kinds of transactions, errors."""

from __future__ import annotations

from steelyard.run_tables.table import POINT_COLUMN, RUN_COLUMN, Column, Table

_STATEMENT = Column(
    "statement",
    "VARCHAR",
    "the statement's name; `begin` and `commit` of transactions; `transaction NAME` holds whole transactions"
    " of a kind, `transaction` those of all kinds",
)

LOAD_TABLES: tuple[Table, ...] = (
    Table(
        "throughput",
        "one second of one statement",
        (
            RUN_COLUMN,
            POINT_COLUMN,
            Column(
                "second",
                "INTEGER",
                "from 0 at the start of measure; negative in the warm-up; NULL: the whole measure phase,"
                " of a recording without seconds",
                nullable=True,
            ),
            _STATEMENT,
            Column("count", "BIGINT", "completed without error"),
            Column("errors", "BIGINT", ""),
        ),
    ),
    Table(
        "latency",
        "latency of one statement over the whole measure phase",
        (
            RUN_COLUMN,
            POINT_COLUMN,
            _STATEMENT,
            Column("count", "BIGINT", "values in the histogram: those done, and an open loop's backlog"),
            Column("histogram", "BLOB", "HdrHistogram, V2 encoding, ns"),
        ),
    ),
    Table(
        "clients",
        "one client over the measure phase",
        (
            RUN_COLUMN,
            POINT_COLUMN,
            Column("client", "INTEGER", "number of the client, from 0"),
            Column("transactions", "BIGINT", "completed without error"),
            Column("errors", "BIGINT", ""),
            Column("mean_ns", "DOUBLE", "mean latency"),
            Column("p99_ns", "DOUBLE", "99th percentile of latency"),
        ),
    ),
    Table(
        "transactions",
        "one kind of transaction over the measure phase",
        (
            RUN_COLUMN,
            POINT_COLUMN,
            Column("transaction", "VARCHAR", "its name"),
            Column("count", "BIGINT", "completed without error"),
            Column("errors", "BIGINT", "failed"),
            Column(
                "retries",
                "BIGINT",
                "executed again after a serialization failure or a deadlock (workload.retries)",
            ),
            Column("rolled_back", "BIGINT", "of those completed: rolled back as their steps say"),
            Column("code", "VARCHAR", "of its first error"),
            Column("message", "VARCHAR", "of its first error"),
        ),
    ),
    Table(
        "executions",
        "one statement in the transactions done in the measure phase",
        (
            RUN_COLUMN,
            POINT_COLUMN,
            Column("statement", "VARCHAR", "its name"),
            Column("executions", "BIGINT", "completed, retried and failed transactions excluded"),
            Column(
                "rows",
                "BIGINT",
                "returned or changed; of Valkey replies, or elements of an array, that are not nil;"
                " NULL: the statement has no such number (SET, CALL)",
                nullable=True,
            ),
            Column("empty", "BIGINT", "executions without a row", nullable=True),
            Column("bytes", "BIGINT", "received; NULL: in-process, or by JDBC", nullable=True),
        ),
    ),
    Table(
        "marks",
        "the clients that reached their n-th execution of a statement in a run, warm-up included",
        (
            RUN_COLUMN,
            Column("statement", "VARCHAR", "its name"),
            Column("execution", "BIGINT", "n: 1 to 8, then four for each doubling: 10, 12, 14, 16, 20"),
            Column("clients", "BIGINT", "number of them"),
            Column("rows", "BIGINT", "of all their executions until then"),
            Column("empty", "BIGINT", "of these executions, those without a row"),
        ),
    ),
    Table(
        "errors",
        "one kind of error",
        (
            RUN_COLUMN,
            POINT_COLUMN,
            Column(
                "code", "VARCHAR", "SQLSTATE, or connection, deadline, step (of a transaction's own steps)"
            ),
            Column("count", "BIGINT", ""),
            Column("message", "VARCHAR", "the first message of this kind"),
        ),
    ),
)
