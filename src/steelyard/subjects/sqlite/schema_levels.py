"""SQL of the factors of scope schema in an SQLite file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from steelyard.study.plan import Option
from steelyard.study.study import Study
from steelyard.subjects.servers.schema_levels import apply_levels

_SIZES = """
select coalesce(sum(pgsize) filter (where name not in indexes), 0),
       coalesce(sum(pgsize) filter (where name in indexes), 0)
from dbstat
"""
_INDEXES = "with indexes as (select name from sqlite_master where type = 'index')"


def apply_schema(database: Path, study: Study, option: Option) -> dict[str, float]:
    """Executes the SQL of the option's levels, then ANALYZE; what it took, by name with unit.

    Raises sqlite3.Error, InputError.
    """
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:

        def execute(sql: str) -> tuple[str, int]:
            try:
                connection.executescript(sql)
            except sqlite3.Error as error:
                return str(error), 0
            return "", 0

        seconds = apply_levels(study, option, execute)
        connection.execute("analyze")
        return {"sql_s": seconds, **_sizes(connection)}


def _sizes(connection: sqlite3.Connection) -> dict[str, float]:
    """Of tables and indexes; of the file where this SQLite was built without the table dbstat."""
    try:
        tables_bytes, indexes_bytes = connection.execute(_INDEXES + _SIZES).fetchone()
    except sqlite3.OperationalError:
        (pages,), (page_bytes,) = (
            connection.execute(f"pragma {name}").fetchone() for name in ("page_count", "page_size")
        )
        return {"file_bytes": pages * page_bytes}
    return {"tables_bytes": tables_bytes, "indexes_bytes": indexes_bytes}
