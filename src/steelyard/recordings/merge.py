"""Several reports as one: intervals one after another, or parts of one interval side by side."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from statistics import fmean
from typing import Any

import numpy as np

from steelyard.bundle.evidence import grouped
from steelyard.bundle.evidence.histograms import merged as merged_histograms
from steelyard.errors import InputError
from steelyard.recordings.report import (
    COUNTERS,
    KEYS,
    Figure,
    PlacedRun,
    Report,
    Tables,
    Work,
    clients_of,
    earliest,
    seconds_between,
)
from steelyard.recordings.samples import Samples

# of counts of the same work by two formats
_SLACK = 0.02


def pooled_run(run: PlacedRun) -> PlacedRun:
    """The run with one report at each load point, and one of each format beside them."""
    return PlacedRun(run.option, run.block, [[_best(point)] for point in run.points], _by_format(run.others))


def _by_format(reports: Sequence[Report]) -> list[Report]:
    """Raises InputError for two files on the same things whose times do not differ: of two hosts, or captures
    of a counter.
    """
    seen: dict[object, tuple[Report, float, float]] = {}
    for report in reports:
        began_s = report.began.timestamp() if report.began else math.nan
        captured = report.rows if "counted-since-start" in dict(report.notices) else ()
        # a reading at no time is of means alone
        things = {
            series: began_s + table[~np.isnan(table[:, 0]), 0]
            for series, table in report.samples.tables.items()
        }
        for thing, at_s in {**things, **dict.fromkeys(captured, np.array([math.nan]))}.items():
            first_s, last_s = at_s.min(initial=math.inf), at_s.max(initial=-math.inf)
            before, *span = seen.get(key := (report.format, thing), (report, 0.0, 0.0))
            if before.file != report.file and not (span[1] <= first_s or last_s <= span[0]):
                raise InputError(
                    f"{report.place}: the same things as in {before.place}, at no other times",
                    "join captures of one host in one file, in their order; leave another host's out",
                )
            seen[key] = report, first_s, last_s
    return [merged(several) for several in grouped((r.format, r) for r in reports).values()]


def _best(point: Sequence[Report]) -> Report:
    """Of several formats that counted the same work, that with more detail counts."""
    # a count that its file contradicts, as of a sample, comes last
    first, *others = sorted(_by_format(point), key=lambda r: (bool(r.work) and not r.work.foots, -r.detail))
    best = replace(first, clients=clients_of(point), began=first.began or earliest(r.began for r in others))
    if others:
        best.samples = Samples()
        best.samples.extend(first.samples)
    for other in others:
        if best.work and other.work and other.work.foots:
            counts = best.work.tried, other.work.tried
            said = f"{counts[1]:,} done or failed in {other.format}, and {counts[0]:,} in {first.format}"
            # a log may lack its first and last interval
            lengths = [r.seconds or 1.0 for r in (best, other)]
            if not math.isclose(counts[0] * lengths[1], counts[1] * lengths[0], rel_tol=_SLACK):
                best.foot(said, *counts, _SLACK)
        known = {figure.name for figure in best.figures}
        best.figures = [*best.figures, *(f for f in other.figures if f.name not in known)]
        best.rows = {**other.rows, **best.rows}
        best.samples.extend(other.samples)
        best.facts, best.notices = {**other.facts, **best.facts}, [*best.notices, *other.notices]
    return best


def merged(reports: Sequence[Report], side_by_side: bool = False) -> Report:
    """One report. side_by_side: of the same interval, as the threads of a driver; else one after another.

    Rates are means weighted by length; percentiles of several intervals cannot be pooled, and are left out.
    """
    if len(reports) == 1:
        return reports[0]
    began = earliest(r.began for r in reports)
    found = replace(reports[0], began=began, samples=Samples(), facts={}, work=None)
    lengths_s = [r.seconds or 0.0 for r in reports]
    # readings without times follow those of the report before
    numbers = accumulate((r.numbered * (not side_by_side) for r in reports), initial=0)
    shifts_s = [
        seconds_between(began, r.began) or 0.0 if r.began else float(n)
        for r, n in zip(reports, numbers, strict=False)
    ]
    found.seconds = sum(lengths_s) or None
    if side_by_side:
        found.seconds = max(map(sum, zip(shifts_s, lengths_s, strict=True))) or None
        found.clients = sum(r.clients or 0 for r in reports) or None
    for r, shift_s in zip(reports, shifts_s, strict=True):
        found.facts |= r.facts
        found.samples.extend(r.samples, shift_s)
    found.notices = list(dict.fromkeys(notice for r in reports for notice in r.notices))
    if works := [(r.work, round(shift_s)) for r, shift_s in zip(reports, shifts_s, strict=True) if r.work]:
        found.work = _work(works)
    found.figures = list(_figures(reports, found))
    found.rows = rows_merged((r.rows for r in reports), found.place)
    if not side_by_side:
        _notice_assumed(reports, found)
    return found


def _notice_assumed(reports: Sequence[Report], found: Report) -> None:
    """Says what no file tells: that outputs are of other times, and samples not the same ones."""
    if sum(r.numbered > 0 and not r.began for r in reports) > 1:
        found.notice("interval-unknown", f"{found.format} tells no times: outputs count one after another")
    if (number := sum("profile" in r.rows for r in reports)) > 1:
        found.notice("profiles-added", f"{found.format}: the samples of {number} outputs are added")


def rows_merged(several: Iterable[Tables], place: str) -> Tables:
    """Rows of the same latch, lock, stack or statement as one; others as they are."""
    found: Tables = {}
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for table, row in ((table, row) for tables in several for table, rows in tables.items() for row in rows):
        if table in KEYS:
            groups.setdefault((table, *(row[name] for name in KEYS[table])), []).append(row)
        else:
            found.setdefault(table, []).append(row)
    for (table, *_), rows in groups.items():
        columns = dict.fromkeys(name for row in rows for name in row)
        row = {name: _pooled(name, [row.get(name) for row in rows], place) for name in columns}
        found.setdefault(table, []).append(row)
    if "clients" in found:
        found["clients"] = [{**row, "client": i} for i, row in enumerate(found["clients"])]
    return found


def _pooled(column: str, values: Sequence[Any], place: str) -> Any:
    if len(values) == 1:
        return values[0]
    # what one of them does not know is not known of all
    if None in values:
        return None
    if column == "histogram":
        return merged_histograms(values, place)
    # of counters the sum, of other columns what all of them say
    if column in COUNTERS:
        return sum(values)
    if column.endswith("_max_ns"):
        return max(values)
    return values[0] if len(set(values)) == 1 else None


def _work(works: Sequence[tuple[Work, int]]) -> Work:
    """All work, each with the second at which it began."""
    done, failed = Counter[int](), Counter[int]()
    for work, shift in works if all(work.by_second for work, _ in works) else ():
        for second, count, errors in work.by_second:
            done[second + shift] += count
            failed[second + shift] += errors
    return Work(
        sum(work.transactions for work, _ in works),
        sum(work.errors for work, _ in works),
        tuple((second, done[second], failed[second]) for second in sorted(done)),
        max(work.detail for work, _ in works),
        works[0][0].driver,
        all(work.foots for work, _ in works),
    )


def _figures(reports: Sequence[Report], into: Report) -> Iterable[Figure]:
    for name, several in grouped((figure.name, (r, figure)) for r in reports for figure in r.figures).items():
        figure = several[0][1]
        values = [f.value for _, f in several]
        weights = [r.seconds or r.numbered or 1.0 for r, _ in several]
        if figure.pools == "work":
            weights = [r.work.transactions if r.work else 0 for r, _ in several]
        if figure.pools == "no" or not sum(weights):
            into.notice("not-pooled", f"{name} of several intervals cannot be pooled: left out")
        elif figure.pools in ("max", "min"):
            yield replace(figure, value=(max if figure.pools == "max" else min)(values))
        else:
            yield replace(figure, value=fmean(values, weights))
