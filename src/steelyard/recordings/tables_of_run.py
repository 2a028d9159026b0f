"""The tables of a bundle for one run: its load points on an axis of time, and the readings beside them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import InputError
from steelyard.quantities import duration
from steelyard.recordings.cells import slug
from steelyard.recordings.merge import rows_merged
from steelyard.recordings.report import PlacedRun, Report, clients_of, seconds_between
from steelyard.recordings.samples import READINGS_MAX
from steelyard.recordings.source import Skipped
from steelyard.run_tables.rows import Columns, Rows, SchemaError, check
from steelyard.run_tables.schema import BY_NAME

_SECONDS_MAX = 1e9
_ENTITY_CHARACTERS = 200


@dataclass(frozen=True)
class Recording:
    """What an import gives: a study of kind `recording`, facts of its machine, the tables of each run.

    runs, unread: as they were read, by file what was not; both empty for published tables. files: its own.
    """

    name: str
    study_text: str
    environment: Mapping[str, Any]
    tables: Sequence[Mapping[str, Columns]]
    runs: Sequence[PlacedRun] = ()
    unread: Mapping[str, Skipped] = field(default_factory=dict[str, Skipped])
    files: Mapping[str, Path] = field(default_factory=dict[str, Path])


# a load point and its span on the axis of its run, in seconds
_Placed = tuple[Report, float, float]


def tables_of_runs(runs: Sequence[PlacedRun], clients: Sequence[int]) -> list[Mapping[str, Columns]]:
    """Tables by name of each run, block by block. clients: of every load point. Raises InputError."""
    slots: Counter[int] = Counter()
    found: list[Mapping[str, Columns]] = []
    for run in sorted(runs, key=lambda run: run.block):
        slots[run.block] += 1
        try:
            found.append(_tables(run, slots[run.block], clients))
        except SchemaError as error:
            raise InputError(f"{run.reports[0].place}: {error}") from None
    return found


def _tables(run: PlacedRun, slot: int, clients: Sequence[int]) -> Mapping[str, Columns]:
    axis = _axis(run)
    last, _, end_s = max(axis, key=lambda one: one[2])
    samples = _readings(run, axis, end_s)
    phases = [("measure", *one) for one in axis]
    # what monitors read after the last load point: what is not released is seen there
    if samples and (latest_s := float(samples["t_ns"].max()) / 1e9) > end_s + 1:
        phases.append(("cool-down", last, end_s, latest_s))
    tables = {name: Rows(name) for name in ("phases", "throughput", "notices")}

    def add(table: str, **values: Any) -> None:
        tables.setdefault(table, Rows(table)).add(**values)

    for i, (phase, report, start_s, end_s) in enumerate(phases):
        at = report.clients or 1
        point = clients.index(at) if at in clients else 0
        times = {"start_ns": round(start_s * 1e9), "end_ns": round(end_s * 1e9)}
        add("phases", point=point, clients=at, phase=phase, **times)
        if phase != "measure":
            continue
        if (work := report.work) and work.foots:
            for second, n, failed in work.by_second or [(None, work.transactions, work.errors)]:
                add("throughput", point=point, statement="transaction", second=second, count=n, errors=failed)
        mine = [report, *(run.others if i == 0 else ())]
        for table, rows in rows_merged((one.rows for one in mine), report.place).items():
            for row in rows:
                add(table, point=point, **row)
        for name, value in {f.name: f.value for one in mine for f in one.figures}.items():
            add("further_scores", point=point, instance=0, name=name, value=float(value))
    notices = (notice for report in run.reports for notice in [*report.notices, *_averaged(report)])
    for code, text in dict.fromkeys(notices):
        add("notices", code=code, text=text)
    began = run.began.isoformat() if run.began else ""
    state = {"attempt": 1, "status": "done", "cause": "", "started_at": began}
    seconds = round(max(end_s for *_, end_s in phases), 9)
    add("runs", option=run.option, block=run.block, slot=slot, seconds=seconds, **state)
    found = {name: rows.columns() for name, rows in tables.items()}
    for name, columns in found.items():
        check(BY_NAME[name], columns)
    # arrays in place of lists: millions of readings are written without an object for each
    return {**found, "samples": samples} if samples else found


def _axis(run: PlacedRun) -> list[_Placed]:
    """Load points one after another, at their own times where all tell them."""
    if not run.points:
        longest = max((float(r.samples.at_s.max()) for r in run.others if r.samples), default=0.0)
        length = min(run.seconds or longest + 1.0, _SECONDS_MAX)
        return [(Report(run.reports[0].place, clients=clients_of(run.others)), 0.0, length)]
    own = [seconds_between(run.began, report.began) for (report,) in run.points]
    found: list[_Placed] = []
    at = 0.0
    for (report,), start in zip(run.points, own, strict=True):
        length = max(1e-6, min(report.seconds or 1.0, _SECONDS_MAX))
        start = at if start is None or None in own else start
        found.append((report, start, start + length))
        at += length
    return found


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


def _readings(run: PlacedRun, axis: Sequence[_Placed], length_s: float) -> dict[str, Any]:
    """Columns of the table `samples`, on the axis of the run; empty where no report has readings."""
    starts = {id(report): start_s for report, start_s, _ in axis}
    parts: list[dict[str, Any]] = []
    for report in run.reports:
        start_s = starts.get(id(report), seconds_between(run.began, report.began) or 0.0)
        # readings that are only numbered are spread over the run
        numbered = report.numbered
        each_s = length_s / max(numbered, 1)
        for (entity, metric), table in report.samples.tables.items():
            table = table[~np.isnan(table[:, 0])]
            at_s = each_s * (table[:, 0] + 0.5) if numbered else table[:, 0] + start_s
            names = {
                "monitor": report.format.replace("/", "-"),
                "entity": entity[:_ENTITY_CHARACTERS],
                "metric": slug(metric) or "value",
            }
            parts.append(
                {
                    "t_ns": np.rint(np.clip(at_s, -_SECONDS_MAX, _SECONDS_MAX) * 1e9).astype(np.int64),
                    **{column: np.full(len(table), name, dtype=object) for column, name in names.items()},
                    "value": table[:, 1],
                }
            )
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}
