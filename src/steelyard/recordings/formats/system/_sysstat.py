"""What mpstat, pidstat, iostat and sar of sysstat share: a banner, headings with a time, rows, averages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from steelyard.recordings.cells import number
from steelyard.recordings.mean import Mean
from steelyard.recordings.report import Report
from steelyard.recordings.source import BANNER, Source

_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?: ([AP]M))?\s+(.*)")
STAMP = re.compile(
    r"(\d\d/\d\d/\d\d(?:\d\d)?|\d{4}-\d\d-\d\d)[ T](\d\d):(\d\d):(\d\d)(?: ([AP]M))?(?:[+-]\d{4})?\s*"
)
_NO_NUMBER = re.compile(r"#+|-?nan|n/a", re.IGNORECASE)
_DAY_S = 86_400
# of the first columns of a row: what the row is of; the others are its numbers
_NAMES = {
    "CPU",
    "DEV",
    "IFACE",
    "UID",
    "USER",
    "PID",
    "TGID",
    "TID",
    "Device",
    "Device:",
    "INTR",
    "BUS",
    "TTY",
}
_IDS = ("UID", "PID", "TGID", "TID")
_ID = re.compile(r"\d+|-")


@dataclass(frozen=True)
class Reading:
    """One row. at_s: since the first reading. entity: what it is of; values by metric."""

    at_s: float
    entity: str
    values: dict[str, float]


def metric(column: str) -> str:
    """`%usr` -> `usr_percent`, `rkB/s` -> `rkb_per_s`: the name of a column with its unit last."""
    name = column.strip(":")
    if name.startswith("%"):
        return name[1:].lower().replace("-", "_") + "_percent"
    return name.lower().replace("/s", "_per_s").replace("-", "_").replace("/", "_per_")


def day_of(text: str) -> date | None:
    """The day of a banner; None where day and month cannot be distinguished."""
    if found := re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", text):
        year, month, day = map(int, found.groups())
    elif found := re.fullmatch(r"(\d\d)\.(\d\d)\.(\d{4})", text):
        day, month, year = map(int, found.groups())
    elif found := re.fullmatch(r"(\d\d)/(\d\d)/(\d\d|\d{4})", text):
        first, second, year = map(int, found.groups())
        year += 2000 if year < 100 else 0
        if first <= 12 and second <= 12 and first != second:
            return None
        month, day = (first, second) if first <= 12 else (second, first)
    else:
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None


def readings(source: Source, report: Report) -> Iterator[Reading]:
    """Rows under headings with a time; fills began and facts of the report. Averages are not read."""
    heading: _Heading | None = None
    day: date | None = None
    heading_s = first_s = end_s = -1.0
    # sar prints one section after another, each from the beginning: each passes midnight by itself
    clocks: dict[_Heading, _Clock] = {}
    clock = _Clock(heading_s)
    comma = source.decimal_comma
    for line, text in source.lines():
        if banner := BANNER.match(text):
            report.facts |= {"host": banner[2], "CPUs": banner[5]}
            day = day_of(banner[3])
            if day is None:
                text = f"the date {banner[3]} is no day, or one of two: times are those of an unknown day"
                report.notices.append(("date-unknown", text))
        elif text.startswith(("Average:", "Moyenne", "Durchschn")) or text.startswith("# "):
            continue
        elif found := _TIME.match(text):
            second = _second(found)
            cells = found[5].split()
            if _is_heading(cells):
                heading = _Heading.of(cells)
                heading_s = second if heading_s < 0 else heading_s
                clock = clocks.setdefault(heading, _Clock(heading_s))
                continue
            second = clock.after_midnights(second)
            if first_s < 0:
                first_s = second
                if day is not None:
                    report.began = datetime.combine(day, time()) + timedelta(seconds=second)
            end_s = max(end_s, second)
            reading = _reading(second - first_s, heading, cells, comma)
            if reading is None:
                source.skip(line, text)
            else:
                yield reading
        elif "RESTART" not in text and text.strip():
            source.skip(line, text)
    if end_s > first_s >= 0:
        report.seconds = end_s - first_s
    # the first heading has the time at which the first interval began
    if first_s >= heading_s >= 0:
        report.begin_earlier(first_s - heading_s)


@dataclass
class _Clock:
    """The time of day of one section's rows. last_s: of its last row, at first when the recording began."""

    last_s: float
    midnights: int = 0

    def after_midnights(self, second: float) -> float:
        """Seconds since the midnight before the recording; a time before the last one is the next day's."""
        second += self.midnights * _DAY_S
        if second < self.last_s - _DAY_S / 2:
            self.midnights += 1
            second += _DAY_S
        self.last_s = second
        return second


def _second(found: re.Match[str]) -> float:
    hour = int(found[1]) if found[4] is None else int(found[1]) % 12 + (12 if found[4] == "PM" else 0)
    return 3600.0 * hour + 60.0 * int(found[2]) + int(found[3])


def _is_heading(cells: list[str]) -> bool:
    return len(cells) > 1 and not any(cell[:1].isdigit() or _NO_NUMBER.fullmatch(cell) for cell in cells)


@dataclass(frozen=True)
class _Heading:
    """Columns of the rows that follow.

    named: place and prefix of the cells that name what a row is of. numbers: place and metric of the others.
    ids, rates: places of whole numbers, and of shares and rates.
    """

    columns: int
    command: bool
    named: tuple[tuple[int, str], ...]
    numbers: tuple[tuple[int, str], ...]
    ids: tuple[int, ...]
    rates: tuple[int, ...]

    @classmethod
    def of(cls, columns: list[str]) -> _Heading:
        command = columns[-1] == "Command"
        named = tuple(
            (i, column.strip(":").lower() + " ")
            for i, column in enumerate(columns)
            if column in _NAMES - {"UID", "USER"}
        )
        numbers = tuple(
            (i, metric(column))
            for i, column in enumerate(columns)
            if column not in _NAMES and column != "Command"
        )
        named = (*named, (len(columns) - 1, "")) if command else named
        ids = tuple(i for i, column in enumerate(columns) if column in _IDS)
        rates = tuple(i for i, column in enumerate(columns) if column[:1] == "%" or column.endswith("/s"))
        return cls(len(columns), command, named, numbers, ids, rates)


def _reading(at_s: float, heading: _Heading | None, cells: list[str], comma: bool) -> Reading | None:
    if heading is None:
        return None
    if heading.command and len(cells) > heading.columns:
        last = heading.columns - 1
        cells = [*cells[:last], " ".join(cells[last:])]
    if len(cells) != heading.columns:
        return None
    try:
        cells_of = ((name, number(cells[i], comma)) for i, name in heading.numbers)
        values = {name: value for name, value in cells_of if value is not None}
    except ValueError:
        return None
    if any(not _ID.fullmatch(cells[i]) for i in heading.ids):
        return None
    # all have as many decimals: a number without them is that of another column
    if len({_decimals(cells[i]) for i in heading.rates} - {None}) > 1:
        return None
    entity = " ".join([prefix + cells[i] for i, prefix in heading.named]) or "host"
    return Reading(at_s, entity, values) if values else None


def _decimals(cell: str) -> int | None:
    found = re.search(r"\d(?:[.,](\d+))?$", cell)
    return len(found[1] or "") if found else None


def busy_percent(values: Mapping[str, float]) -> float | None:
    """Of the CPUs' time what is neither idle, nor waits for I/O, nor was taken by the host of a guest."""
    if "idle_percent" not in values:
        return None
    return 100 - sum(values.get(name, 0.0) for name in ("idle_percent", "iowait_percent", "steal_percent"))


def collect(source: Source, name: str, busy_figure: str = "") -> Report:
    """A report of all rows as samples. busy_figure: gets the mean over all rows of the CPU `all`."""
    report = Report(name, source.place(source.first))
    busy = Mean()
    for reading in readings(source, report):
        report.samples.add_row(
            reading.at_s, reading.entity, list(reading.values), list(reading.values.values())
        )
        if reading.entity == "cpu all" and (percent := busy_percent(reading.values)) is not None:
            busy.add(percent)
    if busy_figure:
        report.figure(busy_figure, busy.value, "%")
    return report
