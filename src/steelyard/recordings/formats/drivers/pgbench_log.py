"""pgbench -l: a line per transaction, or per interval with --aggregate-interval.

Six columns are always the same. A seventh is the lag of a rate limit (-R) or the retries (--max-tries), which
the file does not tell: it is read only where a schedule says which, `seventh = "lag"` or `"retries"`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from steelyard.recordings.events import lines_of, mean_and_largest, reduced
from steelyard.recordings.formats.drivers._pgbench_intervals import INTERVAL, read_intervals
from steelyard.recordings.histograms import encoded
from steelyard.recordings.report import Report, Work
from steelyard.recordings.source import Source

TITLE = "pgbench -l: per transaction, or aggregated"

_EVENT = re.compile(r"\d+ \d+ (?:\d+|skipped|failed|serialization|deadlock) \d+ \d{10} \d{1,6}(?: \d+){0,2}")
_COLUMNS = {
    "client": "INTEGER", "number": "BIGINT", "took": "VARCHAR", "script": "INTEGER", "s": "BIGINT",
    "us": "BIGINT", "c7": "VARCHAR", "c8": "VARCHAR",
}  # fmt: skip


def sniff(head: str) -> bool:
    """Whether the first line is one of a log."""
    first = next((line for line in head.split("\n") if line.strip()), "").strip()
    return bool(_EVENT.fullmatch(first) or INTERVAL.fullmatch(first))


def read(source: Source) -> list[Report]:
    """One report of the whole file."""
    report = Report("drivers/pgbench_log", source.place(source.first))
    first = next((line for line in source.head().split("\n") if line.strip()), "").strip()
    if INTERVAL.fullmatch(first) and not _EVENT.fullmatch(first):
        read_intervals(source, report)
    elif source.inner is not None:
        _events_of_lines(source, report)
    else:
        reduced(source, report, _relation, _EVENTS.format(columns=len(first.split())))
        if _seventh(source, report, first):
            _extra(source, report, *mean_and_largest(source, _relation, _SEVENTH, _DONE))
    return [report]


def _relation(path: Path) -> str:
    return lines_of(path, " ", _COLUMNS, header=False)


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


_SEVENTH, _DONE = "try_cast(c7 as bigint)", "try_cast(took as bigint) is not null"


def _extra(source: Source, report: Report, mean: float | None, largest: float | None) -> None:
    """Figures of the 7th column, of the transactions that were done."""
    if mean is None or largest is None:
        return
    if source.choices["seventh"] == "lag":
        report.figure("lag_mean", mean / 1e3, "ms", "lower")
        report.figure("lag_max", largest / 1e3, "ms", "lower", pooled=True)
    else:
        report.figure("retries_per_transaction", mean, "", "lower")


def _seventh(source: Source, report: Report, first: str) -> bool:
    """Whether a schedule says what the 7th column is; a notice where it is there and not said."""
    columns = len(first.split())
    if columns > 6 and source.choices.get("seventh") not in ("lag", "retries"):
        report.notices.append(
            (
                "column-not-read",
                "the 7th column of the pgbench log is a lag or a number of retries: it is not read; a"
                ' schedule can say which: seventh = "lag"',
            )
        )
    return columns > 6 and source.choices.get("seventh") in ("lag", "retries")


def _events_of_lines(source: Source, report: Report) -> None:
    """The lines of a section, which are few."""
    seconds: dict[int, list[int]] = {}
    clients: dict[int, list[int]] = {}
    latencies: dict[int, int] = {}
    ends: list[int] = []
    extra: list[int] = []
    skipped = 0
    first = ""
    for line, text in source.lines():
        if not _EVENT.fullmatch(text.strip()):
            source.skip(line, text)
            continue
        first = first or text.strip()
        cells = text.split()
        end_us = int(cells[4]) * 1_000_000 + int(cells[5])
        done = cells[2].isdigit()
        ends += [end_us, end_us - (int(cells[2]) if done else 0)]
        skipped += cells[2] == "skipped"
        extra += [int(cells[6])] if done and len(cells) > 6 else []
        if cells[2] != "skipped":
            seconds.setdefault(int(cells[4]), [0, 0])[0 if done else 1] += 1
            if done:
                latencies[int(cells[2])] = latencies.get(int(cells[2]), 0) + 1
        clients.setdefault(int(cells[0]), []).append(int(cells[2]) if done else -1)
    if not ends:
        return
    if _seventh(source, report, first) and extra:
        _extra(source, report, sum(extra) / len(extra), max(extra))
    if skipped:
        report.notices.append(("skipped", f"{skipped:,} transactions were skipped, and are not counted"))
    report.began = datetime.fromtimestamp(min(ends) / 1e6, UTC)
    report.seconds = max((max(ends) - min(ends)) / 1e6, 1e-6)
    report.clients = len(clients)
    start = min(ends) // 1_000_000
    by_second = tuple((s - start, d, f) for s, (d, f) in sorted(seconds.items()))
    report.work = Work(sum(d for _, d, _ in by_second), sum(f for *_, f in by_second), by_second, detail=3)
    count = sum(latencies.values())
    if count:
        pairs = ((us * 1000, n) for us, n in latencies.items())
        report.row("latency", statement="transaction", count=count, histogram=encoded(pairs))
