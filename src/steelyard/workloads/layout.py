"""Tables of a workload: columns in SQL of every server, keys, indexes, size; room on the disk."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import InputError
from steelyard.workloads import FileTable


@dataclass(frozen=True)
class Layout:
    """A table. row_bytes: about, with its indexes."""

    columns: str
    key: tuple[str, ...]
    row_bytes: int
    indexes: tuple[tuple[str, ...], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its columns, in order."""
        depth, names, word = 0, list[str](), ""
        for character in self.columns + ",":
            depth += {"(": 1, ")": -1}.get(character, 0)
            if character == "," and depth == 0:
                names.append(word.split()[0])
                word = ""
            else:
                word += character
        return tuple(names)


def file_tables(
    layouts: Mapping[str, Layout], lines: Callable[[str], Iterable[str]], rows: Callable[[str], int]
) -> tuple[FileTable, ...]:
    """Tables whose rows are written as CSV files. lines: of a table, without a header; rows: their number."""

    def writes(name: str, layout: Layout) -> Callable[[Path], Path]:
        def write(folder: Path) -> Path:
            path = folder / f"{name}.csv"
            with path.open("w", encoding="ascii", newline="") as file:
                file.write(",".join(layout.names) + "\n")
                file.writelines(lines(name))
            return path

        return write

    return tuple(
        FileTable(name, one.columns, one.key, one.indexes, writes(name, one), one.row_bytes * rows(name))
        for name, one in layouts.items()
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
