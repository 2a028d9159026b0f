"""report.html: one file, no network. The answer first, then the picture, the table, the method."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Judgement, Metric
from steelyard.bundle.series.columns import Series
from steelyard.bundle.series.facts import MonitorCost
from steelyard.bundle.storage.files import write_whole
from steelyard.report.about.about import About, Phases
from steelyard.report.charts import Figure, config, figures
from steelyard.report.charts.theme import colours, hues
from steelyard.report.export.images import panels, standalone
from steelyard.report.page.vega import vega_script
from steelyard.report.presented.footnotes import Footnote, footnotes
from steelyard.report.presented.ranking import (
    MARKS,
    MARKS_MEAN,
    Headline,
    Row,
    comparisons_of,
    heading,
    headline,
    legend,
    over_points,
    ranked,
    spoken_of,
)
from steelyard.report.tables.programs import copies_table

if TYPE_CHECKING:
    from markupsafe import Markup

_MOST_ROWS = 16
_BEST_ROWS = 10
_CHIPS = {
    "winner": "✓ winner",
    "leaning": "◔ leaning, too few blocks",
    "tie": "= tie",
    "trade-off": "⇄ trade-off",
    "inconclusive": "~ inconclusive",
    "it depends": "≠ it depends",
    "nothing to compare": "nothing to compare",
}


def write_report(path: Path, judgement: Judgement, series: Series, about: About) -> Path:
    """Writes report.html; a reader sees the old file or the new one, never a part. Raises OSError."""
    return write_whole(path, render(judgement, series, about))


def render(judgement: Judgement, series: Series, about: About) -> str:
    """The page as text: self-contained, everything that came from outside escaped."""
    drawn = figures(judgement, series, about)
    named = _renamed(drawn)
    rows = ranked(judgement)
    notes = footnotes(judgement, about)
    found = headline(judgement.metrics)
    # the first sentence answers; what follows it is set smaller
    answer, *further = re.split(r"(?<=[.!?])\s+", judgement.verdict.sentence, maxsplit=1)
    return (
        _environment()
        .get_template("template.html.j2")
        .render(
            about=about,
            judgement=judgement,
            verdict=judgement.verdict,
            answer=answer,
            further=further[0] if further else "",
            chip=_CHIPS[judgement.verdict.outcome],
            say=_speaker(judgement.options),
            tiles=_tiles(judgement, found, about),
            columns=_columns(found, about),
            over=over_points(about, " and "),
            rows=[_cells(row, found, _numbers(row, notes)) for row in rows],
            legend=legend(found),
            marks_mean=MARKS_MEAN,
            blocks=_blocks(rows),
            copies=copies_table(judgement, about),
            notices=notes,
            first=[figure for figure in named[:2] if figure.name in ("ratios", "effects")],
            figures=[
                figure
                for place, figure in enumerate(named)
                if place > 1 or figure.name not in ("ratios", "effects")
            ],
            shown=_shown(rows),
            key=colours(judgement, about),
            hues=(hues(), hues(dark=True)),
            images=_images(named),
            embedded=_embedded(named),
            scripts=vega_script(),
            facts=_facts(about, _blocks(rows).partition(" block")[0] or "none"),
            fmt=fmt,
        )
    )


def _renamed(drawn: list[Figure]) -> list[Figure]:
    unique = panels(drawn)
    return [replace(figure, panels=tuple(next(unique) for _ in figure.panels)) for figure in drawn]


def _environment() -> Any:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("steelyard.report.page", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _speaker(labels: Iterable[str]) -> Any:
    """A filter: text escaped, option labels in it set as code."""
    from markupsafe import Markup, escape

    longest_first = sorted(labels, key=len, reverse=True)
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(label)}(?!\w)" for label in longest_first) or r"(?!)")

    def say(text: str) -> Markup:
        out, at = Markup(), 0
        for match in pattern.finditer(text):
            out += escape(text[at : match.start()]) + Markup("<code>{}</code>").format(match.group())
            at = match.end()
        return out + escape(text[at:])

    return say


def _tiles(judgement: Judgement, found: Headline, about: About) -> list[dict[str, str]]:
    """What the winner changes, in three figures. Nothing where nothing won."""
    spoken = spoken_of(judgement)
    if judgement.verdict.outcome != "winner" or spoken is None:
        return []
    out: list[dict[str, str]] = []
    for metric in found.judged():
        for item in comparisons_of(judgement, metric):
            if item.option == spoken:
                out.append(
                    {
                        "title": heading(metric),
                        "value": fmt.change(item.ratio),
                        "detail": f"ratio {fmt.ratio(item.ratio, item.low, item.high)}"
                        + over_points(about, ", geometric mean over "),
                        "mark": MARKS[item.outcome],
                        "outcome": item.outcome,
                    }
                )
    return out


def _shown(rows: list[Row]) -> set[str]:
    """Of many options, those that the table shows at first: the best, the baseline, the worst."""
    if len(rows) <= _MOST_ROWS:
        return {row.label for row in rows}
    kept = [*rows[:_BEST_ROWS], rows[-1], *(row for row in rows if row.is_baseline)]
    return {row.label for row in kept}


def _columns(found: Headline, about: About) -> list[str]:
    def head(metric: Metric | None, name: str) -> list[str]:
        return [name] if metric else []

    return [
        "option",
        *head(found.throughput, f"{found.work_over(about)} [95 % interval]"),
        *head(found.throughput, "ratio to the baseline"),
        *head(found.cpu, heading(found.cpu) if found.cpu else ""),
        *head(found.p50, "p50"),
        *head(found.p99, "p99"),
    ]


def _cells(row: Row, found: Headline, footnotes: list[int]) -> dict[str, Any]:
    cells: list[str] = []
    if found.throughput:
        versus = row.comparison
        cells.append(found.done(row.throughput, fmt.interval))
        baseline = "baseline" if row.is_baseline else fmt.MISSING
        cells.append(fmt.ratio(versus.ratio, versus.low, versus.high) if versus else baseline)
    for metric, estimate in ((found.cpu, row.cpu), (found.p50, row.p50), (found.p99, row.p99)):
        if metric:
            cells.append(fmt.quantity(estimate.value, metric.unit) if estimate else fmt.MISSING)
    return {"row": row, "cells": cells, "footnotes": footnotes}


def _numbers(row: Row, notes: list[Footnote]) -> list[int]:
    return [number for number, note in enumerate(notes, start=1) if row.label in note.about]


def _blocks(rows: list[Row]) -> str:
    counts = sorted({row.throughput.blocks for row in rows if row.throughput})
    if not counts:
        return ""
    return fmt.count(counts[0], "block") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} blocks"


def _images(drawn: list[Figure]) -> dict[str, str]:
    """Each panel as a data address, for readers without scripts."""
    import vl_convert as vlc

    out: dict[str, str] = {}
    for figure in drawn:
        for panel in figure.panels:
            svg = vlc.vegalite_to_svg(standalone(panel, title=False))
            out[panel.name] = "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
    return out


def _embedded(drawn: list[Figure]) -> Markup:
    """Specifications as JSON that cannot end its script element: no <, > or & in it."""
    from markupsafe import Markup

    every = [panel for figure in drawn for panel in figure.panels]
    themes = {"light": config(), "dark": config(dark=True)}
    for theme in themes.values():
        theme["legend"] = {"disable": True}  # the page has a key of its own, which can wrap
    data = {
        "themes": themes,
        "specs": {panel.name: panel.spec for panel in every},
        "narrow": {panel.name: panel.narrow for panel in every if panel.narrow},
    }
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _measured(phases: Phases) -> str:
    return fmt.duration(phases.measure_s) if phases.transactions is None else f"{phases.transactions:,} txn"


def _facts(about: About, whole: str) -> list[tuple[str, dict[str, str]]]:
    """How it was measured, as groups of named facts."""
    phases = about.phases
    plan = {about.points_are: ", ".join(str(number) for number in phases.clients)}
    measured = {
        "blocks": (
            f"{whole} of {phases.blocks} planned, each holding every option once in random order"
            f" (seed {phases.seed})"
        ),
        "each run": (
            f"{fmt.duration(phases.warm_up_s)} warm-up, {_measured(phases)} measure, "
            f"{fmt.duration(phases.cool_down_s)} cool-down"
        ),
        "runs": f"{about.runs_done} done"
        + (f", {about.runs_void} void and redone" if about.runs_void else ""),
    }
    if about.subject != "recording":
        plan |= measured
    server = {"subject": about.subject, "version": about.server_version}
    monitors = {monitor.name: _cost(monitor) for monitor in about.monitors}
    groups = (
        ("Plan", plan),
        ("Machine", dict(about.machine)),
        ("Kernels", dict(about.kernels)),
        ("Server", {name: text for name, text in server.items() if text}),
        ("Load engine", dict(about.engine) if about.subject != "recording" else {}),
        ("Monitors and their own cost", monitors),
    )
    return [(title, facts) for title, facts in groups if facts]


def _cost(monitor: MonitorCost) -> str:
    rate = [] if monitor.interval_s is None else [f"every {fmt.duration(monitor.interval_s)}"]
    percent = monitor.cpu_percent
    return ", ".join([*rate, *([] if percent is None else [f"{fmt.significant(percent)} % of one core"])])
