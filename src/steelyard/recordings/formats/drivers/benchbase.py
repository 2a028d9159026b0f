"""BenchBase's *.summary.json. Its percentiles are kept as its own: they cannot be pooled."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any, cast

from steelyard.recordings.report import Report, Work
from steelyard.recordings.source import Source
from steelyard.study.errors import InputError

TITLE = "BenchBase: *.summary.json"

_PERCENTILE = re.compile(r"(\d+)(?:st|nd|rd|th) Percentile Latency \(microseconds\)")


def sniff(head: str) -> bool:
    """Whether two of its keys are there."""
    return head.lstrip()[:1] == "{" and "Measured Requests" in head and "Goodput (requests/second)" in head


def read(source: Source) -> list[Report]:
    """One report. Raises InputError for what is not whole."""
    try:
        whole = cast("dict[str, Any]", json.loads(source.text()))
        return [_report(source, whole)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{source.path}: not a whole summary of BenchBase: {error!r:.80}") from None


def _report(source: Source, whole: dict[str, Any]) -> Report:
    report = Report("drivers/benchbase", source.place(source.first))
    report.seconds = float(whole["Elapsed Time (nanoseconds)"]) / 1e9 or None
    if start := whole.get("Start timestamp (milliseconds)"):
        report.began = datetime.fromtimestamp(float(start) / 1e3, UTC)
    for key in ("DBMS Type", "DBMS Version", "Benchmark Type", "Final State"):
        report.facts[key] = str(whole.get(key, ""))
    if report.seconds:
        good = round(float(whole["Goodput (requests/second)"]) * report.seconds)
        report.work = Work(good, max(0, int(whole["Measured Requests"]) - good), detail=1)
    for key, value in cast("dict[str, Any]", whole.get("Latency Distribution", {})).items():
        name = _PERCENTILE.fullmatch(key)
        if name:
            report.figure(f"p{name[1]}", float(value) / 1e3, "ms", "lower", pooled=True)
        elif key.startswith(("Average", "Median", "Maximum", "Minimum")):
            short = {
                "Average": "latency_mean",
                "Median": "p50",
                "Maximum": "latency_max",
                "Minimum": "latency_min",
            }
            better = "neither" if key.startswith("Min") else "lower"
            report.figure(
                short[key.split()[0]], float(value) / 1e3, "ms", better, pooled="Average" not in key
            )
        else:
            source.skip(source.first, key)
    return report
