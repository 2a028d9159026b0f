"""A bundle's tables as files that any tool reads; profiles as folded stacks, and in speedscope's own format.

Folded: one stack per line, outermost first, and its samples, as flamegraph.pl reads it.
https://www.speedscope.app/file-format-schema.json
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb

from steelyard.bundle.evidence import grouped
from steelyard.bundle.reader import Bundle
from steelyard.bundle.storage.files import Place, file_names, replacing, write_whole
from steelyard.errors import InputError, nearest
from steelyard.run_tables.schema import DERIVED, TABLES, Table

_FORMATS = {"csv": "format csv, header", "parquet": "format parquet", "json": "format json, array"}
FORMATS = ("speedscope", "folded")

_STACKS = """
    select u.option, p.role || ';' || p.stack as stack, sum(p.samples)::BIGINT as samples
    from profile p join (select run, option from used_runs) u using (run)
    group by u.option, p.role, p.stack order by u.option, stack
"""


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


def export_stacks(bundle: Bundle, folder: Path, kind: str) -> Iterator[Path]:
    """One file per option, all its runs together, the role as outermost frame. Raises InputError."""
    rows: list[tuple[str, str, int]] = bundle.duckdb.execute(_STACKS).fetchall()
    by_option = grouped((option, (stack, samples)) for option, stack, samples in rows)
    if not by_option:
        raise InputError(f"{bundle.path}: the bundle has no profile", "steelyard run STUDY --profile")
    hz = bundle.study.probes.profile_hz
    names = file_names(by_option)
    for option, stacks in by_option.items():
        if kind == "folded":
            place = folder / f"{names[option]}.folded"
            text = "".join(f"{stack} {samples}\n" for stack, samples in stacks)
        else:
            place = folder / f"{names[option]}.speedscope.json"
            text = json.dumps(_speedscope(f"{bundle.study.name}: {option}", stacks, hz))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(place, text)
        except OSError as error:
            raise InputError(f"{place}: cannot be written: {error.strerror}") from error
        yield place


def _speedscope(name: str, stacks: list[tuple[str, int]], hz: int) -> dict[str, Any]:
    """Weights in microseconds of CPU time where the rate is known, else samples."""
    each_us = 1e6 / hz if hz else 1.0
    numbers: dict[str, int] = {}
    samples = [[numbers.setdefault(frame, len(numbers)) for frame in stack.split(";")] for stack, _ in stacks]
    weights = [count * each_us for _, count in stacks]
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": name,
        "exporter": "steelyard",
        "shared": {"frames": [{"name": frame} for frame in numbers]},
        "profiles": [
            {
                "type": "sampled",
                "name": name,
                "unit": "microseconds" if hz else "none",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        ],
    }
