"""The study that a recording answers, derived from its runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from steelyard.recordings.placed import PlacedRun
from steelyard.recordings.report import Figure
from steelyard.recordings.schedule import Schedule
from steelyard.study.errors import InputError

_NO_CLIENTS = {"client": "server", "clients": "servers"}
# what a recording without counted work is about, the first that all runs have
_MAIN = ("throughput", "nopm", "bops", "tpmc", "tps_of_progress")
_FIGURES_MAX = 60


def derived_study(runs: Sequence[PlacedRun], schedule: Schedule, clients: Sequence[int]) -> dict[str, Any]:
    """Keys of a study file of kind `recording`. Raises InputError for a figure in two units."""
    labels = list(dict.fromkeys(run.option for run in runs))
    figures = _common_figures(runs)
    worked = all(any(report.work and report.work.foots for report in run.reports) for run in runs)
    known = any(n for run in runs for n, _ in run.points)
    words = schedule.workload.model_dump(exclude_none=True)
    workload: dict[str, Any] = {"kind": "published", **(words if known else {**_NO_CLIENTS, **words})}
    workload["figures"] = {f.name: {"unit": f.unit or "1", "better": f.better} for f in figures}
    if not worked and figures:
        judged = {figure.name for figure in figures if figure.better != "neither"}
        names = [name for name in _of_all(runs) if name in judged]
        if names:
            workload["main_figure"] = next((name for name in _MAIN if name in names), names[0])
    study: dict[str, Any] = {
        "name": schedule.name,
        "question": schedule.question or _question(labels),
        "subject": {"kind": "recording"},
        "workload": workload,
        **_factors(labels, schedule.factors),
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


def _question(labels: Sequence[str]) -> str:
    if len(labels) == 1:
        return f"What does the recording of {labels[0]} show?"
    return f"Which of {', '.join(labels)[:800]} is best, as recorded?"


def _factors(labels: Sequence[str], given: Sequence[str]) -> dict[str, Any]:
    """One factor per part of the labels where all have as many parts, else one of all labels.

    given: their names. Raises InputError where there are not as many.
    """
    parts = [label.split("_") for label in labels]
    if len({len(part) for part in parts}) > 1 or any(len(code) > 24 for part in parts for code in part):
        parts = [[label.replace("_", "-")[:24]] for label in labels]
    names = ["server"] if len(parts[0]) == 1 else [f"part_{i}" for i in range(1, len(parts[0]) + 1)]
    if given and len(given) != len(names):
        raise InputError(f"{len(given)} names of factors, but the options' codes have {len(names)} parts")
    names = list(given) or names
    levels = [list(dict.fromkeys(part[i] for part in parts)) for i in range(len(names))]
    factors = {
        name: {"scope": "server", "setting": name, "levels": {code: code for code in codes}}
        for name, codes in zip(names, levels, strict=True)
    }
    study: dict[str, Any] = {"factors": factors}
    if excluded := _absent(names, levels, parts):
        study["exclude"] = excluded
    return study


def _absent(
    names: Sequence[str], levels: Sequence[Sequence[str]], parts: Sequence[Sequence[str]]
) -> list[dict[str, str]]:
    """Combinations of levels that no option has."""
    have = {tuple(part) for part in parts}
    return [dict(zip(names, codes, strict=True)) for codes in product(*levels) if codes not in have]


def _of_all(runs: Sequence[PlacedRun]) -> list[str]:
    """Names of the figures that every run has."""
    of_runs = [{f.name: None for report in run.reports for f in report.figures} for run in runs]
    return [name for name in of_runs[0] if all(name in found for found in of_runs)]


def _common_figures(runs: Sequence[PlacedRun]) -> list[Figure]:
    """Figures of any run, the same name and unit; in the order of the files."""
    found: dict[str, Figure] = {}
    for run in runs:
        for report in run.reports:
            for figure in report.figures:
                known = found.setdefault(figure.name, figure)
                if known.unit != figure.unit:
                    raise InputError(
                        f"{report.place}: {figure.name} is in {figure.unit or 'no unit'} here, in"
                        f" {known.unit or 'no unit'} elsewhere"
                    )
    return list(found.values())[:_FIGURES_MAX]
