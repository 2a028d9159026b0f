"""Several reports as one: intervals one after another, or parts of one interval side by side."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from steelyard.bundle.evidence.histograms import merged as merged_histograms
from steelyard.recordings.report import Figure, Report, Tables, Work, earliest, seconds_between

# columns that name a row: rows of one name become one
_KEYS = {
    "latches": ("latch",),
    "locks": ("role", "lock", "type", "call_site"),
    "profile": ("role", "stack"),
    "latency": ("statement",),
}
# of other columns the sum or the largest counts, else what all of them say
_LARGEST = ("wait_max_ns", "hold_max_ns")
_SUMS = ("gets", "misses", "spin_gets", "sleeps", "wait_ns", "acquisitions", "contended", "wait_total_ns",
         "samples", "count")  # fmt: skip


def merged(reports: Sequence[Report], side_by_side: bool = False) -> Report:
    """One report. side_by_side: of the same interval, as the threads of a driver; else one after another.

    Rates are means weighted by length; percentiles of several intervals cannot be pooled, and are left out.
    """
    if len(reports) == 1:
        return reports[0]
    first = reports[0]
    began = earliest(r.began for r in reports)
    found = Report(first.place, first.format, first.server, began, clients=first.clients)
    found.seconds = (_span(reports) if side_by_side else sum(r.seconds or 0 for r in reports)) or None
    if side_by_side:
        found.clients = sum(r.clients or 0 for r in reports) or None
    shifts = [seconds_between(began, r.began) or 0.0 for r in reports]
    for r, shift in zip(reports, shifts, strict=True):
        found.facts |= r.facts
        found.samples.extend(r.samples, shift)
    found.notices = list(dict.fromkeys(notice for r in reports for notice in r.notices))
    found.work = _work(reports, shifts)
    found.figures = list(_figures(reports, found))
    found.rows = rows_merged((r.rows for r in reports), found.place)
    return found


def rows_merged(several: Iterable[Tables], place: str) -> Tables:
    """Rows of the same latch, lock, stack or statement as one; others as they are."""
    found: Tables = {}
    by_key: dict[tuple[Any, ...], dict[str, Any]] = {}
    for table, row in ((table, row) for tables in several for table, rows in tables.items() for row in rows):
        names = _KEYS.get(table, ())
        key = (table, *(row[name] for name in names))
        if names and key in by_key:
            _add(by_key[key], row, place)
        else:
            by_key[key] = dict(row)
            found.setdefault(table, []).append(by_key[key])
    for i, row in enumerate(found.get("clients", ())):
        row["client"] = i
    return found


def _add(into: dict[str, Any], row: dict[str, Any], place: str) -> None:
    for name, value in row.items():
        known: Any = into.get(name)
        if name == "histogram":
            into[name] = merged_histograms([known, value], place)
        elif known is None or value is None:
            # what one of them does not know is not known of both
            into[name] = None
        elif name in _SUMS:
            into[name] = known + value
        elif name in _LARGEST:
            into[name] = max(known, value)
        elif known != value:
            into[name] = None


def _span(reports: Sequence[Report]) -> float:
    starts = [r.began for r in reports if r.began]
    ends = [r.ended for r in reports if r.ended]
    if starts and ends:
        return (max(ends) - min(starts)).total_seconds()
    return max(r.seconds or 0 for r in reports)


def _work(reports: Sequence[Report], shifts: Sequence[float]) -> Work | None:
    works = [(r.work, round(shift)) for r, shift in zip(reports, shifts, strict=True) if r.work]
    if not works:
        return None
    seconds: dict[int, tuple[int, int]] = {}
    whole = all(work.by_second for work, _ in works)
    for work, shift in works if whole else ():
        for second, done, failed in work.by_second:
            before = seconds.get(second + shift, (0, 0))
            seconds[second + shift] = before[0] + done, before[1] + failed
    return Work(
        sum(work.transactions for work, _ in works),
        sum(work.errors for work, _ in works),
        tuple((second, *counts) for second, counts in sorted(seconds.items())),
        max(work.detail for work, _ in works),
        works[0][0].driver,
        all(work.foots for work, _ in works),
    )


def _figures(reports: Sequence[Report], into: Report) -> Iterable[Figure]:
    found: dict[str, list[tuple[Report, Figure]]] = {}
    for r in reports:
        for figure in r.figures:
            found.setdefault(figure.name, []).append((r, figure))
    for name, several in found.items():
        figure = several[0][1]
        values = [f.value for _, f in several]
        by_work = [r.work.transactions if r.work else 0 for r, _ in several]
        weights = by_work if figure.pools == "work" else [r.seconds or 1.0 for r, _ in several]
        if figure.pools in ("max", "min"):
            yield replace(figure, value=max(values) if figure.pools == "max" else min(values))
        elif figure.pools == "no" or not sum(weights):
            into.notices.append(("not-pooled", f"{name} of several intervals cannot be pooled: left out"))
        else:
            mean = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
            yield replace(figure, value=mean)
