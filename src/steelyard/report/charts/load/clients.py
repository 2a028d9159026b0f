"""What each client got: level bars are fair, a step among them is not."""

from __future__ import annotations

from typing import Any

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Fairness
from steelyard.bundle.series.columns import rows
from steelyard.report.about.about import About
from steelyard.report.charts.domain import Domain, domain_of
from steelyard.report.charts.figure import Figure, Panel, Spec, slug
from steelyard.report.charts.marks import colour, paint, plain_axis, quantitative, view
from steelyard.report.presented.headings import work_at_a_point
from steelyard.report.presented.palette import Palette
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table

_PANELS_MAX = 4


def figure(presented: Presented) -> Figure | None:
    """Bars of the winner, the baseline, options that were unfair, the slowest; at the most clients."""
    judgement, about = presented.judgement, presented.about
    data = rows(presented.series.clients)
    if not data:
        return None
    most = max(int(row["clients"]) for row in data)
    at_most = [row for row in data if int(row["clients"]) == most]
    chosen = _chosen(presented, {str(row["option"]) for row in at_most}, most)
    roles = presented.headlines
    noun, work = about.point_is, work_at_a_point(roles.work) if roles.scores else f"{about.work_is}s"
    plural = f"{work} of each of {fmt.count(most, about.point_is, about.points_are)}"
    served = "the server" if noun == "client" else "the machine"
    unit = roles.work.unit if roles.work and roles.scores else ""
    drawn = [row for row in at_most if row["option"] in chosen and row["transactions"] is not None]
    scale, name = fmt.unit_for(max((row["transactions"] for row in drawn), default=0.0), unit)
    drawn = [{**row, "transactions": row["transactions"] / scale} for row in drawn]
    shown = domain_of(row["transactions"] for row in drawn)
    axis = name if scale != 1.0 else ""
    return Figure(
        name="clients",
        title=f"{noun.capitalize()} by {noun}",
        caption=(
            f"{plural[0].upper()}{plural[1:]}, geometric mean over runs; the dashed line is their mean. "
            f"Equal bars mean that {served} served all equally. Indices in the table are medians over runs."
        ),
        panels=tuple(
            Panel(
                f"clients-{slug(option)}",
                option,
                _bars(
                    [row for row in drawn if row["option"] == option], shown, presented.palette, noun, axis
                ),
            )
            for option in chosen
        ),
        table=_table(judgement.fairness, data, about, work, unit),
        layout="grid",
    )


def _chosen(presented: Presented, known: set[str], clients: int) -> list[str]:
    order = [row.label for row in presented.ranking]
    fairness = presented.judgement.fairness
    unfair = [item.option for item in fairness if item.unfair and item.clients == clients]
    wanted = [presented.leading, presented.judgement.baseline, *unfair, *order[-1:], *order]
    found = [label for label in dict.fromkeys(wanted) if label in known]
    return found[:_PANELS_MAX] if len(order) > _PANELS_MAX else [o for o in order if o in known]


def _bars(data: list[dict[str, Any]], shown: Domain, palette: Palette, noun: str, unit: str) -> Spec:
    """unit: of the axis; '' for a number of things."""
    known = [row["transactions"] for row in data]
    mean = sum(known) / len(known) if known else 0
    x: Spec = {
        "field": "client",
        "type": "ordinal",
        "title": noun,
        "axis": {"labelOverlap": True, "labelAngle": 0, "ticks": False},
        "scale": {"paddingInner": 0.15},
    }
    axis: Spec = {"format": ",.3~r", "tickCount": 4} if unit else plain_axis(tickCount=4)
    return view(
        150,
        [
            {
                "mark": {"type": "bar"},
                "encoding": {
                    "x": x,
                    "y": quantitative("transactions", unit or None, scale=shown.scale, axis=axis),
                    "color": colour(palette, legend=False),
                    "tooltip": [
                        {"field": "client", "type": "ordinal"},
                        {
                            "field": "transactions",
                            "type": "quantitative",
                            "title": unit or "transactions",
                            "format": ",.4~r" if unit else ",.0f",
                        },
                    ],
                },
            },
            {
                "data": {"values": [{"mean": mean}]},
                "mark": {"type": "rule", "style": "inkline", "strokeDash": [4, 3]},
                "encoding": {"y": quantitative("mean", None)},
            },
        ],
        paint(data, palette),
    )


def _table(
    fairness: tuple[Fairness, ...], data: list[dict[str, Any]], about: About, work: str, unit: str
) -> Table:
    if not fairness:
        return Table(
            ("option", about.points_are, about.point_is, work),
            tuple(
                (str(row["option"]), str(row["clients"]), str(row["client"]), _value(row, unit))
                for row in data
            ),
        )
    return Table(
        (
            "option",
            about.points_are,
            "Jain's index",
            "by chance alone",
            "least / mean",
            "most / least",
            "CV",
            "fair",
        ),
        tuple(
            (
                item.option,
                str(item.clients),
                f"{item.jain:.4f}",
                f"{item.jain_null:.4f}" if about.point_is != "instance" else fmt.MISSING,
                fmt.significant(item.min_over_mean),
                fmt.significant(item.max_over_min),
                fmt.percent(item.cv),
                "no" if item.unfair else "yes",
            )
            for item in fairness
        ),
    )


def _value(row: dict[str, Any], unit: str) -> str:
    return fmt.MISSING if row["transactions"] is None else fmt.quantity(row["transactions"], unit)
