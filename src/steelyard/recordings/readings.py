"""The table `samples` of a run: readings of all its reports, on the axis of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np

from steelyard.quantities import duration
from steelyard.recordings.placed import PlacedRun
from steelyard.recordings.report import Report
from steelyard.recordings.rulers import slug
from steelyard.recordings.samples import READINGS_MAX, Floats
from steelyard.run_tables.rows import Columns

_SECONDS_MAX = 1e9
_ENTITY_CHARACTERS = 200


def readings_of_run(run: PlacedRun, starts_s: Mapping[int, float], length_s: float) -> Columns | None:
    """Columns of the table; None where no report has readings.

    starts_s: of a load point on the axis, by the identity of its report.
    """
    parts: list[dict[str, np.ndarray[Any, Any]]] = []
    for report in run.reports:
        if report.samples:
            at_s = _on_axis(report, run, starts_s.get(id(report)), length_s)
            parts.append(_columns(report, at_s))
    if not parts:
        return None
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    # arrays in place of lists: millions of readings are written without an object for each
    return cast(Columns, whole)


def averaged(report: Report) -> Iterator[tuple[str, str]]:
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
    shift = start_s or 0.0
    began = report.began if start_s is None else None
    if began and run.began and (began.tzinfo is None) == (run.began.tzinfo is None):
        shift = (began - run.began).total_seconds()
    return at_s + shift


def _columns(report: Report, at_s: Floats) -> dict[str, np.ndarray[Any, Any]]:
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
