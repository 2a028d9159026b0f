"""sysbench: summary and intermediate results. Versions 0.5 and 1.0; percentiles are sysbench's own.

Counts of a checkpoint (--report-checkpoints) are since the one before, and added up; `total time` is not.
"""

import re

from steelyard.recordings.cells import exact
from steelyard.recordings.lines import (
    Found,
    Lines,
    Now,
    fact,
    has,
    known,
    numbers,
    numbers_of,
    reading,
    rule,
    word,
    worked,
)

_PROGRESS = (
    r"\[ (?P<t>\d+)s \] thds: (?P<clients>\d+) "
    r"(?:tps|eps): (?P<tps>N) (?:qps: (?P<qps>N) "
    r"\(r/w/o: (?P<reads_per_s>N)/(?P<writes_per_s>N)/(?P<others_per_s>N)\) )?"
    r"lat \(ms,(?P<percent>\d+)%\): (?P<latency>N)"
    r"(?: err/s:? (?P<errors_per_s>N))?(?: reconn/s: (?P<reconnects_per_s>N))?\s*"
)
_OLD = (
    r"\[ *(?P<t>\d+)s\] threads: (?P<clients>\d+), tps: (?P<tps>N), reads: (?P<reads_per_s>N),"
    r" writes: (?P<writes_per_s>N), response time: (?P<latency>N)ms \((?P<percent>\d+)%\),"
    r" errors: +(?P<errors_per_s>N), reconnects: +(?P<reconnects_per_s>N)\s*"
)
_COUNTED = (
    r"\s+(?:transactions: +(?P<done>\d+) +\((?P<per_s>N) per sec\.\)"
    r"|total number of events: +(?P<events>\d+)|ignored errors: +(?P<failed>\d+) +\(.*"
    r"|reconnects: +(?P<reconnects>\d+) +\(.*|read/write requests: +(?P<read_write_requests>\d+) +\(.*"
    r"|other operations: +(?P<other_operations>\d+) +\(.*|read: +(?P<queries_read>\d+)"
    r"|write: +(?P<queries_write>\d+)|other: +(?P<queries_other>\d+)|total: +(?P<queries_total>\d+)"
    r"|sum: +(?P<latency_sum_ms>N)|total time taken by event execution: +(?P<latency_sum_s>N)s?)"
)
# rates and times of the summary are rounded, and taken one after another
_SLACK = 0.015


def _progress(now: Now, found: Found) -> None:
    cells = numbers_of(found)
    name, latency = f"p{cells.pop('percent'):g}_ms", cells.pop("latency")
    # 0: no event ended; 100,000: the end of sysbench's histogram
    if 0 < latency < 1e5:
        cells[name] = latency
    at_s = cells.pop("t")
    # threads that an error ended are no longer counted
    now.numbers["threads"] = max(now.numbers["threads"], cells.pop("clients"))
    now.numbers["until"] = at_s
    now.timed.add_row(at_s, "sysbench", cells)


def _count(now: Now, found: Found) -> None:
    """Adds counts to those of earlier checkpoints."""
    for name, value in numbers_of(found).items():
        now.numbers[name] += value


def _latency(now: Now, found: Found) -> None:
    """One figure of each name, of several checkpoints the least or the largest."""
    name, value = f"p{found[2]}" if found[2] else found[1], exact(found[3])
    now.numbers[name] = (min if name == "min" else max)(now.numbers.get(name, value), value)


def _close(now: Now) -> None:
    report, n = now.report, now.numbers
    n.setdefault("clients", n["threads"])
    if "events" in n:
        # without transactions each event is one
        n["done"] = n["done"] or n["events"]
    done, total_ms = n["done"], n["latency_sum_ms"] or 1e3 * n["latency_sum_s"]
    for name in _COUNTS:
        report.sample(0, "sysbench", name, n.get(name))
    if not done:
        # times of no event are 0, or the largest number
        worked(now)
        return
    several = total_ms and n["checkpoints"]
    if n["per_s"]:
        n.setdefault("seconds", done / n["per_s"])
    report.figure("latency_min", n.get("min"), "ms", "neither", "min")
    report.figure("latency_mean", total_ms / done if several else n.get("avg"), "ms", "lower", "work")
    report.figure("latency_max", n.get("max"), "ms", "lower", "max")
    for name in filter(re.compile(r"p\d+").fullmatch, n):
        if several:
            report.notice("not-pooled", "percentiles of several checkpoints cannot be pooled: left out")
        else:
            report.figure(name, n[name], "ms", "lower", "no")
    worked(now)
    report.seconds = report.seconds or n["until"]
    if not report.seconds:
        return
    if (per_s := n["per_s"]) and not several:
        said = f"{per_s:g} per s, and {done:,.0f} in {report.seconds:g} s"
        report.foot(said, per_s * report.seconds, done, _SLACK)
    if total_ms and (mean := report.value("latency_mean")):
        said = f"{done:,.0f} of {mean:g} ms and a sum of {total_ms:g} ms"
        report.foot(said, done * mean, total_ms, 0.005 / mean + _SLACK / 10)


_COUNTS = ("queries_read", "queries_write", "queries_other", "queries_total", "read_write_requests",
           "other_operations", "reconnects", "latency_sum_ms")  # fmt: skip
_TITLES = (
    "Running the test|Report |Initializing|Threads (?:started|fairness)|(?:SQL|OLTP test|General) statistics"
    "|Latency|Throughput|Warning|Prime numbers|CPU speed|Random number|Warm|Time limit|Done\\.|DB SCHEMA"
    "|\\s+response time:$|\\s+(?:queries(?: performed)?|events per second|events/s(?: \\(eps\\))?):"
)
_AT_START = r"\s+(?:total time|time elapsed): +(?P<seconds>N)s"
sniff = has(r"\A\s*sysbench |^\[ *\d+s ?\] (?:thds|threads): N")
read = Lines(
    (
        rule(_PROGRESS, _progress),
        rule(_OLD, _progress),
        fact(r"(sysbench .*)", "driver", once="version"),
        rule(r"\[ \d+s \] Checkpoint report:", lambda now, _: now.numbers.update(checkpoints=1)),
        numbers(r"Number of threads: (?P<clients>\d+)", once="clients"),
        rule(_COUNTED, _count),
        numbers(_AT_START),
        rule(r"\s+(min|avg|max|(?:approx\. +)?(\d+)\w* percentile): +(?!100000\.00\b)(N)(?:ms)?", _latency),
        reading(
            r"\s+(?:events \(avg/stddev\): +(?P<events_mean>N)/(?P<events_stddev>N)|execution time"
            r" \(avg/stddev\): +(?P<execution_time_mean>N)/(?P<execution_time_stddev>N))",
            "threads",
        ),
        word(r"(?P<rate>Target transaction rate: .*)"),
        known(_TITLES),
    ),
    _close,
)
