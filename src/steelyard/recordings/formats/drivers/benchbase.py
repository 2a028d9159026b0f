"""BenchBase: *.summary.json. Its percentiles are kept as its own: they cannot be pooled."""

import json
import re
from datetime import UTC, datetime
from typing import Any

from steelyard.errors import InputError
from steelyard.recordings.lines import has
from steelyard.recordings.report import Pools, Report, Work
from steelyard.recordings.source import Source

_NAMES: dict[str, tuple[str, Pools]] = {
    "Average": ("latency_mean", "work"),
    "Median": ("p50", "no"),
    "Maximum": ("latency_max", "max"),
    "Minimum": ("latency_min", "min"),
}
_LATENCY = re.compile(rf"(?:(\d+)(?:st|nd|rd|th) Percentile|({'|'.join(_NAMES)})) Latency \(microseconds\)")
_SLACK = 0.01

sniff = has(r"\A\s*\{", "Measured Requests", r"Goodput \(requests/second\)")


def read(source: Source) -> list[Report]:
    """One report. Raises InputError for what is not whole."""
    try:
        return [_report(source, json.loads(source.text()))]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{source.path}: not a whole summary of BenchBase: {error!r:.80}") from None


def _report(source: Source, whole: dict[str, Any]) -> Report:
    report = Report(source.place())
    seconds = report.seconds = float(whole["Elapsed Time (nanoseconds)"]) / 1e9 or None
    # older versions do not write it
    report.clients = int(whole.get("terminals", 0)) or None
    if start := whole.get("Start timestamp (milliseconds)"):
        report.began = datetime.fromtimestamp(float(start) / 1e3, UTC)
    for key in ("DBMS Type", "DBMS Version", "Benchmark Type", "Final State"):
        report.facts[key] = str(whole.get(key, ""))
    if report.facts["Final State"] == "ERROR":
        report.notice("source-warns", "BenchBase ended with an error")
    if seconds:
        good_per_s = float(whole["Goodput (requests/second)"])
        good, requests = round(good_per_s * seconds), int(whole["Measured Requests"])
        report.work = Work(good, max(0, requests - good), detail=1)
        per_s = float(whole["Throughput (requests/second)"])
        stated = f"{requests:,} requests in {seconds:g} s"
        report.foot(f"{per_s:g} requests/s, and {stated}", per_s * seconds, requests, _SLACK)
        report.foot(f"{good_per_s:g} good requests/s, and {stated}", max(good, requests), requests, _SLACK)
    for key, value in whole.get("Latency Distribution", {}).items():
        if (found := _LATENCY.fullmatch(key)) is None:
            source.skip(source.first, key)
            continue
        name, pools = (f"p{found[1]}", "no") if found[1] else _NAMES[found[2]]
        # -1: of no request
        if value >= 0:
            report.figure(name, float(value) / 1e3, "ms", "neither" if pools == "min" else "lower", pools)
    report.foot_clients()
    return report
