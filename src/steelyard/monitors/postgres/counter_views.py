"""PostgreSQL's counters by view and version: selects that are joined into one query."""

from dataclasses import dataclass

_NEWEST = 10_000


@dataclass(frozen=True)
class Part:
    """Columns from one source with one row, joined to the others in a single query.

    columns: expression by `entity metric`. since, before: major versions of the server. hint: the remedy.
    """

    name: str
    source: str
    columns: tuple[tuple[str, str], ...]
    since: int = 0
    before: int = _NEWEST
    hint: str = ""

    def sql(self) -> str:
        """The part as a separate select."""
        columns = ", ".join(f'{expression} as "{name}"' for name, expression in self.columns)
        return f"select {columns} from {self.source}"


PARTS = (
    Part(
        "database",
        "pg_stat_database where datname = current_database()",
        (
            ("database commits_total", "xact_commit"),
            ("database rollbacks_total", "xact_rollback"),
            ("database blocks_hit_total", "blks_hit"),
            ("database blocks_read_total", "blks_read"),
            ("database rows_returned_total", "tup_returned"),
            ("database rows_written_total", "tup_inserted + tup_updated + tup_deleted"),
            ("database temp_bytes_total", "temp_bytes"),
            ("database deadlocks_total", "deadlocks"),
            ("database sessions", "numbackends"),
        ),
    ),
    Part(
        "wal",
        "pg_stat_wal",
        (
            ("wal bytes_total", "wal_bytes"),
            ("wal records_total", "wal_records"),
            ("wal full_page_images_total", "wal_fpi"),
        ),
        since=14,
    ),
    Part(
        "wal",
        "(select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal_bytes) as wal",
        (("wal bytes_total", "wal_bytes"),),
        before=14,
        hint="a standby writes no WAL: monitor the primary",
    ),
    Part(
        "io",
        "pg_stat_io where object in ('relation', 'temp relation')",
        (
            ("io reads_total", "coalesce(sum(reads), 0)"),
            ("io read_bytes_total", "coalesce(sum(read_bytes), 0)"),
            ("io writes_total", "coalesce(sum(writes), 0)"),
            ("io written_bytes_total", "coalesce(sum(write_bytes), 0)"),
            ("io extends_total", "coalesce(sum(extends), 0)"),
            ("io fsyncs_total", "coalesce(sum(fsyncs), 0)"),
            ("io evictions_total", "coalesce(sum(evictions), 0)"),
        ),
        since=18,
    ),
    Part(
        "io",
        "pg_stat_io where object in ('relation', 'temp relation')",
        (
            ("io reads_total", "coalesce(sum(reads), 0)"),
            ("io read_bytes_total", "coalesce(sum(reads * op_bytes), 0)"),
            ("io writes_total", "coalesce(sum(writes), 0)"),
            ("io written_bytes_total", "coalesce(sum(writes * op_bytes), 0)"),
            ("io extends_total", "coalesce(sum(extends), 0)"),
            ("io fsyncs_total", "coalesce(sum(fsyncs), 0)"),
            ("io evictions_total", "coalesce(sum(evictions), 0)"),
        ),
        since=16,
        before=18,
    ),
    Part(
        "io",
        "pg_stat_bgwriter",
        (
            ("io writes_total", "buffers_checkpoint + buffers_clean + buffers_backend"),
            ("io backend_writes_total", "buffers_backend"),
            ("io backend_fsyncs_total", "buffers_backend_fsync"),
        ),
        before=16,
    ),
    Part(
        "checkpoints",
        "pg_stat_checkpointer",
        (("checkpoints timed_total", "num_timed"), ("checkpoints requested_total", "num_requested")),
        since=17,
    ),
    Part(
        "checkpoints",
        "pg_stat_bgwriter",
        (
            ("checkpoints timed_total", "checkpoints_timed"),
            ("checkpoints requested_total", "checkpoints_req"),
        ),
        before=17,
    ),
)

# A pass of eviction drops 5 % of the entries, at least 10, and begins only when all are in use
# (entry_dealloc in pg_stat_statements.c, the same in 13 to 18): so the number of entries evicted
# is known from the number of passes.
_EVICTED = "dealloc * greatest(10, current_setting('pg_stat_statements.max')::int * 5 / 100)"

# calls and plans are gauges: they disappear with their evicted entry.
ENTRIES = Part(
    "statements",
    "{schema}.pg_stat_statements(false)",
    (
        ("statements entries", "count(*)"),
        ("statements entries_limit", "current_setting('pg_stat_statements.max')::int"),
        ("statements held_calls", "coalesce(sum(calls), 0)"),
    ),
)
PLANS = ("statements held_plans", "coalesce(sum(plans), 0)")
PASSES = Part(
    "statement evictions",
    "{schema}.pg_stat_statements_info",
    (
        ("statements eviction_passes_total", "dealloc"),
        ("statements evicted_total", _EVICTED),
    ),
    since=14,
)
TEXTS = Part(
    "statement texts",
    "pg_stat_file('pg_stat_tmp/pgss_query_texts.stat')",
    (("statements texts_bytes", "size"),),
    hint="needs a superuser or pg_read_server_files",
)
