"""Tables of one run as DuckDB reads them, and what SQL finds in them before they are in a bundle."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import duckdb
import numpy as np

from steelyard.run_tables.rows import Columns
from steelyard.run_tables.schema import BY_NAME, ENGINE_TABLES, Column

_KNOWN = BY_NAME | ENGINE_TABLES


def asked(sql: str, tables: Mapping[str, Columns], *given: Any) -> dict[str, list[Any]]:
    """The columns that a query finds. A table of a run that is not there is empty, a column NULL.

    tables: of a run, or any others of numbers and texts. given: of $1, $2, ...
    """
    # temporary tables are of this cursor alone
    with _database().cursor() as connection:
        for name in set(re.findall(r"\w+", sql)) & (_KNOWN.keys() | tables.keys()):
            rows, select = tables.get(name, {}), "*"
            data = {column: np.asarray(values) for column, values in rows.items()}
            if table := _KNOWN.get(name):
                data, select = arrays(table.own_columns, rows), in_types(table.own_columns)
            connection.register("data", data)
            connection.execute(f"create temp table {name} as select {select} from data")
        answer = connection.execute(sql, given)
        found = answer.fetchall()
        return {column[0]: [row[at] for row in found] for at, column in enumerate(answer.description)}


@cache
def _database() -> duckdb.DuckDBPyConnection:
    # opened once: it takes thirty times as long as a small query
    return duckdb.connect(config={"threads": 1})


def in_types(columns: Sequence[Column]) -> str:
    """What selects them from `arrays`, in their types."""
    return ", ".join(f'"{c.name}"::{c.type} as "{c.name}"' for c in columns)


def arrays(columns: Sequence[Column], rows: Columns) -> dict[str, np.ndarray[Any, Any]]:
    """The rows as arrays that DuckDB reads."""
    length = len(next(iter(rows.values()), ()))
    return {c.name: _array(rows[c.name], c) if c.name in rows else np.full(length, None) for c in columns}


def _array(values: Sequence[Any], column: Column) -> np.ndarray[Any, Any]:
    if column.type in ("VARCHAR", "BLOB") or (column.nullable and any(v is None for v in values)):
        # object arrays keep None, and bytes whole: a fixed-width numpy string drops trailing zeros
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.asarray(values, dtype=np.float64 if column.type == "DOUBLE" else np.int64)
