"""Rows of one table, made one at a time; and the check that whole columns fit the schema."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steelyard.run_tables.schema import BY_NAME, Column, Table

# equal lengths, by name; without `run`, which the writer of the bundle adds
Columns = Mapping[str, Sequence[Any]]

_ENCODED = "_base64"
_TYPES = {"INTEGER": (int,), "BIGINT": (int,), "DOUBLE": (float, int), "VARCHAR": (str,), "BLOB": (bytes,)}
_BITS = {"INTEGER": 32, "BIGINT": 64}


class SchemaError(ValueError):
    """Rows do not match their table. table, column, problem: place and cause."""

    def __init__(self, table: str, column: str, problem: str) -> None:
        super().__init__(f"table {table}, column {column}: {problem}")


class Rows:
    """Rows of one table of the schema, without `run`."""

    def __init__(self, table: str) -> None:
        self._table = BY_NAME[table]
        self._values: dict[str, list[Any]] = {column.name: [] for column in self._table.own_columns}

    def add(self, **values: Any) -> None:
        """Adds a row; None where left out. Raises SchemaError: unknown column, missing one not nullable."""
        check_names(self._table, values)
        for name, column in self._values.items():
            column.append(values.get(name))

    def extend(self, columns: Columns) -> None:
        """Adds columns, one value per row in each. Raises SchemaError where they do not match the table."""
        check(self._table, columns)
        length = len(next(iter(columns.values())))
        for name, column in self._values.items():
            column.extend(columns.get(name, [None] * length))

    def columns(self) -> dict[str, list[Any]]:
        """A copy of all columns of the table."""
        return {name: list(values) for name, values in self._values.items()}


def each(columns: Columns, *names: str) -> Iterator[tuple[Any, ...]]:
    """The rows of some columns, or of all."""
    return zip(*(columns[name] for name in names or columns), strict=True)


def check(table: Table, columns: Columns) -> None:
    """Raises SchemaError for an unknown or missing column, a value of a wrong type, unequal lengths."""
    check_names(table, columns)
    first = next(iter(columns))
    length = len(columns[first])
    for column in table.own_columns:
        if column.name not in columns:
            continue
        values = columns[column.name]
        if wrong := _misfit(column, values):
            raise SchemaError(table.name, column.name, wrong)
        if len(values) != length:
            raise SchemaError(table.name, column.name, f"{len(values)} values, but {first} has {length}")


def check_names(table: Table, given: Mapping[str, Any]) -> None:
    """Raises SchemaError for an unknown column, and for a missing one that is not nullable."""
    known = {column.name: column for column in table.own_columns}
    for name in given:
        if name not in known:
            raise SchemaError(table.name, name, "the table has no such column")
    for name, column in known.items():
        if name not in given and not column.nullable:
            raise SchemaError(table.name, name, "is missing")


def decoded(table: str, columns: Columns) -> Columns:
    """Columns as JSON carries them, with bytes in place of `NAME_base64`. Raises SchemaError."""
    found: dict[str, Sequence[Any]] = {}
    for name, values in columns.items():
        own = name.removesuffix(_ENCODED)
        try:
            found[own] = (
                [None if text is None else base64.b64decode(text, validate=True) for text in values]
                if own != name
                else values
            )
        except (TypeError, ValueError):
            raise SchemaError(table, own, "not base64") from None
    return found


def encoded(columns: Columns) -> Columns:
    """Columns as JSON can carry them: `decoded` is the inverse."""
    found: dict[str, Sequence[Any]] = {}
    for name, values in columns.items():
        if any(isinstance(value, bytes) for value in values):
            found[name + _ENCODED] = [v if v is None else base64.b64encode(v).decode() for v in values]
        else:
            found[name] = values
    return found


def _misfit(column: Column, values: Sequence[Any]) -> str:
    """The reason that a value does not match its column; empty where all do."""
    allowed = {*_TYPES[column.type], *([type(None)] if column.nullable else [])}
    if not set(map(type, values)) <= allowed:
        wrong = next(value for value in values if type(value) not in allowed)
        return f"{wrong!r:.60} is not {column.type}"
    if bits := _BITS.get(column.type):
        limit = 1 << (bits - 1)
        wrong = next((v for v in values if v is not None and not -limit <= v < limit), None)
        return "" if wrong is None else f"{wrong} is beyond {bits} bits"
    return ""
