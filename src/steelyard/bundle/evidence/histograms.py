"""Histograms of a bundle's tables, decoded by SQL. file: its place, for the error of a damaged one."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
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
    with _named(file):
        return _core.histogram_quantiles(encoded, list(at))


def summary(encoded: bytes, file: str) -> tuple[int, int, float, int]:
    """Count, lowest, mean and highest value. Raises InputError."""
    with _named(file):
        return _core.histogram_summary(encoded)


def merged(encoded: Sequence[bytes], file: str) -> bytes:
    """All of them as one. Raises InputError."""
    with _named(file):
        return _core.histogram_merge(list(encoded))


def file_of(run: int, table: str) -> str:
    """Where a run's table is, within the bundle."""
    return f"runs/{run:04d}/{table}.parquet"


def file_in(table: str) -> str:
    """The same, as an expression in SQL over a table with `run`."""
    return f"printf('runs/%04d/{table}.parquet', run)"


def _mean(encoded: bytes, file: str) -> float:
    return summary(encoded, file)[2]


@contextmanager
def _named(file: str) -> Generator[None]:
    """A histogram that cannot be decoded is that of a damaged file."""
    try:
        yield
    except ValueError as error:
        raise InputError(f"{file}: {error}", "take the file from a copy of the bundle") from None
