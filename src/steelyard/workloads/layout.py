"""Tables of a workload: columns in SQL of every server, keys, indexes, size; room on the disk."""

import re
import shutil
import tempfile
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import InputError
from steelyard.workloads import Condition, FileTable


@dataclass(frozen=True)
class Layout:
    """A table. key, indexes: names of columns; row_bytes: about, with its indexes.

    rows, per_unit, per_trade: how many there are as loaded, of any scale and of each unit and trade.
    """

    columns: str
    key: str
    row_bytes: int
    indexes: str = ""
    rows: float = 0
    per_unit: float = 0
    per_trade: float = 0

    @property
    def names(self) -> list[str]:
        """Names of its columns, in order."""
        # commas within brackets part digits of a decimal
        return [column.split()[0] for column in re.split(r",(?![^(]*\))", self.columns)]

    def count(self, units: int, trades: int = 0) -> int:
        """Rows as loaded."""
        return round(self.rows + self.per_unit * units + self.per_trade * trades)

    def table(self, name: str, write: Callable[[Path], Path], rows: int = 0) -> FileTable:
        """With what writes its rows, so many of them."""
        indexes = tuple(filter(None, self.indexes.split("; ")))
        return FileTable(name, self.columns, self.key, indexes, write, self.row_bytes * rows)


def file_tables(
    layouts: Mapping[str, Layout], lines: Callable[[str], Iterable[str]], units: int, trades: int = 0
) -> tuple[FileTable, ...]:
    """Tables whose rows are written as CSV files. lines: of a table, without a header."""

    def writes(name: str, layout: Layout) -> Callable[[Path], Path]:
        def write(folder: Path) -> Path:
            path = folder / f"{name}.csv"
            with path.open("w", encoding="ascii", newline="") as file:
                file.write(",".join(layout.names) + "\n")
                file.writelines(lines(name))
            return path

        return write

    return tuple(
        one.table(name, writes(name, one), one.count(units, trades)) for name, one in layouts.items()
    )


def conditions(texts: Iterable[tuple[str, str]], after_runs: Container[int]) -> tuple[Condition, ...]:
    """Each by its text and SQL, numbered from 1. after_runs: numbers of those that hold after runs too."""
    return tuple(
        Condition(f"consistency condition {number} ({text})", sql, number in after_runs)
        for number, (text, sql) in enumerate(texts, start=1)
    )


def check_disk_room(
    number: float, each_bytes: float, what: str, fitting: Callable[[float], str], at: tuple[str, ...]
) -> None:
    """Raises InputError where `number` times each_bytes do not fit into the folder for temporary files.

    what: the number with its noun; fitting: a smaller number as the study's key, '' where none fits; at: of
    the key.
    """
    folder = tempfile.gettempdir()
    free_bytes = shutil.disk_usage(folder).free
    if number * each_bytes <= free_bytes:
        return
    smaller = fitting(free_bytes / each_bytes)
    raise InputError(
        f"{what} needs about {number * each_bytes / 1e9:.3g} GB in {folder},"
        f" where {free_bytes / 1e9:.3g} GB are free",
        f"{smaller} fits" if smaller else "set TMPDIR to a folder with more space",
        at,
    )
