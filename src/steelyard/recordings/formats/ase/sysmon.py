"""sp_sysmon of ASE, threaded and process mode.

Rates are count over Sample Interval: the column 'per sec' is rounded. 'Engine Utilization (Tick %)' of the
threaded mode and 'Engine Busy Utilization' of the process mode count different things: their figures
have different names, so that they are never compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from steelyard.recordings.cells import number, percentage, slug
from steelyard.recordings.clocks import moment_in
from steelyard.recordings.formats.ase._sysmon_layout import HEADER, columns_of, is_heading, may_be_subheading
from steelyard.recordings.report import Better, Report, Work
from steelyard.recordings.source import Line, Source
from steelyard.recordings.tables import is_ruler

TITLE = "ASE sp_sysmon, threaded and process mode; several reports in one file"

_BEGINS = "Adaptive Server Enterprise System Performance Report"
_CELL = r"(?:-?[\d.,]+ ?%|-?[\d.,]+|n/?a|#+)"
_ROW = re.compile(rf"(\s*)(\S.*?)??\s{{2,}}({_CELL}(?:\s+{_CELL})*)\s*", re.IGNORECASE)
_CELLS = re.compile(_CELL, re.IGNORECASE)
_SENTENCE = re.compile(
    r"\s*(Your |and I/?O Polling|Adaptive Server threads are|Throughput \(committed|- "
    r"|configuration parameter|the machine to be|Tuning Recommendations|\[\.\.\.\]|=+ ?End of Report)"
)
# the statement cache by itself; the title of the section gives the interval: --- sp_sysmon "00:00:45" ---
_PART = re.compile(r"\s*SQL Statement Cache:\n\s+Statements Cached\s+[\d.]+\s+[\d.]+\s+\d+\s")
_CALL = re.compile(r'sp_sysmon "(\d\d:\d\d:\d\d)"')
_TIMES = ("%b %d, %Y %H:%M:%S", "%b %d, %Y %H%M%S")
_CLOCK = re.compile(r"(\d\d):?(\d\d):?(\d\d)")

# means are rounded to a tenth of a per cent
_SLACK = 0.005
# rows that are worth comparing: their path ends so; the figure, and which of two is better
_RATES: dict[str, tuple[str, Better]] = {
    "procedure_requests": ("procedure_requests_per_s", "neither"),
    "statements_cached": ("statements_cached_per_s", "neither"),
    "statements_found_in_cache": ("statements_found_in_cache_per_s", "neither"),
    "statements_dropped": ("statements_dropped_per_s", "lower"),
    "procedure_recompilations": ("recompilations_per_s", "lower"),
    "total_cpu_yields": ("cpu_yields_per_s", "neither"),
}
_CONTENTION = "spinlock_contention"
# tables of percentages: heading, prefix of the figures, their names
_ENGINES = {
    "engine utilization": ("engine_ticks", ("user", "system", "io", "idle")),
    "engine busy utilization": ("engine_busy", ("cpu", "io", "idle")),
    "thread utilization": ("os_threads", ("user", "system", "idle")),
}


def sniff(head: str) -> bool:
    """Whether a report begins, or a part that was cut out of one."""
    return _BEGINS in head or bool(_PART.match(head))


def read(source: Source) -> list[Report]:
    """One report per sample."""
    found: list[Report] = []
    lines: list[Line] = []
    for number_, text in source.lines():
        if _BEGINS in text:
            found += _parsed(source, lines)
            lines = []
        lines.append((number_, text))
    return found + _parsed(source, lines)


@dataclass
class _Sample:
    """A report while it is read. columns: of the table that the lines are in. mode: of the engines' table."""

    report: Report
    seconds: float | None = None
    columns: tuple[str, ...] = ()
    table: str = ""
    pool: str = ""
    pool_level: int = 0
    path: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    engines: dict[str, list[dict[str, float]]] = field(default_factory=dict[str, list[dict[str, float]]])
    totals: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])


def _parsed(source: Source, lines: list[Line]) -> list[Report]:
    whole = any(_BEGINS in text for _, text in lines)
    if not whole and not _PART.match("\n".join(text for _, text in lines[:3])):
        for number_, text in lines:
            source.skip(number_, text)
        return []
    now = _Sample(Report(source.place(lines[0][0])))
    if not whole and (call := _CALL.match(source.title)):
        _header(now, f"Sample Interval: {call[1]}")
    headers = {i for i in range(len(lines) - 1) if is_ruler(lines[i + 1][1]) and not is_ruler(lines[i][1])}
    for i, (number_, text) in enumerate(lines):
        if not text.strip() or is_ruler(text) or set(text.strip()) <= {"=", "-"} or _BEGINS in text:
            continue
        if not (
            _header(now, text) or _row(now, text) or (is_heading(i, text, headers) and _heading(now, text))
        ):
            if _is_known_text(text):
                if not _keep_advice(now, text):
                    source.skip(number_, text)
            elif not (may_be_subheading(i, lines) and _subheading(now, text)):
                source.skip(number_, text)
    _close(now)
    return [now.report]


def _header(now: _Sample, text: str) -> bool:
    found = HEADER.fullmatch(text)
    if found is None:
        return False
    name, value = found[1], found[2]
    if name == "Server Name":
        now.report.server = value
    elif name == "Sample Interval":
        if (at := _CLOCK.fullmatch(value)) is None:
            return False
        hours, minutes, seconds = map(int, at.groups())
        now.seconds = now.report.seconds = 3600.0 * hours + 60.0 * minutes + seconds
    elif name in ("Sampling Started at", "Statistics Cleared at"):
        # 12.5 gives the day by itself
        day = now.report.facts.get("Run Date", "") if name.startswith("Stat") else ""
        if (began := moment_in(f"{day} {value}", *_TIMES)) is None:
            return False
        now.report.began = began
    now.report.facts[name] = value
    return True


def _heading(now: _Sample, text: str) -> bool:
    """The line above a ruler: title of a section, or names of the columns."""
    parts = re.split(r"\s{2,}", text.strip(" >\t"))
    if any(_CELLS.fullmatch(part) for part in parts):
        # a damaged row above the ruler that ends its table
        return False
    now.table, now.columns = parts[0].lower(), tuple(map(slug, parts[1:]))
    now.path, now.pool, now.pool_level = [], "", 0
    return True


def _row(now: _Sample, text: str) -> bool:
    found = None if text.startswith(">") else _ROW.fullmatch(text)
    if found is None:
        return False
    cells = _CELLS.findall(found[3])
    label = re.sub(r"\s{2,}", " ", found[2] or "")
    if len(found[1]) <= now.pool_level and label and not label.startswith("Pool Summary"):
        now.pool = ""
    try:
        values = [percentage(cell.replace(" ", "")) for cell in cells]
    except ValueError:
        return False
    for title, (prefix, names) in _ENGINES.items():
        if now.table.startswith(title):
            # 12.5 has one column, whose last row gives the mean
            names = names if now.columns else ("",)
            whole = len(cells) == len(names) and all(cell.endswith("%") for cell in cells)
            return whole and _engine_row(now, prefix, label, names, values)
    while now.path and now.path[-1][0] >= len(found[1]):
        now.path.pop()
    entity = " / ".join(filter(None, (now.table, now.pool, *(name for _, name in now.path), label.strip())))
    if (columns := columns_of(now.columns, cells)) is None:
        return False
    by_column = dict(zip(columns, values, strict=False))
    for column, cell, value in zip(columns, cells, values, strict=False):
        if value is not None and column not in ("per_sec", "per_xact"):
            # of what is 'n/a' per second the count is a state or a maximum, not a number of events
            seconds = now.seconds if by_column.get("per_sec") is not None else None
            _keep(now, entity, slug(label), column, cell, value, seconds)
    return True


def _keep(
    now: _Sample, entity: str, name: str, column: str, cell: str, value: float, seconds: float | None
) -> None:
    if column == "count" and "." in cell:
        # an average, not a count
        now.report.sample(0, entity, "average", value)
    elif column == "count":
        now.report.sample(0, entity, "count", value)
        if seconds:
            now.report.sample(0, entity, "rate_per_s", value / seconds)
            if name in _RATES:
                figure, better = _RATES[name]
                now.report.figure(figure, value / seconds, "1/s", better)
            if name == "committed_xacts":
                now.report.work = Work(int(value), driver=False)
    else:
        metric = "of_total_percent" if column == "of_total" else slug(column)
        now.report.sample(0, entity, metric, value)
        if name.endswith(_CONTENTION) and column == "of_total":
            now.report.figure(f"{name}_percent", value, "%", "lower")


def _engine_row(
    now: _Sample, prefix: str, label: str, names: tuple[str, ...], values: list[float | None]
) -> bool:
    known = {name: value for name, value in zip(names, values, strict=True) if value is not None}
    if len(known) < len(values):
        return False
    if "" in known and (total := re.match(r"Summary Total ([\d.]+) % Average", label)):
        now.totals[prefix] = (float(total[1]), known[""])
        return True
    entity = f"{now.pool or 'server'} {label.strip() or 'Average'}"
    for name, value in known.items():
        now.report.sample(0, entity, _share(prefix, name), value)
    if label.startswith(("Engine", "Thread")):
        now.engines.setdefault(prefix, []).append(known)
    return True


def _share(prefix: str, name: str) -> str:
    return "_".join(filter(None, (prefix, name, "percent")))


def _subheading(now: _Sample, text: str) -> bool:
    """`ThreadPool : name`, or a line without numbers whose rows follow."""
    body = text.strip()
    if body.startswith("ThreadPool :"):
        now.pool = body.removeprefix("ThreadPool :").partition(":")[0].strip()
        now.pool_level = len(text) - len(text.lstrip())
        return True
    if len(body) > 50 or (re.search(r"\d[\d.,]*\s*%?$", body) and not re.fullmatch(r"Engine \d+", body)):
        return False
    level = len(text) - len(text.lstrip())
    if body.lower() in _ENGINES:
        now.table, now.columns, now.path = body.lower(), (), []
        return True
    if level <= now.pool_level:
        now.pool = ""
    while now.path and now.path[-1][0] >= level:
        now.path.pop()
    now.path.append((level, body.rstrip(":")))
    return bool(re.fullmatch(r"[A-Z][\w /().%:'-]*", body))


def _is_known_text(text: str) -> bool:
    return bool(_SENTENCE.match(text)) or bool(re.match(r"\s+[A-Z]?/?[\w/. ]*(P/|Sat |64-bit|32-bit)", text))


def _keep_advice(now: _Sample, text: str) -> bool:
    """Whether the sentence is whole: two of them hold a number."""
    if text.strip().startswith("- "):
        now.report.facts[f"advice {len(now.report.facts)}"] = text.strip(" -")
    elif found := re.search(r"(consuming|per CPU unit\) :) +(\d[\d.]*)(?= CPU units|\s*$)", text):
        name = "cpu_units" if found[1] == "consuming" else "xacts_per_cpu_unit"
        now.report.figure(name, number(found[2]), "", "neither")
    else:
        return not re.search(r"consuming|per CPU unit", text)
    return True


def _close(now: _Sample) -> None:
    """Figures of the engines: means over all of them, and what the threads used by the system's account."""
    report = now.report
    for prefix, rows in now.engines.items():
        if prefix == "os_threads":
            busy = sum(row["user"] + row["system"] for row in rows)
            report.figure("os_cpu_of_threads_percent", busy, "%", "lower")
            continue
        for name in rows[0]:
            mean = sum(row[name] for row in rows) / len(rows)
            report.figure(_share(prefix, name), mean, "%")
            if prefix in now.totals:
                total, stated = now.totals[prefix]
                said = (
                    f"a mean of {stated:g} % and a total of {total:g} % for {len(rows)} engines of {mean:g} %"
                )
                report.foot(said, stated + total, mean * (1 + len(rows)), _SLACK)
    if now.engines:
        report.facts["kernel mode"] = "process" if "engine_busy" in now.engines else "threaded"
    if now.seconds is None:
        report.notices.append(("interval-unknown", "the report gives no Sample Interval: no rates"))
