"""pgbench's summary and its progress lines; the latencies of statements too."""

from __future__ import annotations

import re

from steelyard.recordings.cells import exact
from steelyard.recordings.report import Report, Work
from steelyard.recordings.source import Source

TITLE = "pgbench: summary and progress"

_PROGRESS = re.compile(
    r"progress: ([\d.]+) s, ([\d.]+) tps, lat ([\d.]+) ms stddev ([\d.]+|NaN)"
    r"(?:, lag [\d.]+ ms)?(?:, (\d+) skipped)?(?:, (\d+) failed)?.*"
)
_SUMMARY = re.compile(r"(transaction type|number of transactions actually processed): .*")
_VALUES: dict[str, re.Pattern[str]] = {
    "clients": re.compile(r"number of clients: (\d+)"),
    "seconds": re.compile(r"duration: (\d+) s"),
    "done": re.compile(r"number of transactions actually processed: (\d+)(?:/\d+)?"),
    "failed": re.compile(r"number of failed transactions: (\d+) .*"),
    "tps": re.compile(
        r"tps = ([\d.]+) \((?:without initial connection time|excluding connections establishing)\)"
    ),
}
_FIGURES = (
    (re.compile(r"latency average = ([\d.]+) ms"), "latency_mean", "ms"),
    (re.compile(r"latency stddev = ([\d.]+) ms"), "latency_stddev", "ms"),
    (re.compile(r"initial connection time = ([\d.]+) ms"), "initial_connection_time", "ms"),
)
_STATEMENT = re.compile(r"\s+(\d+\.\d+)(?:\s+\d+){0,2}  (\S.*)")
_KNOWN = re.compile(
    r"(pgbench \(|starting vacuum|transaction type|scaling factor|partition|query mode|number of threads"
    r"|maximum number"
    r"|number of transactions (per client|retried|above|below|skipped)|total number of retries"
    r"|statement latencies"
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
        if not _line(report, values, text) and not _KNOWN.match(text):
            source.skip(line, text)
    return [*found, _closed(report, values)]


def _line(report: Report, values: dict[str, float], text: str) -> bool:
    if progress := _PROGRESS.fullmatch(text):
        at = float(progress[1])
        report.sample(at, "pgbench", "tps", float(progress[2]))
        report.sample(at, "pgbench", "latency_mean_ms", float(progress[3]))
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
    if statement := _STATEMENT.fullmatch(text):
        report.sample(0, f"statement {statement[2].strip()}", "latency_mean_ms", float(statement[1]))
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
