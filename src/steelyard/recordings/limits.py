"""Limits of an import, so that each one ends: time, memory of a query, and how far a packed file unpacks."""

import re
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer

import duckdb

from steelyard.errors import InputError

MINUTES = 10.0
_MEMORY = "300MB"
# reports pack to a tenth or a hundredth of their size
_UNPACKED_TIMES, _UNPACKED_BYTES = 100, 64 << 20


@dataclass(frozen=True)
class Deadline:
    """When an import ends at the latest."""

    minutes: float = MINUTES
    began_s: float = field(default_factory=time.monotonic)

    @property
    def left_s(self) -> float:
        """Until then; negative after it."""
        return self.began_s + 60 * self.minutes - time.monotonic()

    def check(self, path: Path, read_bytes: int = 0) -> None:
        """Raises InputError after it, and for a packed file from which more was read than a report holds."""
        if read_bytes > _UNPACKED_BYTES + _UNPACKED_TIMES * path.stat().st_size:
            raise InputError(
                f"{path}: unpacks to more than {_UNPACKED_TIMES} times its size",
                "unpack it first: gunzip or unzstd",
            )
        if self.left_s < 0:
            raise InputError(
                f"{path}: the import takes longer than {self.minutes:g} min", "--minutes allows it more"
            )

    @contextmanager
    def query(self, path: Path) -> Generator[duckdb.DuckDBPyConnection]:
        """A connection for queries of a file. Raises InputError for a file that cannot be read."""
        # an interrupt between two queries interrupts none
        self.check(path)
        connection = duckdb.connect(config={"memory_limit": _MEMORY})
        timer = Timer(max(0.0, self.left_s), connection.interrupt)
        timer.daemon = True
        timer.start()
        try:
            connection.execute("set enable_progress_bar = false")
            yield connection
        except duckdb.Error as error:
            self.check(path)
            if isinstance(error, duckdb.OutOfMemoryException):
                raise InputError(f"{path}: needs more than {_MEMORY} of memory", "split the file") from None
            line = re.search(r"(?:on Line:|in line|in record/value) (\d+)", str(error))
            kind = {".parquet": "Parquet", ".csv": "CSV"}.get(path.suffix.lower(), "a table")
            raise InputError(
                f"{path}{f':{line[1]}' if line else ''}: damaged, or not {kind}",
                "each row has as many cells as the first line, and each quote an end",
            ) from None
        finally:
            timer.cancel()
            connection.close()
