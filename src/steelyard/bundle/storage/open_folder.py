"""A folder held open, so that DuckDB finds files in it whatever characters its path contains."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from steelyard.study.errors import InputError


class Place:
    """A folder. Raises InputError when it cannot be read.

    DuckDB reads `[`, `*` and `?` in a path as a pattern and `key=value` as a column, and rejects a path
    that is not UTF-8; the path of an open handle has none of these.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self._handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise InputError(f"{folder}: cannot be read: {error.strerror}") from None
        self.path = f"/proc/self/fd/{self._handle}"

    def close(self) -> None:
        """Closes the folder: its path is invalid afterwards."""
        os.close(self._handle)

    def sync(self) -> None:
        """Flushes names that were added or changed in the folder to disk."""
        os.fsync(self._handle)

    def named(self, text: str) -> str:
        """A message of DuckDB with the folder's real path."""
        return text.replace(self.path, str(self.folder))


@contextmanager
def readable(path: Path, place: Place | None = None) -> Generator[None]:
    """Turns DuckDB's errors for the bundle at path into an InputError that names the file."""
    try:
        yield
    except duckdb.Error as error:
        # an error of a function of ours is that of its file
        text = str(error).partition("\n")[0].rpartition("InputError: ")[2]
        scarce = isinstance(error, duckdb.OutOfMemoryException)
        raise InputError(
            f"{path}: its tables cannot be read: {place.named(text) if place else text}",
            "raise the limit of memory: ulimit -v, or docker run --memory"
            if scarce
            else "take the file from a copy of the bundle",
        ) from None
