"""pgbench -l: a line per transaction, or per interval with --aggregate-interval.

Six columns are always the same. A seventh is the lag of a rate limit (-R) or the retries (--max-tries), which
the file does not tell: it is read only where a schedule says which, `seventh = "lag"` or `"retries"`.
"""

from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime

from steelyard.recordings.cells import exact
from steelyard.recordings.events import lines_of, reduced
from steelyard.recordings.histograms import encoded
from steelyard.recordings.report import Report, Work
from steelyard.recordings.source import Source

TITLE = "pgbench -l: per transaction, or aggregated"

_EVENT = re.compile(
    r"\d+ \d+ (?:\d+|skipped|failed|serialization|deadlock) \d+ \d{9,11} \d{1,6}(?: \d+){0,2}"
)
_INTERVAL = re.compile(r"\d{9,11}(?: \d+){5}(?: \d+){0,9}")
_COLUMNS = {
    "client": "INTEGER", "number": "BIGINT", "took": "VARCHAR", "script": "INTEGER", "s": "BIGINT",
    "us": "BIGINT", "c7": "VARCHAR", "c8": "VARCHAR",
}  # fmt: skip
_FAILED = ("failed", "serialization", "deadlock")


def sniff(head: str) -> bool:
    """Whether the first line is one of a log."""
    first = next((line for line in head.split("\n") if line.strip()), "").strip()
    return bool(_EVENT.fullmatch(first) or _INTERVAL.fullmatch(first))


def read(source: Source) -> list[Report]:
    """One report of the whole file."""
    report = Report("drivers/pgbench_log", source.place(source.first))
    first = next((line for line in source.head().split("\n") if line.strip()), "").strip()
    if _INTERVAL.fullmatch(first) and not _EVENT.fullmatch(first):
        _aggregated(source, report)
    elif source.inner is not None:
        _events_of_lines(source, report)
    else:
        _note_seventh(source, report, first)
        relation = lines_of(source.path, " ", _COLUMNS, header=False)
        reduced(source, report, relation, _EVENTS)
    return [report]


# `us` of the file is the fraction of the second, `us` of the result the latency
_EVENTS = f"""
    select s * 1000000 + fraction as end_us, us, client,
        case when s is null or fraction is null or s < 0 or fraction < 0 or client < 0 or us < 0 then null
            when us is not null then 'done' when took in {_FAILED} then 'failed'
            when took = 'skipped' then 'skipped' end as state
    from (select client, took, s, us as fraction, try_cast(took as bigint) as us from raw)
"""


def _note_seventh(source: Source, report: Report, first: str) -> None:
    columns = len(first.split())
    if columns > 6 and source.choices.get("seventh") not in ("lag", "retries"):
        report.notices.append(
            (
                "column-not-read",
                "the 7th column of the pgbench log is a lag or a number of retries: it is not read; a"
                ' schedule can say which: seventh = "lag"',
            )
        )


def _events_of_lines(source: Source, report: Report) -> None:
    """The lines of a section, which are few."""
    seconds: dict[int, list[int]] = {}
    clients: dict[int, list[int]] = {}
    latencies: dict[int, int] = {}
    ends: list[int] = []
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
        if cells[2] != "skipped":
            seconds.setdefault(int(cells[4]), [0, 0])[0 if done else 1] += 1
            if done:
                latencies[int(cells[2])] = latencies.get(int(cells[2]), 0) + 1
        clients.setdefault(int(cells[0]), []).append(int(cells[2]) if done else -1)
    if not ends:
        return
    _note_seventh(source, report, first)
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


def _aggregated(source: Source, report: Report) -> None:
    """Intervals: their length is the distance between two of them."""
    rows: list[tuple[int, list[int]]] = []
    for line, text in source.lines():
        if not _INTERVAL.fullmatch(text.strip()):
            source.skip(line, text)
            continue
        cells = [int(exact(cell)) for cell in text.split()]
        rows.append((cells[0], cells))
    if not rows:
        return
    start = rows[0][0]
    report.began = datetime.fromtimestamp(start, UTC)
    steps = [b[0] - a[0] for a, b in itertools.pairwise(rows) if b[0] > a[0]]
    step = min(steps, default=0)
    for at, cells in rows:
        report.sample(float(at - start), "pgbench", "transactions", float(cells[1]))
        if cells[1]:
            report.sample(float(at - start), "pgbench", "latency_mean_us", cells[2] / cells[1])
            report.sample(float(at - start), "pgbench", "latency_max_us", float(cells[5]))
    done = sum(cells[1] for _, cells in rows)
    failed = sum(sum(cells[13:15]) for _, cells in rows)
    if step:
        report.seconds = float(rows[-1][0] + step - start)
        by_second = (
            tuple((at - start, cells[1], sum(cells[13:15])) for at, cells in rows) if step == 1 else ()
        )
        report.work = Work(done, failed, by_second, detail=2)
    else:
        report.notices.append(("interval-unknown", "one interval alone: its length is not in the file"))
    if done:
        report.figure("latency_mean", sum(cells[2] for _, cells in rows) / done / 1e3, "ms", "lower")
