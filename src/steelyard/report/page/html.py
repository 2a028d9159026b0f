"""report.html: one file, no network. The answer first, then the picture, the table, the method."""

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

import jinja2
from markupsafe import Markup, escape

from steelyard import quantities as fmt
from steelyard.analysis.judgement import Judgement
from steelyard.report.charts import figures
from steelyard.report.charts.figure import DASHES, Figure, hues, uniquely_named
from steelyard.report.page.embedded import specifications, stills, vega_script
from steelyard.report.page.method import facts_of
from steelyard.report.presented import Presented
from steelyard.report.presented.ranking import Row
from steelyard.report.presented.words import WORDS, heading
from steelyard.report.table import Table
from steelyard.report.tables.options import full_table, matrix, pairs
from steelyard.report.tables.statements import of_files, of_programs, of_source, page_table
from steelyard.version import VERSION

# charts that answer stand above the table of options
_ANSWERS = ("ratios", "effects")
_OPEN_MAX = 8  # rows of a table that are open at once

Option = tuple[Row, tuple[str, ...]]

_CHIPS = {
    "winner": "✓ winner",
    "leaning": "◔ leaning, not proven",
    "tie": "= tie",
    "trade-off": "⇄ trade-off",
    "inconclusive": "~ no difference shown",
    "it depends": "≠ it depends",
    "measured": "measured",
    "nothing to compare": "nothing to compare",
    "unequal work": "⚠ not the same work",
    "published": "as published",
}


def render(presented: Presented) -> str:
    """The page as text: self-contained, everything that came from outside escaped."""
    judgement, about = presented.judgement, presented.about
    drawn = uniquely_named(figures(presented))
    first = list(takewhile(lambda figure: figure.name in _ANSWERS, drawn))
    options, instances = full_table(presented), of_programs(presented) or of_files(presented)
    by_statement, tables = page_table(presented), _of_recording(presented)
    contents = [
        *((figure.name, figure.title) for figure in first),
        ("options", "Options"),
        *((id_, title) for id_, title, _, _ in tables),
        *([("instances", "Figures" if about.subject == "recording" else "Instances")] if instances else []),
        *([("statement-latency", "Latency by statement")] if by_statement else []),
        *((figure.name, figure.title) for figure in drawn[len(first) :]),
        ("method", "How it was measured"),
    ]
    return page(
        "report.html.j2",
        f"{about.name}: {judgement.question}",
        presented,
        drawn,
        about=about,
        judgement=judgement,
        verdict=judgement.verdict,
        compared=presented.compared,
        chip=_chip(judgement),
        tiles=tiles(presented),
        contents=contents,
        columns=options.head,
        options=_split(list(zip(presented.ranking, options.rows, strict=True))),
        over=presented.over(" and "),
        order=presented.order,
        mean=presented.mean,
        legend=presented.legend,
        marks_mean=presented.marks_mean,
        blocks=_blocks(presented.blocks),
        instances=instances,
        tables=tables,
        statements=by_statement,
        notices=presented.footnotes,
        first=first,
        figures=drawn[len(first) :],
        facts=facts_of(presented, " to ".join(_ends(presented.blocks)) or "none"),
    )


def page(template: str, title: str, presented: Presented, drawn: Sequence[Figure], **given: Any) -> str:
    """A template of this folder with what every page has: its look, its pictures, its script."""
    return (
        _environment()
        .get_template(template)
        .render(
            title=title,
            version=VERSION,
            say=speaker(presented.judgement.options),
            open_max=_OPEN_MAX,
            palette=presented.palette,
            # name, number of the colour, dashes
            key=[
                (name, str(i), " ".join(map(str, DASHES[i])))
                for i, name in enumerate(presented.palette.domain)
            ],
            hues=list(zip(hues(), hues(dark=True), strict=True)),
            images=stills(drawn),
            embedded=specifications(drawn),
            scripts=vega_script(),
            fmt=fmt,
            words=WORDS,
            **given,
        )
    )


def _of_recording(presented: Presented) -> list[tuple[str, str, str, Table]]:
    """Id, title, caption and table of what a recording alone has."""
    every = (
        (
            "claims",
            "Claims of the source",
            "Figures of the source, and the same from its tables; one unit of the last digit is rounding.",
            of_source(presented),
        ),
        ("matrix", "All runs", "A blank has no published figure.", matrix(presented)),
        ("pairs", "Effects of one factor", "Of runs that differ in this factor alone.", pairs(presented)),
    )
    return [(id_, title, caption, table) for id_, title, caption, table in every if table]


def _split(rows: list[Option]) -> tuple[list[Option], list[Option]]:
    """The options that are open at once, the best ones and the baseline, and those shown on demand."""
    if len(rows) <= _OPEN_MAX:
        return rows, []
    best = rows[: _OPEN_MAX - 1]
    shown = [option for option in rows if option in best or option[0].is_baseline]
    return shown, [option for option in rows if option not in shown]


def _environment() -> jinja2.Environment:
    """Templates of this folder; text is escaped."""
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


def _chip(judgement: Judgement) -> str:
    outcome, found = judgement.verdict.outcome, judgement.comparisons
    if outcome == "inconclusive" and found and all(one.standing == "not tested" for one in found):
        return "? measured once"
    return _CHIPS[outcome]


def speaker(labels: Iterable[str]) -> Any:
    """A filter: text escaped, option labels in it set as code, whole words with their hyphens."""
    longest_first = sorted(labels, key=len, reverse=True)
    pattern = re.compile(
        "|".join(rf"(?<![\w-]){re.escape(label)}(?![\w-])" for label in longest_first) or r"(?!)"
    )

    def say(text: str) -> Markup:
        out, at = Markup(), 0
        for match in pattern.finditer(text):
            out += escape(fmt.unbroken(text[at : match.start()]))
            out += Markup("<code>{}</code>").format(match.group())
            at = match.end()
        return out + escape(fmt.unbroken(text[at:]))

    return say


def tiles(presented: Presented) -> list[dict[str, str]]:
    """What the winner changes, in three figures, each of a named option. Nothing where nothing won.

    Where the baseline wins they are those of the best other option.
    """
    if presented.judgement.verdict.outcome != "winner":
        return []
    return [
        {
            "title": heading(metric),
            "option": item.option,
            "value": fmt.change(item.ratio),
            "detail": f"ratio to {item.baseline}: {fmt.ratio(item.ratio, item.low, item.high)}"
            + presented.over(f", {item.mean} over ", ", at "),
            "outcome": item.outcome,
        }
        for metric in presented.judged
        for item in presented.comparisons[metric.name]
        if item.option == presented.leading
    ]
