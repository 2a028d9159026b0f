"""Tables of results with a mapping: CSV, Parquet or JSON lines, one row per run and load point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb

from steelyard.recordings.cells import LARGEST, number
from steelyard.recordings.filing import code_of
from steelyard.recordings.placed import PlacedRun
from steelyard.recordings.report import Report, Work
from steelyard.recordings.schedule import TableFile
from steelyard.recordings.source import Skipped
from steelyard.study.errors import InputError, brief, nearest

_READERS = {".parquet": "read_parquet", ".csv": "read_csv", ".jsonl": "read_json", ".ndjson": "read_json",
            ".json": "read_json"}  # fmt: skip
_ROWS_MAX = 1_000_000
_LENGTH_S = 100.0
_PERIODS_S = {"s": 1, "min": 60, "h": 3600}


def runs_of_table(table: TableFile, place: Path, unread: dict[str, Skipped]) -> list[PlacedRun]:
    """The runs of a table; rows with a cell that is no number are not understood. Raises InputError."""
    rows = _rows(table, place)
    skipped = Skipped()
    runs: dict[tuple[str, int], PlacedRun] = {}
    counted: dict[tuple[str, int | None], int] = {}
    for line, row in enumerate(rows, start=1):
        try:
            option, clients, report = _report(table, place, line, row)
            said = _block(row[table.block]) if table.block else None
        except ValueError as error:
            skipped.add(line, f"row {line}: {error}")
            continue
        seen = counted[option, clients] = counted.get((option, clients), 0) + 1
        block = said or seen
        run = runs.setdefault((option, block), PlacedRun(option, block, [], []))
        if any(n == clients for n, _ in run.points):
            raise InputError(f"{place}: a second row of {option}, block {block}, clients {clients}")
        run.points.append((clients, [report]))
    if skipped.count:
        unread[str(place)] = skipped
    if not runs:
        first = f": the first is {skipped.lines[0][1]}" if skipped.count else ""
        raise InputError(f"{place}: no row was understood{first}")
    for run in runs.values():
        run.points.sort(key=lambda point: point[0] or 0)
    return list(runs.values())


def _rows(table: TableFile, place: Path) -> list[Mapping[str, Any]]:
    reader = _READERS.get(place.suffix.lower())
    if reader is None:
        raise InputError(f"{place}: a table of results ends in one of {', '.join(_READERS)}")
    more = ", all_varchar = true" if reader == "read_csv" else ""
    with closing(duckdb.connect(config={"memory_limit": "300MB"})) as connection:
        try:
            cursor = connection.execute(f"from {reader}(?{more}) limit {_ROWS_MAX + 1}", [str(place)])
            names = [column[0] for column in cursor.description or ()]
            found: list[Mapping[str, Any]] = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        except duckdb.Error as error:
            raise InputError(f"{place}: cannot be read: {brief(str(error), 200)}") from None
    for column in _columns(table):
        if column not in names:
            raise InputError(f'{place}: no column "{column}"{nearest(column, names)}')
    if len(found) > _ROWS_MAX:
        raise InputError(f"{place}: more than {_ROWS_MAX:,} rows", "split the file, or take every n-th row")
    return found


def _columns(table: TableFile) -> Sequence[str]:
    said = (table.option, table.block, table.clients, table.seconds)
    return [*(name for name in said if name), *(metric.column for metric in table.metrics)]


def _report(
    table: TableFile, place: Path, line: int, row: Mapping[str, Any]
) -> tuple[str, int | None, Report]:
    """Raises ValueError where a cell is no number, or the option is missing."""
    text = str(row[table.option] or "").strip()
    if not text:
        raise ValueError("no option")
    clients = int(_number(row[table.clients]) or 0) if table.clients else None
    if clients is not None and not 1 <= clients <= 10_000:
        raise ValueError(f"{clients} clients")
    report = Report(f"{place}: row {line}", "tables/results", clients=clients)
    report.seconds = _number(row[table.seconds]) if table.seconds else None
    for metric in table.metrics:
        value = _number(row[metric.column])
        if value is None:
            continue
        if metric.metric == "throughput":
            seconds = report.seconds or _LENGTH_S
            report.seconds = seconds
            report.work = Work(round(value * seconds / _period_s(table, place)))
            if not table.seconds:
                text_ = f"only rates are known; counts are those of {_LENGTH_S:g} s"
                report.notices.append(("rates-alone", text_))
        else:
            report.figure(metric.metric, value, metric.unit, metric.better)
    if not report.understood:
        raise ValueError("no number")
    # a code is limited part by part
    return "_".join(part[:24] for part in code_of(text).split("_")), clients, report


def _period_s(table: TableFile, place: Path) -> int:
    """The time to which a throughput refers; without `/` it is a count in the interval, per second."""
    unit = next(metric.unit for metric in table.metrics if metric.metric == "throughput")
    _, slash, period = unit.rpartition("/")
    if slash and period not in _PERIODS_S:
        raise InputError(f'{place}: throughput in "{unit}"', "use a unit per s, min or h, such as 1/min")
    return _PERIODS_S[period] if slash else 1


def _block(cell: Any) -> int:
    """Raises ValueError."""
    value = _number(cell)
    if value is None or value != int(value) or value < 1:
        raise ValueError(f"the block is no whole number from 1: {cell}")
    return int(value)


def _number(cell: Any) -> float | None:
    if cell is None:
        return None
    if isinstance(cell, int | float):
        if not abs(cell) <= LARGEST:
            raise ValueError(f"beyond 2^53: {cell}")
        return float(cell)
    return number(str(cell))
