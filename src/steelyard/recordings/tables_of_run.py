"""The tables of a bundle for one run: its load points on an axis of time, and the readings beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.recordings.merge import rows_merged
from steelyard.recordings.placed import PlacedRun
from steelyard.recordings.readings import averaged, readings_of_run
from steelyard.recordings.report import Report
from steelyard.run_tables.rows import Columns, Rows, SchemaError, check
from steelyard.run_tables.schema import BY_NAME
from steelyard.study.errors import InputError

_SECONDS_MAX = 1e9
_ALWAYS = ("phases", "throughput", "notices")


@dataclass(frozen=True)
class _Placed:
    """A report on the axis of its run. start_s: where it begins; length_s: of its load point."""

    report: Report
    start_s: float
    length_s: float


def tables_of_run(run: PlacedRun, clients: Sequence[int]) -> dict[str, Columns]:
    """Tables by name. clients: of every load point of the study. Raises InputError."""
    placed = _axis(run)
    tables: dict[str, Rows] = {name: Rows(name) for name in ("phases", "throughput", "notices")}
    for i, (point, one) in enumerate(placed):
        number = clients.index(point or 1) if clients else 0
        start, end = round(one.start_s * 1e9), round((one.start_s + one.length_s) * 1e9)
        tables["phases"].add(point=number, clients=point or 1, phase="measure", start_ns=start, end_ns=end)
        _throughput(tables["throughput"], number, one.report)
        mine = [one.report.rows] + ([other.rows for other in run.others] if i == 0 else [])
        for table, rows in rows_merged(mine, one.report.place).items():
            for row in rows:
                tables.setdefault(table, Rows(table)).add(point=number, **_whole(row))
        figures = [*one.report.figures, *(f for other in run.others if i == 0 for f in other.figures)]
        for figure in {f.name: f for f in figures}.values():
            scores = tables.setdefault("further_scores", Rows("further_scores"))
            scores.add(point=number, instance=0, name=figure.name, value=float(figure.value))
    starts = {id(one.report): one.start_s for _, one in placed}
    samples = readings_of_run(run, starts, max(one.start_s + one.length_s for _, one in placed))
    if samples is not None:
        _cool_down(tables["phases"], samples, placed, clients)
    notices = (notice for report in run.reports for notice in [*report.notices, *averaged(report)])
    for code, text in dict.fromkeys(notices):
        tables["notices"].add(code=code, text=text)
    found: dict[str, Columns] = {
        name: rows.columns()
        for name, rows in tables.items()
        if name in _ALWAYS or any(rows.columns().values())
    }
    for name, columns in found.items():
        try:
            check(BY_NAME[name], columns)
        except SchemaError as error:
            raise InputError(f"{run.reports[0].place}: {error}") from None
    return found if samples is None else {**found, "samples": samples}


def _whole(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def _axis(run: PlacedRun) -> list[tuple[int | None, _Placed]]:
    """Load points one after another, at their own times where all tell them."""
    if not run.points:
        longest = max((float(r.samples.at_s.max()) for r in run.others if r.samples), default=0.0)
        length = min(run.seconds or longest + 1.0, _SECONDS_MAX)
        clients = next((r.clients for r in run.others if r.clients), None)
        return [(clients, _Placed(Report(run.reports[0].place), 0.0, length))]
    found: list[tuple[int | None, _Placed]] = []
    at = 0.0
    for n, (report,) in run.points:
        length = max(1e-6, min(report.seconds or 1.0, _SECONDS_MAX))
        found.append((n, _Placed(report, at, length)))
        at += length
    times = [one.report.began for _, one in found]
    if run.began and all(times) and len({t.tzinfo is None for t in times if t}) == 1:
        began = run.began
        starts = [(t - began).total_seconds() for t in times if t]
        found = [(n, replace(one, start_s=start)) for (n, one), start in zip(found, starts, strict=True)]
    return found


def _throughput(rows: Rows, point: int, report: Report) -> None:
    if report.work is None or not report.work.foots:
        return
    if not report.work.by_second:
        rows.add(
            point=point, statement="transaction", count=report.work.transactions, errors=report.work.errors
        )
    for second, done, failed in report.work.by_second:
        rows.add(point=point, second=second, statement="transaction", count=done, errors=failed)


def _cool_down(
    phases: Rows, samples: Columns, placed: Sequence[tuple[int | None, _Placed]], clients: Sequence[int]
) -> None:
    """What monitors read after the last load point: what is not released is seen there."""
    point, last = max(placed, key=lambda one: one[1].start_s + one[1].length_s)
    end_ns = round((last.start_s + last.length_s) * 1e9)
    latest = int(np.max(samples["t_ns"]))
    if latest > end_ns + 1e9:
        number = clients.index(point or 1) if clients else 0
        phases.add(point=number, clients=point or 1, phase="cool-down", start_ns=end_ns, end_ns=latest)
