"""Several reports as one: intervals one after another, or parts of one interval side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from steelyard.bundle.evidence.histograms import merged as merged_histograms
from steelyard.recordings.report import Figure, Report, Work

# of rows with the same key: which columns are added up, and of which the largest counts
_KEYS = {
    "latches": ("latch",),
    "locks": ("role", "lock", "type", "call_site"),
    "profile": ("role", "stack"),
    "latency": ("statement",),
}
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
    began = min((r.began for r in reports if r.began), key=lambda at: at.replace(tzinfo=None), default=None)
    found = Report(first.place, first.format, first.server, began, clients=first.clients)
    lengths = [r.seconds for r in reports if r.seconds]
    found.seconds = (_span(reports) if side_by_side else sum(lengths)) or None
    found.facts = {name: text for r in reports for name, text in r.facts.items()}
    found.notices = list(dict.fromkeys(notice for r in reports for notice in r.notices))
    found.work = _work(reports, began)
    if side_by_side:
        found.clients = sum(r.clients or 0 for r in reports) or None
    for r in reports:
        shift = (r.began - began).total_seconds() if r.began and began and _same_zone(r.began, began) else 0.0
        found.samples.extend(r.samples, shift)
    found.figures = _figures(reports, found)
    found.rows = rows_merged([r.rows for r in reports], found.place)
    return found


def rows_merged(
    several: Sequence[dict[str, list[dict[str, Any]]]], place: str
) -> dict[str, list[dict[str, Any]]]:
    """Rows of the same latch, lock, stack or statement as one; others as they are."""
    found: dict[str, list[dict[str, Any]]] = {}
    by_key: dict[tuple[Any, ...], dict[str, Any]] = {}
    for tables in several:
        for table, rows in tables.items():
            for row in rows:
                key = (table, *(row[name] for name in _KEYS[table])) if table in _KEYS else None
                if key is None or key not in by_key:
                    found.setdefault(table, []).append(dict(row))
                    if key is not None:
                        by_key[key] = found[table][-1]
                else:
                    _add(by_key[key], row, place)
    if "clients" in found:
        found["clients"] = [{**row, "client": i} for i, row in enumerate(found["clients"])]
    return found


def _add(into: dict[str, Any], row: dict[str, Any], place: str) -> None:
    for name, value in row.items():
        known = into.get(name)
        if name in _SUMS or name in _LARGEST:
            combine: Callable[[Any, Any], Any] = max if name in _LARGEST else (lambda a, b: a + b)
            # what one of them does not know is not known of both
            into[name] = None if known is None or value is None else combine(known, value)
        elif name == "histogram":
            into[name] = merged_histograms([into[name], value], place)
        elif (
            name not in ("role", "lock", "type", "call_site", "stack", "latch", "statement")
            and known != value
        ):
            into[name] = None


def _same_zone(a: Any, b: Any) -> bool:
    return (a.tzinfo is None) == (b.tzinfo is None)


def _span(reports: Sequence[Report]) -> float:
    starts = [r.began for r in reports if r.began]
    ends = [r.ended for r in reports if r.ended]
    return (
        (max(ends) - min(starts)).total_seconds() if starts and ends else max(r.seconds or 0 for r in reports)
    )


def _work(reports: Sequence[Report], began: Any) -> Work | None:
    works = [(r, r.work) for r in reports if r.work]
    if not works:
        return None
    seconds: dict[int, list[int]] = {}
    whole = all(work.by_second for _, work in works)
    for r, work in works if whole else ():
        shift = round((r.began - began).total_seconds()) if r.began and began else 0
        for second, done, failed in work.by_second:
            counts = seconds.setdefault(second + shift, [0, 0])
            counts[0], counts[1] = counts[0] + done, counts[1] + failed
    return Work(
        sum(work.transactions for _, work in works),
        sum(work.errors for _, work in works),
        tuple((second, done, failed) for second, (done, failed) in sorted(seconds.items())),
        max(work.detail for _, work in works),
        works[0][1].driver,
        all(work.foots for _, work in works),
    )


def _figures(reports: Sequence[Report], into: Report) -> list[Figure]:
    found: dict[str, list[tuple[Report, Figure]]] = {}
    for r in reports:
        for figure in r.figures:
            found.setdefault(figure.name, []).append((r, figure))
    kept: list[Figure] = []
    for name, several in found.items():
        figure = several[0][1]
        values = [f.value for _, f in several]
        by_work = [r.work.transactions if r.work else 0 for r, _ in several]
        weights = by_work if figure.pools == "work" else [r.seconds or 1.0 for r, _ in several]
        if figure.pools in ("max", "min"):
            kept.append(replace(figure, value=max(values) if figure.pools == "max" else min(values)))
        elif figure.pools == "no" or not sum(weights):
            into.notices.append(("not-pooled", f"{name} of several intervals cannot be pooled: left out"))
        else:
            mean = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
            kept.append(replace(figure, value=mean))
    return kept
