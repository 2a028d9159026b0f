"""pgbench -l: per transaction, or aggregated.

Six columns are always the same. A seventh is the lag of a rate limit (-R) or the retries (--max-tries), which
the file does not tell: it is read only where a schedule says which, `seventh = "lag"` or `"retries"`.
"""

import re
from datetime import UTC, datetime

from steelyard.errors import InputError
from steelyard.recordings.events import asked, reduced
from steelyard.recordings.lines import Found, Lines, NotMine, Now, by_second, has, numbers_of, rule
from steelyard.recordings.report import Report, Work
from steelyard.recordings.source import Source, several_runs

_EVENT = r"\d+ \d+ (?:\d+|skipped|failed|serialization|deadlock) \d+ \d{10} \d{1,6}(?: \d+){0,2}"
_COLUMNS = {
    "client": "INTEGER", "number": "BIGINT", "took": "VARCHAR", "script": "INTEGER", "s": "BIGINT",
    "us": "BIGINT", "c7": "VARCHAR", "c8": "VARCHAR",
}  # fmt: skip
# `us` of the file is the fraction of the second, `us` of the result the latency; all have as many columns
_EVENTS = """
    select s * 1000000 + fraction as end_us, us, client,
        case when s is null or fraction is null or s < 1e9 or not fraction between 0 and 999999
                or coalesce(client, -1) < 0 or us < 0 or columns <> {columns} then null
            when us is not null then 'done' when took in ('failed', 'serialization', 'deadlock') then 'failed'
            when took = 'skipped' then 'skipped' end as state
    from (select client, took, s, us as fraction, try_cast(took as bigint) as us,
        6 + (c7 is not null)::int + (c8 is not null)::int as columns from raw)
"""
_SEVENTH = """
    select avg(lag), avg(lag) / 1e3, max(lag) / 1e3 from (select try_cast(c7 as bigint) as lag from raw
        where try_cast(took as bigint) is not null)
"""
# the line, about, from which the first transactions of the clients come again
_AGAIN = """
    select max(line) from (select row_number() over () as line, client, number from raw) where number <= 1
    group by client, number having count(*) > 1 order by 1 limit 1
"""

# a sample (--sampling-rate) has many gaps in the numbers of its first lines, damage few
_NUMBERED = """
    select count(*), count(*) filter (step > 1) from (
        select number - lag(number) over (partition by client order by number) as step
        from (from raw limit 100000))
"""
_SLACK = 0.02

# sums of squares, which are not used, may be larger than a float represents; then with a rate limit, with one
# of the latency too, and from version 15 on
_INTERVAL = (
    r"\s*(?P<at>\d{10}) (?P<transactions>\d+) (?P<latency>\d+) \d+ (?P<latency_min_us>\d+)"
    r" (?P<latency_max_us>\d+)(?: (?P<lag>\d+) \d+ (?P<lag_min_us>\d+) (?P<lag_max_us>\d+)"
    r"(?: (?P<skipped>\d+)(?: (?P<retried>\d+) (?P<retries>\d+)"
    r" (?P<serialization>\d+) (?P<deadlock>\d+))?)?)?\s*"
)
_SECONDS_MAX = 1_000_000

# the first line is one of a log
sniff = has(rf"\A\s*(?:{_EVENT}|{_INTERVAL})[ \t]*$")


def read(source: Source) -> list[Report]:
    """One report of the whole file."""
    first = source.head().strip().partition("\n")[0].strip()
    if not re.fullmatch(_EVENT, first):
        return _INTERVALS(source)
    columns = len(first.split())
    for line, *_ in asked(source, _COLUMNS, _AGAIN):
        raise several_runs(source, line)
    found = reduced(source, _COLUMNS, _EVENTS.format(columns=columns), " ")
    ((listed, gaps),) = asked(source, _COLUMNS, _NUMBERED)
    said = f"{listed:,} transactions with {gaps:,} gaps in their numbers, as of a sample"
    found[0].foot(said, listed, listed - gaps, _SLACK)
    found[0].notice("threads-unknown", "threads of pgbench (-j) write logs of their own: give those of all")
    if columns > 6:
        _seventh(source, found[0])
    return found


def _seventh(source: Source, report: Report) -> None:
    """Figures of the 7th column, of the transactions that were done, where a schedule says what it is."""
    said = source.choices.seventh
    if said is None:
        text = (
            "the 7th column of the pgbench log is a lag or a number of retries: it is not read; a"
            ' schedule can say which: seventh = "lag"'
        )
        report.notice("column-not-read", text)
        return
    ((retries, lag_ms, most_ms),) = asked(source, _COLUMNS, _SEVENTH)
    if said == "retries":
        report.figure("retries_per_transaction", retries, "", "lower", "work")
    else:
        report.figure("lag_mean", lag_ms, "ms", "lower", "work")
        report.figure("lag_max", most_ms, "ms", "lower", "max")


def _interval(now: Now, found: Found) -> None:
    """Readings of one interval: counts, latency, and lag where there was one."""
    cells = numbers_of(found)
    n = now.numbers
    if len(cells) != n.setdefault("width", len(cells)):
        raise NotMine
    if len(now.counts) > 2 * _SECONDS_MAX:
        raise InputError(f"{now.report.place}: more than {_SECONDS_MAX:,} intervals", "split the file")
    second, done = cells.pop("at"), cells["transactions"]
    failed = cells.pop("serialization", 0) + cells.pop("deadlock", 0)
    # logs of several threads follow one another, and begin at times of their own
    if (distance := second - n.get("before", second)) > 0:
        n["step"] = min(n["step"] or distance, distance)
    else:
        n["threads"] += 1
    n["before"], n["last"] = second, max(second, n["last"])
    at_s = second - n.setdefault("start", second)
    now.counts["done", at_s] += int(done)
    now.counts["failed", at_s] += int(failed)
    n["us"] += cells["latency"]
    n["skipped"] += cells.get("skipped", 0)
    for name in ("latency", "lag"):
        total = cells.pop(name, 0)
        if done and (total or name == "latency"):
            cells[f"{name}_mean_us"] = total / done
        else:
            cells = {column: value for column, value in cells.items() if not column.startswith(name)}
    now.report.samples.add_row(at_s, "pgbench", cells)


def _close(now: Now) -> None:
    """The length of an interval is the distance of two."""
    report, n = now.report, now.numbers
    if "start" not in n:
        return
    each = by_second(now)
    done = sum(count for _, count, _ in each)
    if step := n["step"]:
        if len(each) > 2 and n["threads"] == 1:
            # the first of a thread begins with the load, at a time that it does not tell
            each = by_second(now, int(step))[1:]
            n["start"] += step
            report.samples.later(-step)
        span_s = n["last"] + step - n["start"]
        # pgbench writes a line for each interval, also for one without a transaction
        report.seconds = step * len({(second - n["start"]) // step for second, *_ in each})
        if span_s - report.seconds < step:
            report.seconds = span_s
        else:
            text = f"intervals are missing: the file has {report.seconds:g} of {span_s:g} s"
            report.notice("intervals-missing", text)
        failed = sum(count for *_, count in each)
        report.work = Work(sum(count for _, count, _ in each), failed, each if step == 1 else (), detail=2)
    else:
        report.notice("interval-unknown", "one interval alone: its length is not in the file")
    report.began = datetime.fromtimestamp(n["start"], UTC)
    if done:
        report.figure("latency_mean", n["us"] / done / 1e3, "ms", "lower", "work")
    if n["skipped"]:
        report.notice("skipped", f"{n['skipped']:,.0f} transactions were skipped, and are not counted")


_INTERVALS = Lines((rule(_INTERVAL, _interval),), _close)
