"""The page of `steelyard compare`: one file, no network, the look of a report."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from steelyard import quantities as fmt
from steelyard.analysis.bundles import BundleComparison
from steelyard.analysis.judgement import Judgement
from steelyard.bundle.series.read import Series
from steelyard.report.about import About, FactorFacts, Texts
from steelyard.report.charts.figure import Figure, Panel, of_tables, slug, uniquely_named
from steelyard.report.charts.gauges import CPU, MEMORY, RECORDED
from steelyard.report.charts.latches import latches
from steelyard.report.charts.marks import quantitative, scaled
from steelyard.report.charts.quantiles import latency
from steelyard.report.charts.scaling import scaling
from steelyard.report.charts.shapes import lines
from steelyard.report.charts.timeline import since_start
from steelyard.report.page.html import page
from steelyard.report.presented import Presented
from steelyard.report.presented.words import WORDS, heading
from steelyard.report.table import Table
from steelyard.report.tables import bundles

# what bundles are compared by: work and its scaling, latches, latency, CPU, and the same over time
_CHARTS = (scaling, latches, latency, since_start, CPU.figure, RECORDED.figure, MEMORY.figure)


def render(
    found: Sequence[BundleComparison], platforms: Sequence[str], refusal: str, presented: Presented
) -> str:
    """The page as text: self-contained, everything that came from outside escaped. presented: `as_one`."""
    # what the pictures mean is in each bundle's own report
    figures = [replace(figure, notes=()) for chart in _CHARTS if (figure := chart(presented))]
    figures += [against(one, presented) for one in found]
    answers = [*platforms, *(text for one in found for text in one.answer), *[refusal] * bool(refusal)]
    return page(
        "comparison.html.j2",
        f"{fmt.listed([one.there for one in found])} against {found[0].here}",
        presented,
        drawn := uniquely_named(figures),
        question=presented.judgement.question,
        when=presented.about.when,
        figures=drawn,
        sentences=answers or ["No metric is in both."],
        found=found,
        work="different" if any(one.unlike_work for one in found) else "the same",
        unlike=bundles.unlike,
    )


def as_one(judged: Mapping[str, Judgement], found: Sequence[tuple[Series, Texts]], about: About) -> Presented:
    """The bundles as one whose options are those of all, so that every chart draws them side by side.

    judged: by the bundle's name. found: of each its series, and by option there the one that it is compared
    with, where that has another name. about: of the first bundle.
    """
    options = {
        (name, option): name if len(judgement.options) == 1 else f"{name} {option}"
        for name, judgement in judged.items()
        for option in judgement.options
    }

    def renamed(field: str) -> tuple[Any, ...]:
        return tuple(
            replace(one, option=options[name, one.option])
            for name, judgement in judged.items()
            for one in getattr(judgement, field)
        )

    first = next(iter(judged.values()))
    labels = tuple(options.values())
    nothing = {f.name: () for f in fields(Judgement) if f.default == ()}
    drawn = {field: renamed(field) for field in ("estimates", "scaling", "latches")}
    own = {"options": labels, "baseline": labels[0], "comparisons": (), "notices": (), "latch_costs": None}
    judgement = replace(first, **{**nothing, **own, **drawn})
    rows = {
        kind: [
            {
                **row,
                "option": options[name, here.get(row["option"], row["option"])],
                "run": (name, row.get("run")),
            }
            for name, (series, here) in zip(judged, found, strict=True)
            for row in getattr(series, kind)
        ]
        for kind in ("throughput", "gauges", "latency")
    }
    levels = {label: {"bundle": name, "option": option} for (name, option), label in options.items()}
    factors = tuple(FactorFacts(name, "", {}) for name in ("bundle", "option"))
    return Presented(judgement, Series(**rows), replace(about, factors=factors, option_levels=levels))


def counted(found: BundleComparison) -> str:
    """`2 better, 1 worse and 5 equivalent`."""
    counts = Counter(c.standing for c in found.comparisons)
    parts = [f"{counts[standing]} {word}" for standing, word in WORDS.items() if counts[standing]]
    return fmt.listed(parts) if parts else "no option and load point in both"


def against(found: BundleComparison, presented: Presented) -> Figure:
    """Ratios by load point, a panel for each metric; the tables of all."""
    name = found.short[1]
    panels: list[Panel] = []
    tables = [(metric, bundles.compared(found, metric)) for metric in found.metrics]
    # the names that the options of this bundle have in all pictures
    places = presented.about.option_levels.items()
    labels = {levels["option"]: label for label, levels in places if levels["bundle"] == name}
    for metric, table in tables:
        rows = [{**row, "option": labels.get(row["option"], row["option"])} for row in table.data]
        x = quantitative(
            "clients",
            found.points_are,
            scale={"nice": False, "zero": False},
            axis={"format": "d", "tickMinStep": 1},
        )
        picture = lines(
            replace(table, data=rows),
            x,
            scaled(rows, "ratio", None, 1.0, ratios=True),
            ("option", "clients", "ratio"),
            height=200,
            size=60,
            look={"detail": {"field": "option"}},
            palette=presented.palette,
        )
        panels.append(Panel(slug(f"{name}-{metric.name}"), heading(metric), picture))
    every = [(heading(metric), table) for metric, table in tables]
    every += [(heading(metric), bundles.counted(found, metric)) for metric in found.counted]
    return of_tables(
        slug(name),
        f"{found.there} against {found.here}",
        f"{counted(found)}; {bundles.footnote(found)}",
        every or [("", Table((), ()))],
        panels,
        layout="grid",
        key="line",
    )
