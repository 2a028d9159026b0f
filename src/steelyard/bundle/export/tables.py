"""A bundle's tables as files that any tool reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import duckdb

from steelyard.bundle.reader import Bundle
from steelyard.bundle.storage.files import replacing
from steelyard.bundle.storage.open_folder import Place
from steelyard.run_tables.derived import DERIVED
from steelyard.run_tables.schema import TABLES, Table
from steelyard.study.errors import InputError, nearest

_FORMATS = {"csv": "format csv, header", "parquet": "format parquet", "json": "format json, array"}


def export(bundle: Bundle, folder: Path, kind: str, tables: Sequence[str] = ()) -> Iterator[Path]:
    """Writes each table (all when none is named); yields the files. Raises InputError.

    kind: csv, parquet or json. A histogram is written as hexadecimal where the format is text; its
    percentiles are numbers in the table `percentiles`.
    """
    known = {table.name: table for table in (*TABLES, *DERIVED)}
    for name in tables:
        if name not in known:
            raise InputError(f'no table "{name}"{nearest(name, known)}')
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{folder}: cannot be made: {why}", "name another folder") from None
    with closing(Place(folder)) as place:
        for table in known.values():
            if not tables or table.name in tables:
                yield _written(bundle, table, place, kind)


def _written(bundle: Bundle, table: Table, place: Place, kind: str) -> Path:
    hidden = [c.name for c in table.columns if c.type == "BLOB" and kind != "parquet"]
    replaced = ", ".join(f"hex({name}) as {name}" for name in hidden)
    columns = f"* replace ({replaced})" if hidden else "*"
    file = place.folder / f"{table.name}.{kind}"
    try:
        with replacing(file) as draft:
            target = f"{place.path}/{draft.name}"
            bundle.duckdb.execute(
                f"copy (select {columns} from {table.name}) to '{target}' ({_FORMATS[kind]})"
            )
    except duckdb.Error as error:
        raise InputError(f"{file}: cannot be written: {place.named(str(error))}") from None
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from None
    return file
