"""AWR and Statspack of Oracle, text and HTML: latches, mutexes, statistics of the interval.

Pct Get Miss and Wait Time are rounded: where the same latch stands in Latch Sleep Breakdown, its counts are
taken. A time of 0 s is less than a second, not nothing. misses - spin gets is close to sleeps, not equal: the
values are not read atomically.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from typing import Any

from steelyard.recordings.cells import exact, number, slug
from steelyard.recordings.clocks import moment_in
from steelyard.recordings.report import Report, Work
from steelyard.recordings.source import Line, Source
from steelyard.recordings.tables import Cells, Row, ruled_rows, take_each

TITLE = "Oracle AWR and Statspack, text and HTML"

_ANCHORS = re.compile(
    r"^WORKLOAD REPOSITORY report for|STATSPACK [Ss]tatistics [Rr]eport for|STATSPACK [Rr]eport for"
    r"|Latch Sleep [Bb]reakdown|AWR Report for DB|^AWR \d",
    re.MULTILINE,
)
_BEGINS = re.compile(r"^(WORKLOAD REPOSITORY report for|STATSPACK .*[Rr]eport for)")
_SNAP = re.compile(r"\s*(Begin|End) Snap:\s+(\d+)\s+(\d\d-[A-Za-z]{3}-\d\d \d\d:\d\d:\d\d)")
_ELAPSED = re.compile(r"\s*Elapsed:\s+([\d,.]+) \(mins\)")
_SERVER = re.compile(r"\bDB/Inst: *(\S+)")
_KNOWN = re.compile(r"\s*(->|~~)|[ |]*(Elapsed:|DB Time:|Snap Id)|[^|]* DB/Inst: [^|]*$")
# of rates: rounded, and of a time that is rounded to seconds
_SLACK = 0.01
_BREAK = re.compile(r"</?(?:tr|table|h\d|p|br|title|body)\b[^>]*>", re.IGNORECASE)
_TABLE = re.compile(r"<table\b", re.IGNORECASE)
_CELL, _TAG = re.compile(r"<t[dh]\b[^>]*>", re.IGNORECASE), re.compile(r"<[^>]*>")
# counters of a latch by column of the breakdown
_BREAKDOWN = {"get_requests": "gets", "misses": "misses", "sleeps": "sleeps", "spin_gets": "spin_gets"}
# the first column of a table with `|` between its cells; `Title: Name| Gets` begins one
_FIRST = ("Latch Name", "Mutex Type", "Statistic")


def sniff(head: str) -> bool:
    """Whether a report or its latch tables begin."""
    return bool(_ANCHORS.search(head))


def read(source: Source) -> list[Report]:
    """One report per AWR or Statspack report."""
    if re.search(r"<html|<table", source.head(), re.IGNORECASE):
        return [_report(source, list(_of_html(source.text(), source.first)), ruled=False)]
    parts: list[list[Line]] = [[]]
    for line in source.lines():
        if _BEGINS.match(line[1]) and parts[-1]:
            parts.append([])
        parts[-1].append(line)
    return [_report(source, lines) for lines in parts if lines]


def _of_html(text: str, line: int) -> Iterator[Line]:
    """A page as lines, its cells divided by `|`; a blank line before each table."""
    for part in _BREAK.split(_TABLE.sub(r"\f\g<0>", text)):
        flat = unescape(_TAG.sub("", _CELL.sub("|", part)))
        if flat.strip() or "\f" in part:
            yield line, " ".join(flat.split()) + "|" * ("|" in flat)
        line += part.count("\n")


def _report(source: Source, lines: list[Line], ruled: bool = True) -> Report:
    report = Report(source.place(lines[0][0] if ruled else source.first))
    latches: dict[str, dict[str, Any]] = {}
    lines = [line for line in lines if not _header(report, line[1])]
    other: list[Line] = []
    rows = list(ruled_rows(lines, other)) if ruled else []
    piped = list(_piped(sorted(other) if ruled else lines, source))
    if report.began is None:
        report.notice("interval-unknown", "the report gives no Begin Snap: its time is not known")
    take_each(source, [*rows, *piped], lambda row: _take(report, latches, row.cells))
    for name, counts in latches.items():
        report.row("latches", latch=name, **counts)
    return report


def _header(report: Report, text: str) -> bool:
    """Whether a line is of no table."""
    if server := _SERVER.search(text):
        report.server = server[1]
    if (snap := _SNAP.match(text.replace("|", " "))) and (at := moment_in(snap[3], "%d-%b-%y %H:%M:%S")):
        if snap[1] == "Begin":
            report.began = at
        elif report.began:
            report.seconds = (at - report.began).total_seconds()
        return True
    if (found := _ELAPSED.match(text)) and not report.seconds:
        report.seconds = 60 * (number(found[1], decimal_comma=True) or 0) or None
    return bool(_KNOWN.match(text)) or ("|" not in text and sniff(text))


def _take(report: Report, latches: dict[str, dict[str, Any]], cells: Cells) -> bool:
    """Adds one row of a table that is known by its columns. Raises ValueError, KeyError."""
    # Statspack heads one of its tables otherwise
    name = (cells.get("latch_name") or cells.get("latch") or "").strip()
    if name and "where" in cells:
        report.sample(0, f"latch {name} in {cells['where']}", "sleeps", number(cells["sleeps"]))
    elif name:
        gets = number(cells["get_requests"])
        known = latches.setdefault(name, {})
        if "misses" in cells:
            counts = {to: number(cells[column]) for column, to in _BREAKDOWN.items() if column in cells}
            known |= {to: int(count) for to, count in counts.items() if count is not None}
            return True
        if gets is not None:
            known.setdefault("gets", int(gets))
        for column in ("nowait_requests", "pct_nowait_miss"):
            report.sample(0, f"latch {name}", column, number(cells.get(column, "")))
        if waited := number(cells["wait_time_s"]):
            known.setdefault("wait_ns", round(waited * 1e9))
    elif "mutex_type" in cells:
        entity = f"mutex {cells['mutex_type']} at {cells['location']}"
        report.sample(0, entity, "sleeps", exact(cells["sleeps"]))
        report.sample(0, entity, "wait_ms", number(cells.get("wait_time_ms", "")))
    elif cells.get("statistic") and "total" in cells:
        _statistic(
            report, cells["statistic"], int(exact(cells["total"])), number(cells.get("per_second", ""))
        )
    else:
        # the rest of a cell that was too long
        return bool(cells) and not any(list(cells.values())[:-1])
    return True


def _statistic(report: Report, name: str, total: int, per_s: float | None) -> None:
    report.sample(0, name, "count", float(total))
    if name in ("user commits", "user rollbacks"):
        work = report.work or Work(0, driver=False)
        report.work = replace(work, transactions=work.transactions + total)
        if per_s and report.seconds:
            said = f"{total:,} {name}, and {per_s:g} per s in {report.seconds:g} s"
            report.foot(said, per_s * report.seconds, total, _SLACK + 0.05 / per_s)
    if name == "CPU used by this session" and report.seconds:
        report.figure("cpu_used_percent_of_one_cpu", total / report.seconds, "%", "lower")


def _piped(lines: list[Line], source: Source) -> Iterator[Row]:
    """Rows of tables with `|` between the cells; other lines are not understood."""
    columns: list[str] = []
    for line, text in lines:
        cells = [cell.strip() for cell in text.strip().removeprefix("|").removesuffix("|").split("|")]
        first = cells[0].rpartition(": ")[2].strip()
        if first in _FIRST and len(cells) > 1:
            columns = [slug(cell) for cell in [first, *cells[1:]]]
        elif len(cells) > 1 and len(cells) == len(columns):
            yield Row(line, text, dict(zip(columns, cells, strict=True)))
        else:
            columns = columns if len(cells) > 1 else []
            source.skip(line, text)
