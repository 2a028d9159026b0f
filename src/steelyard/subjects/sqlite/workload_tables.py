"""Creates and fills the tables of a workload in SQLite."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from steelyard.subjects.servers.scripts import data_error, script_error
from steelyard.workloads import DataTable, Work

_HEAD = b"SQLite format 3\0"  # https://www.sqlite.org/fileformat.html


def load(database: Path, pragmas: Mapping[str, str], work: Work) -> None:
    """Makes the file of a database. pragmas: set where the file is made.

    Raises sqlite3.Error, OSError; InputError where the study's own script or data fail.
    """
    if work.data is not None and _is_database(work.data):
        # with what the last writer has not yet written into the file itself
        for suffix in ("", "-wal"):
            if (source := Path(f"{work.data}{suffix}")).exists():
                shutil.copyfile(source, f"{database}{suffix}")
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        for key, value in pragmas.items():
            connection.execute(f"pragma {key} = '{value}'")
        for part in load_statements(work):
            if isinstance(part, Path):
                if not _is_database(part):
                    _run_file(connection, part)
            elif part == work.script:
                _run_script(connection, work)
            else:
                connection.execute(part)


def load_statements(work: Work) -> list[str | Path]:
    """SQL, and a file of data, that make and fill the tables of a workload, in order."""
    statements: list[str | Path] = [text for table in work.tables for text in _create(table)]
    if work.script.strip():
        statements.append(work.script)
    if work.data is not None:
        statements.append(work.data)
    return [*statements, "analyze"]


def _is_database(file: Path) -> bool:
    with file.open("rb") as content:
        return content.read(len(_HEAD)) == _HEAD


def _run_script(connection: sqlite3.Connection, work: Work) -> None:
    try:
        connection.executescript(work.script)
    except sqlite3.Error as error:
        raise script_error(work, str(error)) from None


def _run_file(connection: sqlite3.Connection, file: Path) -> None:
    try:
        connection.executescript(file.read_text(encoding="utf-8"))
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise data_error(file, str(error)) from None


def _create(table: DataTable) -> list[str]:
    key, *others = table.columns
    # an integer primary key is the number of the row itself: the table is its index
    columns = ", ".join(
        [f"{key.name} {key.type} primary key", *(f"{c.name} {c.type} not null" for c in others)]
    )
    values = ", ".join(c.value for c in table.columns)
    return [
        f"create table {table.name} ({columns})",
        f"insert into {table.name} with recursive numbers(n) as"
        f" (select 1 union all select n + 1 from numbers where n < {table.rows})"
        f" select {values} from numbers",
    ]
