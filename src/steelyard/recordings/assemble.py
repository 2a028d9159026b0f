"""From runs to a recording: the study that they answer, and the tables of each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tomli_w

from steelyard.declared_metrics import DeclaredMetric, as_json
from steelyard.quantities import count
from steelyard.recordings import RecordedRun, Recording
from steelyard.recordings.derived_study import derived_study
from steelyard.recordings.merge import merged
from steelyard.recordings.notices import add_notices
from steelyard.recordings.placed import PlacedRun
from steelyard.recordings.report import Report
from steelyard.recordings.rulers import slug
from steelyard.recordings.schedule import Schedule
from steelyard.recordings.source import Skipped
from steelyard.recordings.tables_of_run import tables_of_run


def assembled(
    runs: Sequence[PlacedRun], schedule: Schedule, files: Mapping[str, str], unread: Mapping[str, Skipped]
) -> Recording:
    """The recording. files: SHA-256 by name, kept among the facts. Raises InputError."""
    pooled = [_pooled(run) for run in runs]
    add_notices(pooled, unread)
    if schedule.source:
        for run in pooled:
            run.reports[0].notices.append(("recording", f"a recording: {schedule.source}"))
    clients = sorted({n or 1 for run in pooled for n, _ in run.points})
    tables = [
        RecordedRun(run.option, run.block, tables_of_run(run, clients), _started(run)) for run in pooled
    ]
    return Recording(
        tomli_w.dumps(derived_study(pooled, schedule, clients)), _environment(pooled, schedule, files), tables
    )


def _pooled(run: PlacedRun) -> PlacedRun:
    """One report per load point and format; where two counted the same work, that with more detail counts."""
    points = [(n, [_best(reports)]) for n, reports in run.points]
    by_format: dict[str, list[Report]] = {}
    for report in run.others:
        by_format.setdefault(report.format, []).append(report)
    return PlacedRun(run.option, run.block, points, [merged(found) for found in by_format.values()])


def _best(reports: Sequence[Report]) -> Report:
    by_format: dict[str, list[Report]] = {}
    for report in reports:
        by_format.setdefault(report.format, []).append(report)
    several = [merged(found) for found in by_format.values()]
    several.sort(key=lambda r: -(r.work.detail if r.work else 0))
    best = several[0]
    for other in several[1:]:
        known = {figure.name for figure in best.figures}
        best.figures = [*best.figures, *(f for f in other.figures if f.name not in known)]
        best.rows = {**other.rows, **best.rows}
        best.samples.extend(other.samples)
        best.facts, best.notices = {**other.facts, **best.facts}, [*best.notices, *other.notices]
        best.clients = best.clients or other.clients
    return best


def _started(run: PlacedRun) -> str:
    return run.began.isoformat() if run.began else ""


def _environment(runs: Sequence[PlacedRun], schedule: Schedule, files: Mapping[str, str]) -> dict[str, Any]:
    servers: dict[str, Any] = {}
    for run in runs:
        facts = {name: text for report in run.reports for name, text in report.facts.items()}
        said = schedule.options[run.option].version if run.option in schedule.options else ""
        version = said or facts.get("Server Version") or facts.get("DBMS Version") or _NO_VERSION
        servers.setdefault(run.option, {"version": version, "origin": "recording", "set": facts})
    formats = sorted({report.format for run in runs for report in run.reports if report.format})
    return {
        **schedule.environment,
        "recording": {
            "source": schedule.source or "files of the user",
            "work": f"read from {count(len(files), 'file')}: {', '.join(formats)}",
            "files": dict(files),
        },
        "servers": servers,
        "metrics": {name: as_json(found) for name, found in _charted(runs).items()},
    }


def _charted(runs: Sequence[PlacedRun]) -> dict[str, list[DeclaredMetric]]:
    """The readings that are worth a chart: shares of the machine's CPUs, and amounts that have a limit."""
    found: dict[str, dict[tuple[str, str], DeclaredMetric]] = {}
    seen = {report.format for run in runs for report in run.reports}
    tool = next((name for name in _CPU_TOOLS if name in seen), "")
    for run in runs:
        for report in run.reports:
            names = {(entity, slug(metric)) for entity, metric in report.samples.series}
            limited = {(e, m.removesuffix("_limit")) for e, m in names if m.endswith("_limit")}
            of_cpu = {(e, m) for e, m in names if e == "cpu all" and m in _OF_CPU and report.format == tool}
            at = found.setdefault(report.format.replace("/", "-"), {})
            for entity, metric in sorted((limited & names) | of_cpu):
                if len(at) < _CHARTS_MAX:
                    has = (entity, metric) in limited
                    at[entity, metric] = DeclaredMetric(
                        metric,
                        entity,
                        f"As {report.format} printed it",
                        chart=entity,
                        group="recorded",
                        limit=has,
                        fills=has,
                        # shares of the CPUs' time
                        of_interval=not has,
                    )
    return {monitor: list(metrics.values()) for monitor, metrics in found.items() if metrics}


_NO_VERSION = "not in the files"
_CHARTS_MAX = 8
# several tools show the CPUs of one machine: the first of these is drawn
_CPU_TOOLS = ("system/mpstat", "system/vmstat", "system/sar", "system/iostat")
# names of the same shares in each of them
_OF_CPU = {f"{name}_percent" for name in ("us", "sy", "wa", "usr", "nice", "sys", "user", "system", "iowait")}
