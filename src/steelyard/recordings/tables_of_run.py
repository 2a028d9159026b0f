"""The tables of a bundle for one run: its load points on an axis of time, and the readings beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard.recordings.merge import rows_merged
from steelyard.recordings.placed import PlacedRun
from steelyard.recordings.report import Report
from steelyard.recordings.rulers import slug
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
    _samples(tables, run, placed)
    _cool_down(tables, placed, clients)
    for code, text in dict.fromkeys(notice for report in run.reports for notice in report.notices):
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
    return found


def _whole(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def _axis(run: PlacedRun) -> list[tuple[int | None, _Placed]]:
    """Load points one after another, at their own times where all tell them."""
    if not run.points:
        longest = max((s.at_s for r in run.others for s in r.samples), default=0.0)
        length = min(run.seconds or longest + 1.0, _SECONDS_MAX)
        clients = next((r.clients for r in run.others if r.clients), None)
        return [(clients, _Placed(Report("", run.reports[0].place), 0.0, length))]
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
    if report.work is None:
        return
    if not report.work.by_second:
        rows.add(
            point=point, statement="transaction", count=report.work.transactions, errors=report.work.errors
        )
    for second, done, failed in report.work.by_second:
        rows.add(point=point, second=second, statement="transaction", count=done, errors=failed)


def _cool_down(
    tables: dict[str, Rows], placed: Sequence[tuple[int | None, _Placed]], clients: Sequence[int]
) -> None:
    """What monitors read after the last load point: what is not released is seen there."""
    point, last = max(placed, key=lambda one: one[1].start_s + one[1].length_s)
    end_ns = round((last.start_s + last.length_s) * 1e9)
    latest = max(tables["samples"].columns()["t_ns"], default=0) if "samples" in tables else 0
    if latest > end_ns + 1e9:
        number = clients.index(point or 1) if clients else 0
        tables["phases"].add(
            point=number, clients=point or 1, phase="cool-down", start_ns=end_ns, end_ns=latest
        )


def _samples(tables: dict[str, Rows], run: PlacedRun, placed: Sequence[tuple[int | None, _Placed]]) -> None:
    rows = Rows("samples")
    length = max(one.start_s + one.length_s for _, one in placed)
    starts = {id(one.report): one.start_s for _, one in placed}
    for report in run.reports:
        shift = starts.get(id(report), 0.0)
        own = report.began if id(report) not in starts else None
        if own and run.began and (own.tzinfo is None) == (run.began.tzinfo is None):
            shift = (own - run.began).total_seconds()
        numbered = any(code == "interval-unknown" for code, _ in report.notices)
        most = max((s.at_s for s in report.samples), default=0.0) + 1.0
        for sample in report.samples:
            # readings that are only numbered are spread over the run
            at_s = length * (sample.at_s + 0.5) / most if numbered else shift + sample.at_s
            rows.add(
                t_ns=round(max(-_SECONDS_MAX, min(at_s, _SECONDS_MAX)) * 1e9),
                monitor=report.format.replace("/", "-"),
                entity=sample.entity[:200],
                metric=slug(sample.metric) or "value",
                value=float(sample.value),
            )
    if run.reports and any(report.samples for report in run.reports):
        tables["samples"] = rows
