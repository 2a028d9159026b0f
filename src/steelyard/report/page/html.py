"""report.html: one file, no network. The answer first, then the picture, the table, the method."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from typing import Any

from steelyard import quantities as fmt
from steelyard.bundle.storage.files import write_whole
from steelyard.report.charts import figures
from steelyard.report.charts.render import uniquely_named
from steelyard.report.charts.theme import hues
from steelyard.report.page import answer
from steelyard.report.page.embedded import key_of, specifications, stills
from steelyard.report.page.method import facts_of
from steelyard.report.page.vega import vega_script
from steelyard.report.presented.marks import WORDS
from steelyard.report.presented.presented import Presented
from steelyard.report.presented.ranking import Row
from steelyard.report.tables import ranking
from steelyard.report.tables.scores import of_files, of_programs
from steelyard.report.tables.statements import page_table

# charts that answer stand above the table of options
_ANSWERS = ("ratios", "effects")
_OPEN_MAX = 8  # rows of a table that are open at once

Option = tuple[Row, tuple[str, ...]]


def write_report(path: Path, presented: Presented) -> Path:
    """Writes report.html; a reader sees the old file or the new one, never a part. Raises OSError."""
    return write_whole(path, render(presented))


def render(presented: Presented) -> str:
    """The page as text: self-contained, everything that came from outside escaped."""
    judgement, about = presented.judgement, presented.about
    drawn = uniquely_named(figures(presented))
    first = list(takewhile(lambda figure: figure.name in _ANSWERS, drawn))
    options, instances = ranking.table(presented), of_programs(presented) or of_files(presented)
    by_statement = page_table(presented)
    contents = [
        *((figure.name, figure.title) for figure in first),
        ("options", "Options"),
        *([("instances", "Figures" if about.subject == "recording" else "Instances")] if instances else []),
        *([("statement-latency", "Latency by statement")] if by_statement else []),
        *((figure.name, figure.title) for figure in drawn[len(first) :]),
        ("method", "How it was measured"),
    ]
    return (
        environment()
        .get_template("template.html.j2")
        .render(
            about=about,
            judgement=judgement,
            verdict=judgement.verdict,
            words=WORDS,
            compared=presented.compared,
            chip=answer.chip(judgement),
            say=answer.speaker(judgement.options),
            tiles=answer.tiles(presented),
            contents=contents,
            columns=options.head,
            options=_split(list(zip(presented.ranking, options.rows, strict=True))),
            open_max=_OPEN_MAX,
            over=about.over(" and "),
            order=presented.order,
            legend=presented.legend,
            marks_mean=presented.marks_mean,
            blocks=_blocks(presented.blocks),
            instances=instances,
            statements=by_statement,
            notices=presented.footnotes,
            first=first,
            figures=drawn[len(first) :],
            palette=presented.palette,
            key=key_of(presented.palette),
            hues=list(zip(hues(), hues(dark=True), strict=True)),
            images=stills(drawn),
            embedded=specifications(drawn),
            scripts=vega_script(),
            facts=facts_of(presented, " to ".join(_ends(presented.blocks)) or "none"),
            fmt=fmt,
        )
    )


def _split(rows: list[Option]) -> tuple[list[Option], list[Option]]:
    """The options that are open at once, the best ones and the baseline, and those shown on demand."""
    if len(rows) <= _OPEN_MAX:
        return rows, []
    best = rows[: _OPEN_MAX - 1]
    shown = [option for option in rows if option in best or option[0].is_baseline]
    return shown, [option for option in rows if option not in shown]


def environment() -> Any:
    """Templates of this folder; text is escaped."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("steelyard.report.page", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_unbroken,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _unbroken(value: Any) -> Any:
    """For all text but markup; text to be copied, such as a command, is escaped in the template."""
    return fmt.unbroken(value) if type(value) is str else value


def _blocks(counts: list[int]) -> str:
    if not counts:
        return ""
    return fmt.count(counts[0], "block") if len(counts) == 1 else f"{' to '.join(_ends(counts))} blocks"


def _ends(counts: list[int]) -> list[str]:
    return [str(count) for count in dict.fromkeys((counts[0], counts[-1]))] if counts else []
