"""k6 --out json. One object per line. A request whose expected_response is false failed; without it
those whose status is not 200 to 399, as by k6's default.
"""

import math
from datetime import datetime

from steelyard._core import histogram_of
from steelyard.recordings.lines import Found, Lines, NotMine, Now, by_second, has, known, rule
from steelyard.recordings.report import Work

# versions of k6 have their keys in different orders; a tag may have the name of one
_POINT = (
    r'\{(?=.*"type": *"Point")(?=(?:[^{]*|.*\}, *)"metric": *"(?P<metric>\w+)")'
    r'(?=(?:.*"expected_response": *"(?P<good>\w+)")?)(?=(?:.*"status": *"(?P<status>\d+)")?)'
    r'.*"data": *\{"time": *"(?P<time>[^"]*(?::\d\d){2}[^"]*)"'
    r', *"value": *(?P<value>-?\d[\d.]*(?:[eE][-+]?\d+)?)(?:\}|,(?!\d)).*\}\s*'
)


def _point(now: Now, found: Found) -> None:
    at, value, n = datetime.fromisoformat(found["time"]).timestamp(), float(found["value"]), now.numbers
    if found["metric"] == "vus":
        n["users"] = max(n["users"], value)
        return
    if (request := found["metric"] == "http_req_duration") and value < 0:
        # a clock that was set back
        raise NotMine
    # a request is written at its end
    n["start"] = min(n.get("start", at), at - request * value / 1e3)
    if not request:
        now.report.sample(at, "k6", found["metric"], value)
        return
    n["end"] = max(at, n["end"])
    answered = 200 <= int(found["status"] or 200) < 400
    if found["good"] == "false" or not (found["good"] or answered):
        now.counts["failed", math.floor(at)] += 1
    else:
        now.counts["done", math.floor(at)] += 1
        ns = round(value * 1e6)
        # what a histogram distinguishes: few different ones
        shift = max(0, ns.bit_length() - 11)
        now.counts["ns", ns >> shift << shift] += 1


def _close(now: Now) -> None:
    report, n = now.report, now.numbers
    report.clients = int(n["users"]) or None
    if "start" not in n:
        return
    report.began = datetime.fromtimestamp(n["start"]).astimezone()
    report.samples.later(-n["start"])
    if seconds := by_second(now, math.floor(n["start"])):
        report.seconds = n["end"] - n["start"]
        done = sum(count for _, count, _ in seconds)
        report.work = Work(done, sum(count for *_, count in seconds), seconds, detail=3)
        latencies = [(int(ns), count) for (name, ns), count in now.counts.items() if name == "ns"]
        if done:
            report.row("latency", statement="transaction", count=done, histogram=histogram_of(latencies))


sniff = has(r'\A\s*\{.*"type": *"(?:Point|Metric)"', r'\A\s*\{.*"metric"')
read = Lines(
    (
        # each metric is declared once
        known(r'\{(?=.*"type": *"Metric").*"metric": *"(?P<metric>\w+)".*\}\s*$', "{metric}"),
        rule(_POINT, _point),
    ),
    _close,
)
