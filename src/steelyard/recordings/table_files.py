"""Tables of results with a mapping: CSV, Parquet or JSON lines, one row per run and load point."""

import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb

from steelyard.bundle.evidence.published import one_file
from steelyard.errors import InputError, nearest
from steelyard.recordings.cells import LARGEST, number
from steelyard.recordings.filing import code_of
from steelyard.recordings.limits import Deadline
from steelyard.recordings.report import PlacedRun, Report, Work
from steelyard.recordings.schedule import TableFile
from steelyard.recordings.source import Skipped

_READERS = {".parquet": "read_parquet", ".csv": "read_csv", ".jsonl": "read_json", ".ndjson": "read_json",
            ".json": "read_json"}  # fmt: skip
_ROWS_MAX = 1_000_000
_ROWS_HINT = "the first line names the columns, and each row has as many cells"
_BYTES_MAX = 4 << 30
_HEAD_MAX = 1 << 20
_LONGEST_S = 1e9
# of a whole count against rate times length
_ROUNDED = 1e-3
_PERIODS_S = {"s": 1, "min": 60, "h": 3600}
# not thousands of them, nor a rate per minute or hour by its name, as tpmC
_UNIT = re.compile(
    r"(?!(?i:.*(?:thousand|million|\bper (?!s)|pm\b)|tpm|nopm|qph|[kmg](?:[a-z]ps|iops)))[^/]*"
    r"|(?!(?i:thousand|million)|[kKMG](?:/|op|req|tx|tr|qu))[^/]*/(?:s|min|h)"
)

_COMMA = re.compile(r"^(-?\d+),(?=\d+$)")
_THOUSANDS = re.compile(r"-?[1-9]\d{,2}(\.\d{3})+")

# by option, block and number of clients
_Points = dict[tuple[str, int, int | None], Report]


def runs_of_tables(
    tables: Sequence[TableFile], folder: Path, unread: dict[str, Skipped], deadline: Deadline
) -> list[PlacedRun]:
    """The runs of tables; rows with a cell that is no number are not understood. Raises InputError."""
    points: _Points = {}
    for table in tables:
        _add(table, folder / table.file, points, unread, deadline)
    runs: dict[tuple[str, int], PlacedRun] = {}
    for (option, block, _), report in points.items():
        runs.setdefault((option, block), PlacedRun(option, block, [])).points.append([report])
    for run in runs.values():
        run.points.sort(key=lambda point: point[0].clients or 0)
    return list(runs.values())


def _add(
    table: TableFile, place: Path, points: _Points, unread: dict[str, Skipped], deadline: Deadline
) -> None:
    skipped, names = Skipped(), dict[str, str]()
    counted: Counter[tuple[str, int | None]] = Counter()
    rows = _rows(table, place, deadline)
    for line, row in enumerate(rows, start=1):
        try:
            option = _option(row[table.option], names)
            clients = _whole(row[table.clients], "number of clients", 10_000) if table.clients else None
            counted[option, clients] += 1
            block = 1 if table.into else counted[option, clients]
            block = _whole(row[table.block], "block") if table.block else block
            if not table.into:
                report = Report(f"{place}: row {line}", "tables/results", clients=clients)
                _fill(report, table, row)
            elif report := points.get((option, block, clients)):
                placed = (table.option, table.block, table.clients)
                report.row(table.into, **{name: value for name, value in row.items() if name not in placed})
            else:
                raise ValueError(f"no result of {option} with {clients} clients")
        except ValueError as error:
            skipped.add(line, f"row {line}: {error}")
            continue
        if points.setdefault((option, block, clients), report) is not report:
            raise InputError(f"{place}: a second row of {option}, block {block}, clients {clients}")
    if skipped.count:
        unread[str(place)] = skipped
    if skipped.count == len(rows):
        first = f": the first is {skipped.lines[0][1]}" if skipped.count else ""
        raise InputError(f"{place}: no row was understood{first}")


def _rows(table: TableFile, place: Path, deadline: Deadline) -> list[dict[str, Any]]:
    """Rows with the columns that the schedule names; all columns where they go to a table of the bundle."""
    reader = _READERS.get(place.suffix.lower())
    if reader is None:
        raise InputError(f"{place}: a table of results ends in one of {', '.join(_READERS)}")
    if not (table.metrics or table.into):
        raise InputError(f"{place}: metrics: name its columns of numbers")
    if not place.is_file():
        raise InputError(f"{place}: no such file")
    if place.stat().st_size > _BYTES_MAX:
        raise InputError(f"{place}: larger than {_BYTES_MAX >> 30} GiB", "split the file")
    named = [table.option, table.block, table.clients, table.seconds, *(m.column for m in table.metrics)]
    wanted = list(dict.fromkeys(filter(None, named)))
    # a version such as 2.4.17 is no date; numbers of all notations are read here
    types = ["BIGINT", "DOUBLE", "VARCHAR"] if table.query else ["VARCHAR"]
    said = f", header = true, skip = 0, auto_type_candidates = {types}" if reader == "read_csv" else ""
    path, pattern = (text.replace("'", "''") for text in (str(place), one_file(place)))
    read = f"from {reader}('{pattern}', hive_partitioning = false{said})"
    with deadline.query(place) as connection:
        if table.query:
            # a query reads this file, no other
            connection.execute(f"create view rows as {read}")
            connection.execute(
                f"set allowed_paths = ['{path}', '{pattern}']; set enable_external_access = false"
            )
            read = f"from ({table.query})"
        try:
            found = connection.sql(f"{read} limit {_ROWS_MAX + 1}")
        except duckdb.Error as error:
            if not table.query:
                raise
            why = _cause(place) or f"{place}: query: {str(error).splitlines()[0]}"
            raise InputError(why, _ROWS_HINT) from None
        for column in wanted:
            if column not in found.columns:
                why = f'{place}: no column "{column}"{nearest(column, found.columns)}'
                raise InputError(_cause(place) or why, _ROWS_HINT)
        wanted = found.columns if table.into else wanted
        # where `;` divides the cells, a comma is a decimal one
        sniffed = f"select delimiter from sniff_csv('{pattern}')"
        comma = reader == "read_csv" and connection.execute(sniffed).fetchall() == [(";",)]
        rows = found.select(*map(duckdb.ColumnExpression, wanted)).fetchall()
    if len(rows) > _ROWS_MAX:
        raise InputError(f"{place}: more than {_ROWS_MAX:,} rows", "split the file, or take every n-th row")
    if comma:
        _refuse_dots(place, [str(row[wanted.index(m.column)]) for row in rows for m in table.metrics])
        rows = [tuple(_COMMA.sub(r"\1.", c) if isinstance(c, str) else c for c in row) for row in rows]
    return [dict(zip(wanted, row, strict=True)) for row in rows]


def _refuse_dots(place: Path, cells: Sequence[str]) -> None:
    """Raises InputError where `;` divides the cells, and each dot may stand before thousands."""
    dotted = [cell for cell in cells if "." in cell]
    if dotted and all(map(_THOUSANDS.fullmatch, dotted)):
        why = f"{place}: {dotted[0]} is {dotted[0].replace('.', '')} where a comma is decimal"
        raise InputError(why, "write thousands without dots; a decimal point with another number of digits")


def _cause(place: Path) -> str:
    """Why DuckDB misreads a CSV file: its first row of another length, or text among numbers; '': neither."""
    try:
        return _first_fault(place) if place.suffix.lower() == ".csv" else ""
    except csv.Error as error:
        return f"{place}: not CSV: {error}"


def _first_fault(place: Path) -> str:
    with place.open(newline="", encoding="utf-8", errors="replace") as text:
        head = text.readline(_HEAD_MAX)
        text.seek(0)
        rows = csv.reader(text, delimiter=max(",;\t|", key=head.count))
        names = next(rows, list[str]())
        texts: dict[int, str] = {}
        numbers = Counter[int]()
        for cells in islice(rows, _ROWS_MAX):
            at = f"{place}:{rows.line_num}"
            if cells and len(cells) != len(names):
                return f"{at}: {len(cells)} cells, but the first line names {len(names)} columns"
            for column, cell in enumerate(cells):
                try:
                    numbers[column] += _number(cell) is not None
                except ValueError as error:
                    texts.setdefault(column, f"{at}: {names[column]}: {error}")
    return next((said for column, said in texts.items() if numbers[column]), "")


def _option(cell: Any, names: dict[str, str]) -> str:
    """Its code. names: of the codes that there are. Raises ValueError where it is missing, and InputError."""
    if not (text := str(cell or "").strip()):
        raise ValueError("no option")
    return code_of(text, names)


def _fill(report: Report, table: TableFile, row: Mapping[str, Any]) -> None:
    """Adds work and figures. Raises ValueError where a cell is no number."""
    report.seconds = _number(row[table.seconds]) if table.seconds else None
    if report.seconds is not None and not 0 < report.seconds <= _LONGEST_S:
        raise ValueError(f"a length of {report.seconds:g} s")
    for metric in table.metrics:
        value = _number(row[metric.column])
        if value is None:
            continue
        if metric.metric != "throughput":
            report.figure(metric.metric, value, metric.unit, metric.better)
            continue
        if not _UNIT.fullmatch(metric.unit):
            raise InputError(
                f'{report.place}: throughput in "{metric.unit}"', "use a unit per s, min or h, such as 1/min"
            )
        if value < 0:
            raise ValueError(f"a throughput of {value:g}")
        per_s = value / _PERIODS_S.get(metric.unit.rpartition("/")[2], 1)
        counted = per_s * (report.seconds or 0)
        if report.seconds is None or abs(round(counted) - counted) > _ROUNDED * counted:
            report.rate(per_s)
        else:
            report.work = Work(round(counted))
    # without any figure it is a run whose results were not published
    if not report.understood and any(row[metric.column] not in (None, "") for metric in table.metrics):
        raise ValueError("no number")


def _whole(cell: Any, name: str, most: float = LARGEST) -> int:
    """Raises ValueError."""
    value = _number(cell)
    if value is None or value != int(value) or not 1 <= value <= most:
        raise ValueError(f"the {name} is no whole number from 1: {cell}")
    return int(value)


def _number(cell: Any) -> float | None:
    return None if cell is None else number(str(cell))
