"""Histograms of a bundle's tables, decoded. where: the file, for the error of one that is damaged."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard import _core
from steelyard.study.errors import InputError


def quantiles(encoded: bytes, at: Sequence[float], where: str) -> list[int]:
    """Values at these quantiles, in ns. Raises InputError."""
    try:
        return _core.histogram_quantiles(encoded, list(at))
    except ValueError as error:
        raise _damaged(where, error) from None


def summary(encoded: bytes, where: str) -> tuple[int, int, float, int]:
    """Count, lowest, mean and highest value. Raises InputError."""
    try:
        return _core.histogram_summary(encoded)
    except ValueError as error:
        raise _damaged(where, error) from None


def merged(encoded: Sequence[bytes], where: str) -> bytes:
    """All of them as one. Raises InputError."""
    try:
        return _core.histogram_merge(list(encoded))
    except ValueError as error:
        raise _damaged(where, error) from None


def file_of(run: int, table: str) -> str:
    """Where a run's table is, within the bundle."""
    return f"runs/{run:04d}/{table}.parquet"


def _damaged(where: str, error: ValueError) -> InputError:
    return InputError(f"{where}: {error}", "take the file from a copy of the bundle")
