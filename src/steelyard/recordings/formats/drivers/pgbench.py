"""pgbench's summary and its progress lines; the latencies of statements too."""

from __future__ import annotations

import re
from contextlib import suppress

from steelyard.recordings.cells import exact
from steelyard.recordings.report import Report, Work
from steelyard.recordings.source import Source

TITLE = "pgbench: summary and progress"

_DECIMAL = r"\d+\.\d+|NaN"
_PROGRESS = re.compile(
    rf"progress: (\d+\.\d+) s, (?P<tps>{_DECIMAL}) tps, lat (?P<latency_mean_ms>{_DECIMAL}) ms"
    rf" stddev (?P<latency_stddev_ms>{_DECIMAL})"
    # from version 15 on `failed` comes before the lag
    r"(?:, (?P<failed>\d+) failed)?"
    rf"(?:, lag (?P<lag_ms>{_DECIMAL}) ms)?(?:, (?P<skipped>\d+) skipped)?"
    r"(?:, (?P<retried>\d+) retried, (?P<retries>\d+) retries)?\s*"
)
_SUMMARY = re.compile(r"(transaction type|number of transactions actually processed): .*")
_VALUES: dict[str, re.Pattern[str]] = {
    "clients": re.compile(r"number of clients: (\d+)"),
    "seconds": re.compile(r"duration: (\d+) s"),
    "done": re.compile(r"number of transactions actually processed: (\d+)(?:/\d+)?"),
    "failed": re.compile(r"number of failed transactions: (\d+) \(.*"),
    "tps": re.compile(
        r"tps = ([\d.]+) \((?:without initial connection time|excluding connections establishing)\)"
    ),
}
_FIGURES = (
    (re.compile(r"latency average = ([\d.]+) ms"), "latency_mean", "ms"),
    (re.compile(r"latency stddev = ([\d.]+) ms"), "latency_stddev", "ms"),
    (re.compile(r"initial connection time = ([\d.]+) ms"), "initial_connection_time", "ms"),
)
_STATEMENTS = re.compile(
    r"statement latencies in milliseconds(?P<failures>.*failures)?(?P<retries>.*retries)?:"
)
_STATEMENT = re.compile(r"\s+(\d+\.\d+)(?:\s+(\d+))?(?:\s+(\d+))?  (\S.*)")
_COUNTS = {
    "retried": re.compile(r"number of transactions retried: (\d+) \(.*"),
    "retries": re.compile(r"total number of retries: (\d+)"),
    "skipped": re.compile(r"number of transactions skipped: (\d+) \(.*"),
    "above_latency_limit": re.compile(
        r"number of transactions above the .* latency limit: (\d+)(?:/\d+)? \(.*"
    ),
}
_FACTS = re.compile(
    r"(transaction type|scaling factor|query mode|number of threads|maximum number of tries): (\S.*)"
)
_KNOWN = re.compile(
    r"(pgbench \(|starting vacuum|transaction type|scaling factor|partition|query mode|number of threads"
    r"|maximum number"
    r"|number of transactions (per client|below)"
    r"|tps = .*including|SQL script|creating|generating|vacuuming|done in|dropping|client \d+ .*|rate limit"
    r"|\s- (number|latency|statement|weight)|end\.| - )"
)


def sniff(head: str) -> bool:
    """Whether a line of progress or of the summary is there."""
    lines = head.split("\n")
    return any(_PROGRESS.fullmatch(line) for line in lines) or (
        any(_SUMMARY.fullmatch(line) for line in lines) and "number of clients:" in head
    )


def read(source: Source) -> list[Report]:
    """One report per summary; progress lines belong to the summary that follows them."""
    found: list[Report] = []
    values: dict[str, float] = {}
    report = Report("drivers/pgbench", source.place(source.first))
    for line, text in source.lines():
        if text.startswith("transaction type:") and values.get("done") is not None:
            found.append(_closed(report, values))
            report, values = Report("drivers/pgbench", source.place(line)), {}
        known: object = False
        # a number beyond 2^53, or with two points
        with suppress(ValueError):
            known = _line(report, values, text) or _KNOWN.match(text)
        if not known:
            source.skip(line, text)
    return [*found, _closed(report, values)]


def _line(report: Report, values: dict[str, float], text: str) -> bool:
    if progress := _PROGRESS.fullmatch(text):
        at = float(progress[1])
        for name, cell in progress.groupdict().items():
            # NaN: a latency of no transaction
            if cell and cell != "NaN":
                report.sample(at, "pgbench", name, exact(cell))
        values["until"] = at
        return True
    for name, pattern in _VALUES.items():
        if found := pattern.fullmatch(text):
            values[name] = exact(found[1])
            return True
    for pattern, name, unit in _FIGURES:
        if found := pattern.fullmatch(text):
            report.figure(name, exact(found[1]), unit, "neither" if "stddev" in name else "lower")
            return True
    if text.startswith("pgbench ("):
        report.facts["driver"] = text.strip()
    if heading := _STATEMENTS.match(text):
        values["columns"] = sum(map(bool, heading.groups()))
        return True
    if statement := _STATEMENT.fullmatch(text):
        if values.get("columns") != (statement[2] is not None) + (statement[3] is not None):
            return False
        entity = f"statement {statement[4].strip()}"
        report.sample(0, entity, "latency_mean_ms", float(statement[1]))
        for name, cell in (("failures", statement[2]), ("retries", statement[3])):
            if cell:
                report.sample(0, entity, name, exact(cell))
        return True
    if fact := _FACTS.fullmatch(text):
        report.facts[fact[1]] = fact[2].strip()
        return True
    for name, pattern in _COUNTS.items():
        if found := pattern.fullmatch(text):
            report.sample(0, "pgbench", name, exact(found[1]))
            return True
    return False


def _closed(report: Report, values: dict[str, float]) -> Report:
    """The seconds follow from the count and the rate: the duration is the planned one."""
    if "clients" in values and values["clients"] >= 1:
        report.clients = int(values["clients"])
    if "done" in values:
        tps = values.get("tps", 0.0)
        report.seconds = values["done"] / tps if tps else values.get("seconds") or None
        if report.seconds:
            report.work = Work(int(values["done"]), int(values.get("failed", 0)), detail=1)
    elif "until" in values:
        report.notices.append(
            ("summary-missing", "progress lines without a summary: no count of transactions")
        )
        rates = report.samples.values_of("tps")
        report.figure("tps_of_progress", sum(rates) / len(rates), "1/s", "higher")
        report.seconds = values["until"] or None
    return report
