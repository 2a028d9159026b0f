"""Histograms of a bundle's tables, decoded by SQL. file: its place, for the error of a damaged one."""

from collections.abc import Sequence
from typing import Any

import duckdb

from steelyard import _core
from steelyard.errors import InputError


def add_functions(connection: duckdb.DuckDBPyConnection) -> None:
    """quantiles_ns(histogram, at, file), mean_ns(histogram, file), merged(histograms, file)."""
    untyped: Any = connection
    untyped.create_function("quantiles_ns", quantiles, ["BLOB", "DOUBLE[]", "VARCHAR"], "DOUBLE[]")
    untyped.create_function("mean_ns", _mean, ["BLOB", "VARCHAR"], "DOUBLE")
    untyped.create_function("merged", merged, ["BLOB[]", "VARCHAR"], "BLOB")


def quantiles(encoded: bytes, at: Sequence[float], file: str) -> list[int]:
    """Values at these quantiles, in ns. Raises InputError."""
    try:
        return _core.histogram_quantiles(encoded, list(at))
    except ValueError as error:
        raise _damaged(file, error) from None


def summary(encoded: bytes, file: str) -> tuple[int, int, float, int]:
    """Count, lowest, mean and highest value. Raises InputError."""
    try:
        return _core.histogram_summary(encoded)
    except ValueError as error:
        raise _damaged(file, error) from None


def merged(encoded: Sequence[bytes], file: str) -> bytes:
    """All of them as one. Raises InputError."""
    try:
        return _core.histogram_merge(list(encoded))
    except ValueError as error:
        raise _damaged(file, error) from None


def file_of(run: int, table: str) -> str:
    """Where a run's table is, within the bundle."""
    return f"runs/{run:04d}/{table}.parquet"


def file_in(table: str) -> str:
    """The same, as an expression in SQL over a table with `run`."""
    return f"printf('runs/%04d/{table}.parquet', run)"


def _mean(encoded: bytes, file: str) -> float:
    return summary(encoded, file)[2]


def _damaged(file: str, error: ValueError) -> InputError:
    return InputError(f"{file}: {error}", "take the file from a copy of the bundle")
