"""AWR and Statspack of Oracle, text and HTML: latches, mutexes, statistics of the interval.

Pct Get Miss and Wait Time are rounded: where the same latch stands in Latch Sleep Breakdown, its counts are
taken. A time of 0 s is less than a second, not nothing. misses - spin gets is close to sleeps, not equal: the
values are not read atomically.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from html import unescape
from typing import Any

from steelyard.recordings.cells import exact, number
from steelyard.recordings.clocks import moment_in
from steelyard.recordings.report import Report, Work
from steelyard.recordings.rulers import ruled_tables, slug
from steelyard.recordings.source import Line, Source

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
_NOTE = re.compile(r"\s*(->|~~|-----)")
# of rates: rounded, and of a time that is rounded to seconds
_SLACK = 0.01
_BREAK = re.compile(r"</?(?:tr|table|h\d|p|br|title|body)\b[^>]*>", re.IGNORECASE)
_TABLE = re.compile(r"<table\b", re.IGNORECASE)
_CELL, _TAG = re.compile(r"<t[dh]\b[^>]*>", re.IGNORECASE), re.compile(r"<[^>]*>")
_Row = tuple[int, str, dict[str, str]]


def sniff(head: str) -> bool:
    """Whether a report or its latch tables begin."""
    return bool(_ANCHORS.search(head))


def read(source: Source) -> list[Report]:
    """One report per AWR or Statspack report."""
    if re.search(r"<html|<table", source.head(), re.IGNORECASE):
        lines = list(_of_html(source.text(), source.first))
        return [_report(source, source.first, [], lines)]
    parts: list[list[Line]] = [[]]
    for line in source.lines():
        if _BEGINS.match(line[1]) and parts[-1]:
            parts.append([])
        parts[-1].append(line)
    found: list[Report] = []
    for lines in filter(None, parts):
        other: list[Line] = []
        rows = [row for table in ruled_tables(lines, other) for row in table.rows]
        found.append(_report(source, lines[0][0], rows, sorted(other)))
    return found


def _of_html(text: str, number_: int) -> Iterator[Line]:
    """A page as lines, its cells divided by `|`; a blank line before each table."""
    for part in _BREAK.split(_TABLE.sub(r"\f\g<0>", text)):
        flat = unescape(_TAG.sub("", _CELL.sub("|", part)))
        if flat.strip() or "\f" in part:
            yield number_, " ".join(flat.split()) + "|" * ("|" in flat)
        number_ += part.count("\n")


def _report(source: Source, first: int, rows: list[_Row], other: list[Line]) -> Report:
    report = Report(source.place(first))
    ends: dict[str, datetime] = {}
    rows += _piped(other)
    taken = {(number_, text) for number_, text, _ in rows if not _is_time(text)}
    for number_, text in sorted({*other, *((n, t) for n, t, _ in rows)} - taken):
        if server := _SERVER.search(text):
            report.server = server[1]
        if (snap := _SNAP.match(text.replace("|", " "))) and (at := moment_in(snap[3], "%d-%b-%y %H:%M:%S")):
            ends[snap[1]] = at
        elif found := _ELAPSED.match(text):
            report.seconds = _minutes(found[1])
        elif not _NOTE.match(text) and not _ANCHORS.search(text) and not _known_header(text):
            source.skip(number_, text)
    report.began = ends.get("Begin")
    if report.began is None:
        report.notices.append(("interval-unknown", "the report gives no Begin Snap: its time is not known"))
    if len(ends) == 2:
        report.seconds = (ends["End"] - ends["Begin"]).total_seconds()
    latches: dict[str, dict[str, Any]] = {}
    for number_, text, cells in rows:
        if _is_time(text) or _known_header(text):
            continue
        try:
            known = _take(report, latches, cells)
        except (ValueError, KeyError):
            known = False
        if not known:
            source.skip(number_, text)
    for name, counts in latches.items():
        report.row("latches", latch=name, **counts)
    return report


def _minutes(text: str) -> float | None:
    try:
        return 60 * (number(text, decimal_comma=True) or 0) or None
    except ValueError:
        return None


_PIPED_HEADER = re.compile(r"\b(Latch Name|Mutex Type|Statistic)\s*\|")


def _is_time(text: str) -> bool:
    return bool(_SNAP.match(text) or _ELAPSED.match(text))


def _known_header(text: str) -> bool:
    known = text.lstrip(" |").startswith(("Elapsed:", "DB Time:", "Snap Id")) or " DB/Inst: " in text
    return known or bool(_PIPED_HEADER.search(text))


def _take(report: Report, latches: dict[str, dict[str, Any]], cells: Mapping[str, str]) -> bool:
    """Adds one row of a table that is known by its columns. Raises ValueError, KeyError."""
    # Statspack heads one of its tables otherwise
    name = (cells.get("latch_name") or cells.get("latch") or "").strip()
    if name and "get_requests" in cells and "misses" in cells:
        counts = {c: _count(cells[k]) for c, k in _BREAKDOWN.items() if k in cells}
        latches.setdefault(name, {}).update({k: v for k, v in counts.items() if v is not None})
        return True
    if name and "get_requests" in cells and "pct_get_miss" in cells:
        known = latches.setdefault(name, {})
        if (gets := _count(cells["get_requests"])) is not None:
            known.setdefault("gets", gets)
        for column in ("nowait_requests", "pct_nowait_miss"):
            report.sample(0, f"latch {name}", column, number(cells.get(column, "")))
        waited = number(cells.get("wait_time_s", ""))
        if waited:
            known.setdefault("wait_ns", round(waited * 1e9))
        return True
    if name and "where" in cells:
        report.sample(0, f"latch {name} in {cells['where']}", "sleeps", number(cells["sleeps"]))
        return True
    if "mutex_type" in cells and "sleeps" in cells:
        entity = f"mutex {cells['mutex_type']} at {cells['location']}"
        report.sample(0, entity, "sleeps", exact(cells["sleeps"]))
        report.sample(0, entity, "wait_ms", number(cells.get("wait_time_ms", "")))
        return True
    if "statistic" in cells and "total" in cells:
        per_s = number(cells.get("per_second", ""))
        return _statistic(report, cells["statistic"].strip(), _count(cells["total"]), per_s)
    # the rest of a cell that was too long
    return bool(cells) and not any(list(cells.values())[:-1])


_BREAKDOWN = {"gets": "get_requests", "misses": "misses", "sleeps": "sleeps", "spin_gets": "spin_gets"}


def _count(cell: str) -> int | None:
    found = number(cell)
    return None if found is None else int(found)


def _statistic(report: Report, name: str, total: int | None, per_s: float | None) -> bool:
    if total is None or not name:
        return False
    report.sample(0, name, "count", float(total))
    if name in ("user commits", "user rollbacks"):
        work = report.work or Work(0, driver=False)
        report.work = replace(work, transactions=work.transactions + total)
        if per_s and report.seconds:
            said = f"{total:,} {name}, and {per_s:g} per s in {report.seconds:g} s"
            report.foot(said, per_s * report.seconds, total, _SLACK + 0.05 / per_s)
    if name == "CPU used by this session" and report.seconds:
        report.figure("cpu_used_percent_of_one_cpu", total / report.seconds, "%", "lower")
    return True


def _piped(lines: list[Line]) -> Iterator[_Row]:
    """Tables with `|` between the cells; `Title: Name| Gets` begins one."""
    columns: list[str] = []
    for number_, text in lines:
        cells = [cell.strip() for cell in text.strip().removeprefix("|").removesuffix("|").split("|")]
        if len(cells) < 2:
            columns = []
        elif any(
            cell in ("Latch Name", "Mutex Type", "Statistic")
            for cell in [cells[0].rpartition(": ")[2].strip()]
        ):
            columns = [slug(cell) for cell in [cells[0].rpartition(": ")[2], *cells[1:]]]
        elif len(cells) == len(columns):
            yield number_, text, dict(zip(columns, cells, strict=True))
