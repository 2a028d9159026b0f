"""Runs of a bundle of format 1, which have no identity file: it is read from their table `runs`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import duckdb
from pydantic import ValidationError

from steelyard.bundle.storage.identity import Found, Identity
from steelyard.bundle.storage.open_folder import Place
from steelyard.run_tables.schema import TABLES


def identify_older(runs: Path, folders: Mapping[int, Path], options: Collection[str]) -> Sequence[Found]:
    """The runs in these folders of the folder `runs`. Damage of other tables is not detected here."""
    with duckdb.connect() as connection, closing(Place(runs)) as place:
        try:
            rows = _rows(connection, place.path, list(folders.values()))
        except duckdb.Error:
            # find the damaged one
            return [_alone(connection, place.path, folder, options) for folder in folders.values()]
    return [_found(folder, rows.get(folder.name, ()), options) for folder in folders.values()]


_Row = tuple[object, ...]


def _rows(
    connection: duckdb.DuckDBPyConnection, place: str, folders: Sequence[Path]
) -> dict[str, list[_Row]]:
    """run, option, block, attempt, status by the folder's name."""
    found: dict[str, list[_Row]] = {}
    if folders:
        listed = ", ".join(f"'{place}/{folder.name}/runs.parquet'" for folder in folders)
        for name, *row in connection.execute(
            "select filename, run, option, block, attempt, status"
            f" from read_parquet([{listed}], filename = true, union_by_name = true,"
            " hive_partitioning = false)"
        ).fetchall():
            found.setdefault(Path(name).parent.name, []).append(tuple(row))
    return found


def _alone(
    connection: duckdb.DuckDBPyConnection, place: str, folder: Path, options: Collection[str]
) -> Found:
    try:
        return _found(folder, _rows(connection, place, [folder]).get(folder.name, ()), options)
    except duckdb.Error:
        return Found(int(folder.name), why=f"runs/{folder.name}/runs.parquet: missing or damaged")


def _found(folder: Path, rows: Sequence[_Row], options: Collection[str]) -> Found:
    number, file = int(folder.name), f"runs/{folder.name}/runs.parquet"
    if len(rows) != 1:
        return Found(number, why=f"{file}: {len(rows)} rows instead of one")
    tables = {table.name: "" for table in TABLES if (folder / f"{table.name}.parquet").exists()}
    names = ("run", "option", "block", "attempt", "status")
    try:
        identity = Identity.model_validate(
            {**dict(zip(names, rows[0], strict=True)), "bundle": "", "tables": tables}
        )
    except ValidationError as error:
        return Found(number, why=f"{file}: {error.errors()[0]['msg']}")
    if identity.run != number:
        return Found(number, why=f"{file} belongs to run {identity.run}")
    if identity.option not in options:
        return Found(number, why=f"{file}: no option {identity.option} is in bundle.json")
    return Found(number, identity)
