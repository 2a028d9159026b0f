"""k6 --out json: one object per line. Only points of http_req_duration, iteration_duration and failures."""

import json
import math
from datetime import datetime
from typing import Any, cast

from steelyard.recordings.events import encoded, leading
from steelyard.recordings.lines import has
from steelyard.recordings.report import Report, Work
from steelyard.recordings.source import Source, several_runs

TITLE = "k6 --out json"


sniff = has(r'\A\s*\{.*"type": ?"(?:Point|Metric)"', r'\A\s*\{.*"metric"')


def read(source: Source) -> list[Report]:
    """One report; a request whose expected_response is false failed."""
    report = Report(source.place(source.first))
    seconds: dict[int, list[int]] = {}
    latencies: dict[int, int] = {}
    users = 0.0
    declared: set[str] = set()
    for line, text in source.lines():
        try:
            point = cast("dict[str, Any]", json.loads(text))
            name, data = str(point["metric"]), cast("dict[str, Any]", point["data"])
            if point["type"] != "Point":
                if name in declared:
                    raise several_runs(source, line)
                declared.add(name)
                continue
            at = datetime.fromisoformat(data["time"]).timestamp()
            value = float(data["value"])
            if name == "http_req_duration":
                failed = cast("dict[str, Any]", data.get("tags") or {}).get("expected_response") == "false"
                seconds.setdefault(int(at), [0, 0])[int(failed)] += 1
                if not failed:
                    key = leading(round(value * 1e6))
                    latencies[key] = latencies.get(key, 0) + 1
            elif name == "vus":
                users = max(users, value)
            else:
                report.sample(at, "k6", name, value)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            source.skip(line, text)
    _close(report, seconds, latencies)
    report.clients = int(users) or None
    return [report]


def _close(report: Report, seconds: dict[int, list[int]], latencies: dict[int, int]) -> None:
    starts = [*seconds, *([math.floor(report.samples.at_s.min())] if report.samples else [])]
    if not starts:
        return
    start = min(starts)
    report.began = datetime.fromtimestamp(start).astimezone()
    report.samples.later(-start)
    if seconds:
        report.seconds = float(max(seconds) + 1 - start)
        by_second = tuple((at - start, done, failed) for at, (done, failed) in sorted(seconds.items()))
        report.work = Work(
            sum(d for _, d, _ in by_second), sum(f for *_, f in by_second), by_second, detail=3
        )
        count = sum(latencies.values())
        if count:
            report.row("latency", statement="transaction", count=count, histogram=encoded(latencies.items()))
