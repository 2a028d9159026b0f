"""From runs to a recording: the study that they answer, derived from them, and the tables of each run."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import tomli_w

from steelyard.declared_metrics import DeclaredMetric, as_json
from steelyard.errors import InputError
from steelyard.quantities import count
from steelyard.recordings.cells import slug
from steelyard.recordings.merge import pooled_run
from steelyard.recordings.notices import add_notices
from steelyard.recordings.report import Figure, PlacedRun, Report
from steelyard.recordings.samples import Series
from steelyard.recordings.schedule import Schedule
from steelyard.recordings.source import Skipped
from steelyard.recordings.tables_of_run import Recording, tables_of_runs
from steelyard.study.key_types import Toml

_NO_CLIENTS = {"client": "server", "clients": "servers"}
# what a recording without counted work is about, the first that all runs have
_MAIN = ("throughput", "nopm", "bops", "tpmc", "tps_of_progress")
_FIGURES_MAX = 60
# of a metric, by the end of its name
_UNITS = {"_percent": "%", "_per_s": "1/s", "_ms": "ms", "_ns": "ns"}
_CHARTS_MAX = 8
# several tools show the CPUs of one machine: the first of these is drawn
_CPU_TOOLS = ("system/mpstat", "system/vmstat", "system/sar", "system/iostat")
# names of the same shares in each of them
_OF_CPU = {f"{name}_percent" for name in ("us", "sy", "wa", "usr", "nice", "sys", "user", "system", "iowait")}


def assembled(
    runs: Sequence[PlacedRun], schedule: Schedule, files: Mapping[str, str], unread: Mapping[str, Skipped]
) -> Recording:
    """The recording. files: SHA-256 by name, kept among the facts. Raises InputError."""
    pooled = [pooled_run(run) for run in runs]
    add_notices(pooled, unread, schedule.source)
    _add_means(pooled)
    clients = sorted({point[0].clients or 1 for run in pooled for point in run.points})
    return Recording(
        schedule.name,
        tomli_w.dumps(_study(pooled, schedule, clients)),
        _environment(pooled, schedule, files),
        tables_of_runs(pooled, clients),
        runs,
        unread,
    )


def _add_means(runs: Sequence[PlacedRun]) -> None:
    """Means of readings as figures, where the files have neither work nor figures."""
    reports = [report for run in runs for report in run.reports]
    if any(report.work or report.figures for report in reports):
        return
    means = [(report, report.samples.means()) for report in reports]

    def rank(series: Series) -> tuple[bool, float]:
        largest = max(found[series] for _, found in means if series in found)
        return not series[1].endswith("_percent"), -largest

    known = dict.fromkeys(series for _, found in means for series in found)
    for series in sorted(known, key=rank)[:_FIGURES_MAX]:
        name = slug(" ".join(series))
        unit = next((unit for end, unit in _UNITS.items() if series[1].endswith(end)), "")
        for report, found in means:
            report.figure(name, found.get(series), unit)


def _environment(runs: Sequence[PlacedRun], schedule: Schedule, files: Mapping[str, str]) -> Toml:
    servers: Toml = {}
    for run in runs:
        facts = {name: text for report in run.reports for name, text in report.facts.items()}
        said = schedule.options[run.option].version if run.option in schedule.options else ""
        known = (said, schedule.version, facts.get("Server Version"), facts.get("DBMS Version"))
        version = next(filter(None, known), "not in the files")
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
        "metrics": dict(_charted([report for run in runs for report in run.reports])),
    }


def _charted(reports: Sequence[Report]) -> Iterator[tuple[str, Any]]:
    """By monitor the readings that are worth a chart: shares of the CPUs' time, and amounts with a limit."""
    series: dict[str, set[Series]] = {}
    for report in reports:
        names = {(entity, slug(metric)) for entity, metric in report.samples.tables}
        series[report.format] = series.get(report.format, set()) | names
    tool = next((name for name in _CPU_TOOLS if name in series), "")
    for name, found in series.items():
        limited = {(e, m.removesuffix("_limit")) for e, m in found if m.endswith("_limit")} & found
        of_cpu = {(e, m) for e, m in found if e == "cpu all" and m in _OF_CPU and name == tool}
        printed = f"As {name} printed it"
        drawn = [(*one, one in limited) for one in sorted(limited | of_cpu)[:_CHARTS_MAX]]
        metrics = [
            DeclaredMetric(
                metric,
                entity,
                printed,
                chart=entity,
                group="recorded",
                limit=has,
                fills=has,
                of_interval=not has,
            )
            for entity, metric, has in drawn
        ]
        if metrics:
            yield name.replace("/", "-"), as_json(metrics)


def _study(runs: Sequence[PlacedRun], schedule: Schedule, clients: Sequence[int]) -> Toml:
    """Keys of a study file of kind `recording`. Raises InputError for a figure in two units."""
    labels = list(dict.fromkeys(run.option for run in runs))
    figures = list(_common_figures(runs).values())[:_FIGURES_MAX]
    known = any(report.clients for run in runs for report in run.reports)
    words = schedule.workload.model_dump(exclude_none=True)
    workload: Toml = {"kind": "published", **(words if known else {**_NO_CLIENTS, **words})}
    workload["figures"] = {f.name: {"unit": f.unit or "1", "better": f.better} for f in figures}
    if not all(any(report.work and report.work.foots for report in run.reports) for run in runs):
        of_runs = [{f.name for report in run.reports for f in report.figures} for run in runs]
        names = [f.name for f in figures if f.better != "neither" and all(f.name in of for of in of_runs)]
        if names:
            workload["main_figure"] = next((name for name in _MAIN if name in names), names[0])
    question = f"Which of {', '.join(labels)[:800]} is best, as recorded?"
    if len(labels) == 1:
        question = f"What does the recording of {labels[0]} show?"
    study: Toml = {
        "name": schedule.name,
        "question": schedule.question or question,
        "subject": {"kind": "recording"},
        "workload": workload,
        **_factors(labels, schedule),
        "plan": {
            "clients": list(clients) or [1],
            "warm_up_s": 0,
            "cool_down_s": 0,
            "blocks": max(run.block for run in runs),
            "smallest_effect_percent": schedule.smallest_effect_percent,
        },
    }
    if schedule.baseline:
        study["plan"]["baseline"] = schedule.baseline
    return study


def _factors(labels: Sequence[str], schedule: Schedule) -> Toml:
    """One factor per part of the labels. Raises InputError where the schedule names more or fewer."""
    given = schedule.factors or list(schedule.levels)
    parts = [tuple(label.split("_")) for label in labels]
    number = len(parts[0])
    if any(len(part) != number for part in parts):
        raise InputError(
            f"options of different factors: {', '.join(labels)}", "`_` divides the factors: write - for it"
        )
    if given and len(given) != number:
        raise InputError(f"{len(given)} names of factors, but the options' codes have {number} parts")
    names = given or (["server"] if number == 1 else [f"part_{i}" for i in range(1, number + 1)])
    levels = {name: dict.fromkeys(codes) for name, codes in zip(names, zip(*parts, strict=True), strict=True)}
    study: Toml = {
        "factors": {
            name: {
                "scope": "server",
                "setting": name,
                "levels": {code: schedule.levels.get(name, {}).get(code, code) for code in codes},
            }
            for name, codes in levels.items()
        }
    }
    # combinations of levels that no option has
    have = set(parts)
    if absent := [codes for codes in product(*levels.values()) if codes not in have]:
        study["exclude"] = [dict(zip(names, codes, strict=True)) for codes in absent]
    return study


def _common_figures(runs: Sequence[PlacedRun]) -> dict[str, Figure]:
    """Figures of any run by name, each in one unit; in the order of the files."""
    found: dict[str, Figure] = {}
    for report in (report for run in runs for report in run.reports):
        for figure in report.figures:
            known = found.setdefault(figure.name, figure)
            if known.unit != figure.unit:
                raise InputError(
                    f"{report.place}: {figure.name} is in {figure.unit or 'no unit'} here, in"
                    f" {known.unit or 'no unit'} elsewhere"
                )
    return found
