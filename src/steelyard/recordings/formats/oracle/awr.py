"""Oracle AWR and Statspack, text and HTML. Latches, mutexes, statistics of the interval.

Pct Get Miss and Wait Time are rounded: where the same latch stands in Latch Sleep Breakdown, its counts are
taken. A time of 0 s is less than a second, not nothing. misses - spin gets is close to sleeps, not equal: the
values are not read atomically.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from itertools import accumulate

from steelyard.recordings.cells import exact, moment_in, number, slug
from steelyard.recordings.lines import Found, Lines, NotMine, Now, has, known, rule
from steelyard.recordings.report import Report, Work
from steelyard.recordings.source import Line, Source
from steelyard.recordings.tables import Cells

_BEGINS = "WORKLOAD REPOSITORY (?:PDB )?report\\b|STATSPACK (?:[Ss]tatistics )?[Rr]eport for"
_TITLES = r"Latch Sleep [Bb]reakdown|(?:Parent|Child) Latch Statistics|AWR Report for DB|AWR \d"
_OF_PARTS = "Parent and Child Latch Statistics are left out: Latch Activity counts them too"
# of rates: rounded, and of a time that is rounded to seconds
_SLACK = 0.01
_BREAK = re.compile(r"</?(?:tr|table|h\d|p|br|title|body)\b[^>]*>", re.IGNORECASE)
_TABLE = re.compile(r"<table\b", re.IGNORECASE)
_CELL, _TAG = re.compile(r"<t[dh]\b[^>]*>", re.IGNORECASE), re.compile(r"<[^>]*>")
# counters of a latch by column of the breakdown
_BREAKDOWN = {"get_requests": "gets", "misses": "misses", "sleeps": "sleeps", "spin_gets": "spin_gets"}
# the first column of a table with `|` between its cells; `Title: Name| Gets` begins one
_FIRST = ("Latch Name", "Mutex Type", "Statistic")

# a report or its latch tables
sniff = has(f"^(?:{_BEGINS}|AWR \\d)|STATSPACK .*[Rr]eport for|Latch Sleep [Bb]reakdown|AWR Report for DB")


def read(source: Source) -> list[Report]:
    """One report per AWR or Statspack report."""
    if re.search(r"<html|<table", source.head(), re.IGNORECASE):
        return _LINES(source, _of_html(source.text(), source.first))
    return _LINES(source)


def _of_html(text: str, line: int) -> Iterator[Line]:
    """A page as lines, its cells divided by `|`; a blank line before each table."""
    for part in _BREAK.split(_TABLE.sub(r"\f\g<0>", text)):
        flat = unescape(_TAG.sub("", _CELL.sub("|", part)))
        if flat.strip() or "\f" in part:
            yield line, " ".join(flat.split()) + "|" * ("|" in flat)
        line += part.count("\n")


def _server(now: Now, found: Found) -> None:
    now.report.server = found[1].replace(", Inst: ", "/")


def _title(now: Now, found: Found) -> None:
    now.words["part"] = found[1] or ""
    raise NotMine


def _snap(now: Now, found: Found) -> None:
    at, report = moment_in(found[2], "%d-%b-%y %H:%M:%S"), now.report
    if found[1] == "Begin":
        report.began = at
    elif report.began:
        report.seconds = (at - report.began).total_seconds()


def _elapsed(now: Now, found: Found) -> None:
    # the clock may change between the snapshots
    stated_s, seconds = 60 * exact(found[1], decimal_comma=True), now.report.seconds
    if seconds is None or abs(stated_s - seconds) > 60:
        now.report.seconds = stated_s or None


def _row(now: Now, cells: Cells) -> None:
    """Adds one row of a table that is known by its columns. Raises ValueError, KeyError."""
    report = now.report
    # Statspack heads one of its tables otherwise
    name = cells.get("latch_name") or cells.get("latch")
    if (once := f"{sorted(cells)} {name} {cells.get('where')}") in now.seen and name:
        # another one, whose name was cut off
        raise NotMine
    now.seen.add(once)
    if name and now.words["part"]:
        report.notice("left-out", _OF_PARTS)
    elif name and "where" in cells:
        for column in ("sleeps", "nowait_misses", "waiter_sleeps"):
            report.sample(0, f"latch {name} in {cells['where']}", column, number(cells.get(column, "")))
    elif name and "misses" in cells:
        counts = {to: number(cells[column]) for column, to in _BREAKDOWN.items() if column in cells}
        # Latch Activity cuts off more of a name
        fits = [n for n in accumulate(name) if now.latches.get((0, n), {}).get("gets") == counts.get("gets")]
        now.latch(fits[0] if len(fits) == 1 else name).update(
            {to: int(count) for to, count in counts.items() if count is not None}
        )
    elif name:
        gets, waited = number(cells["get_requests"]), number(cells["wait_time_s"])
        counts = now.latch(name)
        if gets is not None:
            counts.setdefault("gets", int(gets))
        for column in ("nowait_requests", "pct_nowait_miss"):
            report.sample(0, f"latch {name}", column, number(cells.get(column, "")))
        if waited:
            counts.setdefault("wait_ns", round(waited * 1e9))
    elif "mutex_type" in cells:
        entity = f"mutex {cells['mutex_type']} at {cells['location']}"
        report.sample(0, entity, "sleeps", exact(cells["sleeps"]))
        for unit in ("ms", "s"):
            report.sample(0, entity, f"wait_{unit}", number(cells.get(f"wait_time_{unit}", "")))
    elif cells.get("statistic") and "total" in cells:
        _statistic(now, cells["statistic"], int(exact(cells["total"])), number(cells.get("per_second", "")))
    elif not cells or any(list(cells.values())[:-1]):
        # and not the rest of a cell that was too long
        raise NotMine


def _statistic(now: Now, name: str, total: int, per_s: float | None) -> None:
    """Takes a statistic once: key statistics stand in two tables. Raises ValueError where they differ."""
    report = now.report
    if name in now.numbers:
        if now.numbers[name] != total:
            raise ValueError
        return
    now.numbers[name] = total
    report.sample(0, name, "count", float(total))
    if name in ("user commits", "user rollbacks"):
        work = report.work or Work(0, driver=False)
        report.work = replace(work, transactions=work.transactions + total)
        if per_s and report.seconds:
            said = f"{total:,} {name}, and {per_s:g} per s in {report.seconds:g} s"
            report.foot(said, per_s * report.seconds, total, _SLACK + 0.05 / per_s)
    if name == "CPU used by this session" and report.seconds:
        report.figure("cpu_used_percent_of_one_cpu", total / report.seconds, "%", "lower")


def _piped(now: Now, found: Found) -> None:
    """A row of a table with `|` between the cells."""
    cells = [cell.strip() for cell in found[0].strip().removeprefix("|").removesuffix("|").split("|")]
    first, columns = cells[0].rpartition(": ")[2].strip(), now.words["columns"].split("|")
    if first in _FIRST and len(cells) > 1:
        now.words["columns"] = "|".join(map(slug, [first, *cells[1:]]))
        return
    if len(cells) == 1:
        now.words["columns"] = ""
        raise NotMine
    _row(now, dict(zip(columns, cells, strict=True)))


def _close(now: Now) -> None:
    if now.report.began is None:
        now.report.notice("interval-unknown", "the report gives no Begin Snap: its time is not known")


_LINES = Lines(
    (
        rule(r"[\s|]*(Begin|End) Snap:[\s|]+\d+[\s|]+(\d\d-[A-Za-z]{3}-\d\d \d\d:\d\d:\d\d).*", _snap),
        rule(r"[^|]*?\b(Parent |Child )?Latch (?:Statistics|Activity|Sleep|Miss)\b[^|]*", _title),
        rule(r"[^|]* DB/Inst: *(\S+)[^|]*", _server),
        rule(r".*AWR Report for DB: (\S+, Inst: \w+).*", _server, "title"),
        known(_BEGINS, "report"),
        rule(r"\s*Elapsed:\s+([\d,.]+) \(mins\).*", _elapsed),
        known(rf"\s*(?:->|~~|Load Profile$)|[ |]*(?:Elapsed:|DB Time:|Snap Id)|[^|]*(?:{_TITLES})[^|]*$"),
        rule(".*", _piped),
    ),
    _close,
    table=lambda now, row: _row(now, row.cells),
)
