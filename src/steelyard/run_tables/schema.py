"""Every table of a bundle, with its columns, types and units: the one definition.

A table is one Parquet file per run (`runs/0007/latency.parquet`); the reader joins the files of all
runs into one view. Times `*_ns` count from the run's origin (its set-up began), unless a
docstring says otherwise. A metric whose name ends in `_total` is a counter that only grows; every
other metric is a gauge; a gauge `x` may have a companion `x_limit`, its upper limit.
"""

from __future__ import annotations

from steelyard.run_tables.host_tables import HOST_TABLES
from steelyard.run_tables.load_tables import LOAD_TABLES
from steelyard.run_tables.table import POINT_COLUMN, RUN_COLUMN, Column, Table

FORMAT_VERSION = 3


_ROLE = Column(
    "role", "VARCHAR", "whose threads: server, engine, pooler, hogs, monitors, kernel, idle, other"
)
TABLES: tuple[Table, ...] = (
    Table(
        "runs",
        "one run: one option in one block; the factors follow as columns of their own",
        (
            RUN_COLUMN,
            Column("option", "VARCHAR", "label made of the codes of its levels"),
            Column("block", "INTEGER", "number of the block, from 1"),
            Column("slot", "INTEGER", "place within the block, from 1"),
            Column("attempt", "INTEGER", "1, or more when the block was repeated"),
            Column("status", "VARCHAR", "done; void, disturbed: its block was repeated; damaged: left out"),
            Column("disturbed_share", "DOUBLE", "of its busy time, lost to others", nullable=True),
            Column("cause", "VARCHAR", "why the run is not used; empty when done"),
            Column("started_at", "VARCHAR", "UTC, ISO 8601"),
            Column("seconds", "DOUBLE", "length of the whole run, set-up included"),
        ),
    ),
    Table(
        "rehearsal",
        "one step of the rehearsal, in the first run after it",
        (
            RUN_COLUMN,
            Column("option", "VARCHAR", "the first option that needs the step"),
            Column("step", "VARCHAR", "server, statement, work, monitor, host setting, or refused probe"),
            Column("statement", "VARCHAR", "its name; of a server, the first option on it"),
            Column(
                "answer",
                "VARCHAR",
                "error or refusal; empty: it succeeded; of work, against the baseline: empty (the same),"
                " text, value (a number of a single row), rows, error, not reproducible (the baseline twice)",
            ),
            Column("seconds", "DOUBLE", "length of the step"),
            Column("plan", "VARCHAR", "the server's plan of the statement", nullable=True),
            Column("draws", "INTEGER", "of work: executions with values of their own", nullable=True),
            Column("rows", "DOUBLE", "of work: rows per execution", nullable=True),
        ),
    ),
    Table(
        "phases",
        "one phase of a run",
        (
            RUN_COLUMN,
            POINT_COLUMN,
            Column("clients", "INTEGER", "clients connected"),
            Column(
                "phase",
                "VARCHAR",
                "set-up, connect, warm-up, measure, scheduling-trace, latch-count, cool-down, disconnect,"
                " after",
            ),
            Column("start_ns", "BIGINT", ""),
            Column("end_ns", "BIGINT", ""),
        ),
    ),
    Table(
        "turns",
        "one turn of a run whose block ran in turns; its times are of the block, all others of the run"
        " count only its own turns",
        (
            RUN_COLUMN,
            POINT_COLUMN,
            Column("deal", "INTEGER", "number of the connections, from 1: each deal has new ones"),
            Column("round", "INTEGER", "from 1; each option has one turn per round"),
            Column("position", "INTEGER", "place within the round, from 1"),
            Column("start_ns", "BIGINT", "the load begins and settles"),
            Column("measure_ns", "BIGINT", "measuring begins"),
            Column("end_ns", "BIGINT", "measuring ends, and no transaction begins any more"),
            Column("drained_ns", "BIGINT", "the last transaction under way has ended"),
            Column("transactions", "BIGINT", "measured, without error"),
            Column(
                "first_half", "BIGINT", "of these, those that began in the first half of the measured time"
            ),
        ),
    ),
    *LOAD_TABLES,
    *HOST_TABLES,
    Table(
        "scores",
        "one instance of a program (workload kind 'program')",
        (
            RUN_COLUMN,
            POINT_COLUMN,
            Column("instance", "INTEGER", "number of the instance, from 0"),
            Column("score", "DOUBLE", "printed by the instance, in the study's workload.unit"),
            Column("seconds", "DOUBLE", "printed by the instance, or from the common start to its end"),
            Column("exit_code", "INTEGER", ""),
            Column("cpu_ns", "BIGINT", "CPU time of the instance and of all children it waited for"),
        ),
    ),
    Table(
        "further_scores",
        "one further score of one instance of a program (workload.scores)",
        (
            RUN_COLUMN,
            POINT_COLUMN,
            Column("instance", "INTEGER", "number of the instance, from 0"),
            Column("name", "VARCHAR", "its name in the study"),
            Column("value", "DOUBLE", "printed by the instance, in the unit that the study gives it"),
        ),
    ),
    Table(
        "samples",
        "one reading of one metric",
        (
            RUN_COLUMN,
            Column("t_ns", "BIGINT", "when it was read"),
            Column("monitor", "VARCHAR", "which monitor read it"),
            Column("entity", "VARCHAR", "of what: cpu0, server, database ..."),
            Column("metric", "VARCHAR", "name with its unit; `_total` for counters"),
            Column("value", "DOUBLE", ""),
        ),
    ),
    Table(
        "latches",
        "one latch over the measure phase; NULL: not available, which is never the same as 0",
        (
            RUN_COLUMN,
            POINT_COLUMN,
            Column("latch", "VARCHAR", "its name, or the family of its children"),
            Column("children", "INTEGER", "latches of the family; NULL: not known", nullable=True),
            Column("spin", "BIGINT", "turns that a miss spins before it sleeps; NULL: any", nullable=True),
            Column("gets", "BIGINT", "acquisitions", nullable=True),
            Column("misses", "BIGINT", "of these, not acquired at the first attempt", nullable=True),
            Column("spin_gets", "BIGINT", "of the misses, those that never slept", nullable=True),
            Column("sleeps", "BIGINT", "sleeps, several of one acquisition included", nullable=True),
            Column("wait_ns", "BIGINT", "time asleep, spinning excluded", nullable=True),
            Column("get_ns", "BIGINT", "time of all gets, waited for or not", nullable=True),
            Column("hand_overs", "BIGINT", "gets after another worker's", nullable=True),
            Column("hold_histogram", "BLOB", "hold times, HdrHistogram V2, ns", nullable=True),
            Column("wait_histogram", "BLOB", "waits of misses, HdrHistogram V2, ns", nullable=True),
        ),
    ),
    Table(
        "latch_gets",
        "gets of one latch in the phase latch-count of a load point: not measured",
        (
            RUN_COLUMN,
            POINT_COLUMN,
            Column("latch", "VARCHAR", "its name: all latches of a tranche"),
            Column("gets", "BIGINT", "acquisitions that would wait for the latch; by sampling"),
            Column("transactions", "BIGINT", "in that phase"),
        ),
    ),
    Table(
        "locks",
        "waits for kernel locks at one call site over the measure phase; NULL: not available, never 0",
        (
            RUN_COLUMN,
            POINT_COLUMN,
            _ROLE,
            Column("lock", "VARCHAR", "the lock's name where it has one, else its type"),
            Column("type", "VARCHAR", "spinlock, mutex, rwsem:R ...; as `perf lock contention` names it"),
            Column("call_site", "VARCHAR", "function+offset of the acquisition; empty: all call sites"),
            Column("distinct_locks", "BIGINT", "different locks waited for there", nullable=True),
            Column("acquisitions", "BIGINT", "waited for or not", nullable=True),
            Column("contended", "BIGINT", "of these, those that waited", nullable=True),
            Column("wait_total_ns", "BIGINT", ""),
            Column("wait_max_ns", "BIGINT", "", nullable=True),
            Column("wait_cpu_percent", "DOUBLE", "of all CPU time, spent spinning", nullable=True),
            Column("wait_histogram", "BLOB", "HdrHistogram V2, ns", nullable=True),
            Column(
                "utilisation_percent", "DOUBLE", "share of the time that the lock was held", nullable=True
            ),
            Column("hold_mean_ns", "DOUBLE", "", nullable=True),
            Column("hold_max_ns", "DOUBLE", "", nullable=True),
        ),
    ),
    Table(
        "profile",
        "one stack over the measure phase",
        (
            RUN_COLUMN,
            POINT_COLUMN,
            _ROLE,
            Column(
                "stack",
                "VARCHAR",
                "folded: the thread's name and its functions, outermost first, `;` between; `_[k]`: kernel",
            ),
            Column("samples", "BIGINT", "number of samples with this stack"),
        ),
    ),
    Table(
        "scheduling",
        "one role in the phase scheduling-trace of a load point: not measured",
        (
            RUN_COLUMN,
            POINT_COLUMN,
            _ROLE,
            Column("seconds", "DOUBLE", "length of the phase"),
            Column("voluntary", "BIGINT", "switches of threads that had to wait for something"),
            Column("involuntary", "BIGINT", "switches of threads that could have continued"),
            Column("migrations", "BIGINT", "threads put on another CPU"),
            Column("run_queue_histogram", "BLOB", "waits for a CPU, HdrHistogram V2, ns"),
            Column("slice_histogram", "BLOB", "time on the CPU without a switch, HdrHistogram V2, ns"),
            Column(
                "off_cpu_histogram",
                "BLOB",
                "from a voluntary switch to running again, HdrHistogram V2, ns",
            ),
        ),
    ),
    Table(
        "trace",
        "one time of a chosen simulated thread on a CPU, or one change of its priority",
        (
            RUN_COLUMN,
            POINT_COLUMN,
            Column("thread", "VARCHAR", "group:number"),
            Column("reason", "VARCHAR", "ran; or start, expired, waited, returned, forked: a change"),
            Column("cpu", "INTEGER", "CPU on which it ran; NULL: a change", nullable=True),
            Column("start_ns", "BIGINT", "simulated"),
            Column("end_ns", "BIGINT", "simulated; of a change: the same as start_ns"),
            Column("priority", "INTEGER", "global: level, nice and class added"),
        ),
    ),
    Table(
        "claims",
        "a published figure of a recording that its own counters can verify",
        (
            RUN_COLUMN,
            POINT_COLUMN,
            Column(
                "figure",
                "VARCHAR",
                "linear_percent, misses_per_get_percent, sleeps_per_miss_percent or gets_per_txn",
            ),
            Column("value", "DOUBLE", "as published"),
            Column("decimals", "INTEGER", "published decimal places"),
        ),
    ),
    Table(
        "notices",
        "one notice: what a reader of the results must know",
        (
            RUN_COLUMN,
            Column("code", "VARCHAR", "code of the kind: monitor-unavailable, run-void ..."),
            Column("text", "VARCHAR", "one sentence"),
        ),
    ),
)

BY_NAME = {table.name: table for table in TABLES}
