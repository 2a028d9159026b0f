"""A folder held open, so that DuckDB finds files in it whatever its path is made of."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from steelyard.study.errors import InputError


class Place:
    """A folder. Raises InputError when it is none, or not to be read.

    DuckDB takes `[`, `*` and `?` in a path for a pattern and `key=value` for a column, and cannot spell a
    path that is not UTF-8; the path of an open handle has none of these.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self._handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise InputError(f"{folder}: cannot be read: {error.strerror}") from None
        self.path = f"/proc/self/fd/{self._handle}"

    def close(self) -> None:
        """Lets the folder go: its path is of no use from here on."""
        os.close(self._handle)

    def sync(self) -> None:
        """Names that were added or changed in the folder are on the disk when this returns."""
        os.fsync(self._handle)

    def named(self, text: str) -> str:
        """A message of DuckDB's with the folder's own path."""
        return text.replace(self.path, str(self.folder))


@contextmanager
def readable(path: Path, place: Place | None = None) -> Generator[None]:
    """What DuckDB cannot read of the bundle at path becomes an InputError, naming its file."""
    try:
        yield
    except duckdb.Error as error:
        text = str(error).partition("\n")[0]
        raise InputError(
            f"{path}: its tables cannot be read: {place.named(text) if place else text}",
            "take the file from a copy of the bundle",
        ) from None
