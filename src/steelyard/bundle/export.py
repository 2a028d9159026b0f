"""A bundle's tables as files that any tool reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb

from steelyard.bundle.files import replacing
from steelyard.bundle.reader import Bundle
from steelyard.bundle.schema import BY_NAME, TABLES
from steelyard.study.errors import InputError, nearest

_FORMATS = {"csv": "format csv, header", "parquet": "format parquet", "json": "format json, array"}


def export(bundle: Bundle, folder: Path, kind: str, tables: Sequence[str] = ()) -> Iterator[Path]:
    """Writes each table (all when none is named); yields the files. Raises InputError.

    kind: csv, parquet or json. A histogram is written as hexadecimal where the format is text.
    """
    for name in tables:
        if name not in BY_NAME:
            raise InputError(f'no table "{name}"{nearest(name, BY_NAME)}')
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror}") from error
    for table in TABLES:
        if tables and table.name not in tables:
            continue
        place = folder / f"{table.name}.{kind}"
        hidden = [c.name for c in table.columns if c.type == "BLOB" and kind != "parquet"]
        replaced = ", ".join(f"hex({name}) as {name}" for name in hidden)
        columns = f"* replace ({replaced})" if hidden else "*"
        try:
            with replacing(place) as draft:
                target = str(draft).replace("'", "''")
                bundle.duckdb.execute(
                    f"copy (select {columns} from {table.name}) to '{target}' ({_FORMATS[kind]})"
                )
        except duckdb.Error as error:
            raise InputError(f"{place}: cannot be written: {error}") from None
        except OSError as error:
            raise InputError(f"{place}: cannot be written: {error.strerror}") from None
        yield place
