"""The tables of a bundle for one run: its load points on an axis of time, and the readings beside them."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from steelyard.errors import InputError
from steelyard.quantities import duration
from steelyard.recordings.cells import slug
from steelyard.recordings.merge import rows_merged
from steelyard.recordings.placed import PlacedRun
from steelyard.recordings.report import Report, seconds_between
from steelyard.recordings.samples import READINGS_MAX, Floats
from steelyard.run_tables.rows import Columns, Rows, SchemaError, check
from steelyard.run_tables.schema import BY_NAME

_SECONDS_MAX = 1e9
_ENTITY_CHARACTERS = 200


class _Placed(NamedTuple):
    """A load point on the axis of its run."""

    clients: int
    report: Report
    start_s: float
    end_s: float


def tables_of_run(run: PlacedRun, clients: Sequence[int]) -> dict[str, Columns]:
    """Tables by name. clients: of every load point of the study. Raises InputError."""
    placed = _axis(run)
    tables = {name: Rows(name) for name in ("phases", "throughput", "notices")}

    def add(table: str, **values: Any) -> None:
        tables.setdefault(table, Rows(table)).add(**values)

    def phase(one: _Placed, name: str, start_s: float, end_s: float) -> int:
        point = clients.index(one.clients) if one.clients in clients else 0
        times = {"start_ns": round(start_s * 1e9), "end_ns": round(end_s * 1e9)}
        add("phases", point=point, clients=one.clients, phase=name, **times)
        return point

    for i, one in enumerate(placed):
        point = phase(one, "measure", one.start_s, one.end_s)
        if (work := one.report.work) and work.foots:
            for second, done, failed in work.by_second or [(None, work.transactions, work.errors)]:
                row = {"second": second, "count": done, "errors": failed}
                add("throughput", point=point, statement="transaction", **row)
        mine = [one.report, *(run.others if i == 0 else ())]
        for table, rows in rows_merged((report.rows for report in mine), one.report.place).items():
            for row in rows:
                add(table, point=point, **row)
        for name, value in {f.name: f.value for report in mine for f in report.figures}.items():
            add("further_scores", point=point, instance=0, name=name, value=float(value))
    last = max(placed, key=lambda one: one.end_s)
    samples = _readings(run, placed, last.end_s)
    # what monitors read after the last load point: what is not released is seen there
    if samples is not None and (latest_s := float(samples["t_ns"].max()) / 1e9) > last.end_s + 1:
        phase(last, "cool-down", last.end_s, latest_s)
    notices = (notice for report in run.reports for notice in [*report.notices, *_averaged(report)])
    for code, text in dict.fromkeys(notices):
        add("notices", code=code, text=text)
    found: dict[str, Any] = {name: rows.columns() for name, rows in tables.items()}
    for name, columns in found.items():
        try:
            check(BY_NAME[name], columns)
        except SchemaError as error:
            raise InputError(f"{run.reports[0].place}: {error}") from None
    # arrays in place of lists: millions of readings are written without an object for each
    return found if samples is None else {**found, "samples": samples}


def _axis(run: PlacedRun) -> list[_Placed]:
    """Load points one after another, at their own times where all tell them."""
    if not run.points:
        longest = max((float(r.samples.at_s.max()) for r in run.others if r.samples), default=0.0)
        length = min(run.seconds or longest + 1.0, _SECONDS_MAX)
        clients = next((r.clients for r in run.others if r.clients), 1)
        return [_Placed(clients, Report(run.reports[0].place), 0.0, length)]
    own = [seconds_between(run.began, report.began) for _, (report,) in run.points]
    found: list[_Placed] = []
    at = 0.0
    for (n, (report,)), start in zip(run.points, own, strict=True):
        length = max(1e-6, min(report.seconds or 1.0, _SECONDS_MAX))
        start = at if start is None or None in own else start
        found.append(_Placed(n or 1, report, start, start + length))
        at += length
    return found


def _readings(run: PlacedRun, placed: Sequence[_Placed], length_s: float) -> dict[str, Any] | None:
    """Columns of the table `samples`, on the axis of the run; None where no report has readings."""
    starts = {id(one.report): one.start_s for one in placed}
    parts = [
        _columns(report, _on_axis(report, run, starts.get(id(report)), length_s))
        for report in run.reports
        if report.samples
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else None


def _averaged(report: Report) -> Iterator[tuple[str, str]]:
    """Notices on readings that were too many to be kept as they are: code and text."""
    samples = report.samples
    if samples.averaged_s:
        yield (
            "readings-averaged",
            f"{report.format}: more than {READINGS_MAX:,} readings: the bundle keeps their means over"
            f" {duration(samples.averaged_s)}, figures are of all",
        )
    if samples.dropped:
        yield (
            "readings-dropped",
            f"{report.format}: {samples.dropped:,} readings of too many things are left out",
        )


def _on_axis(report: Report, run: PlacedRun, start_s: float | None, length_s: float) -> Floats:
    at_s = report.samples.at_s
    if any(code == "interval-unknown" for code, _ in report.notices):
        # readings that are only numbered are spread over the run
        return length_s * (at_s + 0.5) / (max(at_s.max(), 0.0) + 1.0)
    return at_s + ((seconds_between(run.began, report.began) or 0.0) if start_s is None else start_s)


def _columns(report: Report, at_s: Floats) -> dict[str, Any]:
    samples = report.samples
    entities = [entity[:_ENTITY_CHARACTERS] for entity, _ in samples.series]
    metrics = [slug(metric) or "value" for _, metric in samples.series]
    clipped = np.clip(at_s, -_SECONDS_MAX, _SECONDS_MAX)
    return {
        "t_ns": np.rint(clipped * 1e9).astype(np.int64),
        "monitor": np.full(len(at_s), report.format.replace("/", "-"), dtype=object),
        "entity": np.array(entities, dtype=object)[samples.code],
        "metric": np.array(metrics, dtype=object)[samples.code],
        "value": samples.value,
    }
