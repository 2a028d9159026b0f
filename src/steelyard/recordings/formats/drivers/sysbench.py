"""sysbench: its summary, and intermediate results. Percentiles are sysbench's own."""

from __future__ import annotations

import re
from contextlib import suppress

from steelyard.recordings.cells import exact
from steelyard.recordings.report import Better, Report, Work
from steelyard.recordings.source import Source

TITLE = "sysbench: summary and intermediate results"

_PROGRESS = re.compile(
    r"\[ (\d+)s \] thds: (\d+) "
    r"(?:tps: (?P<tps>[\d.]+) qps: (?P<qps>[\d.]+) "
    r"\(r/w/o: (?P<reads_per_s>[\d.]+)/(?P<writes_per_s>[\d.]+)/(?P<others_per_s>[\d.]+)\) "
    r"|eps: (?P<eps>[\d.]+) )"
    r"lat \(ms,(?P<percent>\d+)%\): (?P<latency>[\d.]+)"
    r"(?: err/s: (?P<errors_per_s>[\d.]+))?(?: reconn/s: (?P<reconnects_per_s>[\d.]+))?\s*"
)
_FURTHER = ("qps", "reads_per_s", "writes_per_s", "others_per_s", "errors_per_s", "reconnects_per_s")
_VALUES = {
    "clients": re.compile(r"Number of threads: (\d+)"),
    "done": re.compile(r"\s+transactions: +(\d+) +\(.*"),
    "events": re.compile(r"\s+total number of events: +(\d+)"),
    "failed": re.compile(r"\s+ignored errors: +(\d+) +\(.*"),
    "seconds": re.compile(r"\s+(?:total time|time elapsed): +([\d.]+)s"),
}
_LATENCY = re.compile(r"\s+(min|avg|max|(\d+)(?:st|nd|rd|th) percentile): +([\d.]+)")
_FAIR = re.compile(r"\s+(events|execution time) \(avg/stddev\): +([\d.]+)/([\d.]+)")
_QUERIES = re.compile(r"\s+(read|write|other|total): +(\d+)")
_SUMS = {
    "reconnects": re.compile(r"\s+reconnects: +(\d+) +\(.*"),
    "latency_sum_ms": re.compile(r"\s+sum: +([\d.]+)"),
}
_KNOWN = re.compile(
    r"(sysbench |Running the test|Report intermediate|Initializing|Threads started|SQL statistics"
    r"|General statistics"
    r"|Latency|Threads fairness|Target transaction|Warning|Prime numbers|CPU speed|Throughput"
    r"|\s+(queries( performed)?:|events per second|events/s))"
)


def sniff(head: str) -> bool:
    """Whether sysbench introduces itself, or its progress is there."""
    return head.lstrip().startswith("sysbench ") or any(_PROGRESS.fullmatch(x) for x in head.split("\n"))


def read(source: Source) -> list[Report]:
    """One report per run of sysbench."""
    found: list[Report] = []
    values: dict[str, float] = {}
    report = Report("drivers/sysbench", source.place(source.first))
    for line, text in source.lines():
        if text.startswith("sysbench ") and values:
            found.append(_closed(report, values))
            report, values = Report("drivers/sysbench", source.place(line)), {}
        if text.startswith("sysbench "):
            report.facts["driver"] = text.strip()
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
        report.sample(at, "sysbench", "tps", exact(progress["tps"] or progress["eps"]))
        report.sample(at, "sysbench", f"p{progress['percent']}_ms", exact(progress["latency"]))
        for name in _FURTHER:
            if progress[name]:
                report.sample(at, "sysbench", name, exact(progress[name]))
        values["until"], values["threads"] = at, float(progress[2])
        return True
    for name, pattern in _VALUES.items():
        if found := pattern.fullmatch(text):
            values[name] = exact(found[1])
            return True
    if latency := _LATENCY.fullmatch(text):
        name = f"p{latency[2]}" if latency[2] else f"latency_{latency[1].replace('avg', 'mean')}"
        better: Better = "neither" if latency[1] == "min" else "lower"
        report.figure(name, exact(latency[3]), "ms", better, pooled=latency[1] != "avg")
        return True
    if queries := _QUERIES.fullmatch(text):
        report.sample(0, "sysbench", f"queries_{queries[1]}", exact(queries[2]))
        return True
    for name, pattern in _SUMS.items():
        if found := pattern.fullmatch(text):
            report.sample(0, "sysbench", name, exact(found[1]))
            return True
    if fair := _FAIR.fullmatch(text):
        name = fair[1].replace(" ", "_")
        report.sample(0, "threads", f"{name}_mean", exact(fair[2]))
        report.sample(0, "threads", f"{name}_stddev", exact(fair[3]))
        return True
    return False


def _closed(report: Report, values: dict[str, float]) -> Report:
    clients = values.get("clients") or values.get("threads")
    report.clients = int(clients) if clients else None
    done = values.get("done", values.get("events"))
    report.seconds = values.get("seconds") or values.get("until") or None
    if done is not None and values.get("seconds"):
        report.work = Work(int(done), int(values.get("failed", 0)), detail=1)
    elif "until" in values:
        report.notices.append(("summary-missing", "intermediate results without a summary: no count"))
        rates = report.samples.values_of("tps")
        report.figure("tps_of_progress", sum(rates) / len(rates), "1/s", "higher")
    return report
