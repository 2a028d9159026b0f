"""Which factor matters: its share of all variation, and what each level does."""

from __future__ import annotations

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Effect, Metric
from steelyard.report.charts.domain import domain_of
from steelyard.report.charts.figure import Figure, Panel, Spec
from steelyard.report.charts.marks import nominal, quantitative, view
from steelyard.report.presented.headings import heading
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table

_BARS_MAX = 12


def figure(presented: Presented) -> Figure | None:
    """For throughput and for CPU: shares of the variation, then the levels of each factor."""
    found = [(metric, presented.effects(metric)) for metric in presented.judged]
    estimated = [(metric, effects) for metric, effects in found if effects]
    if not estimated or len({name for _, effects in estimated for e in effects for name in e.factors}) < 2:
        return None
    panels: list[Panel] = []
    for metric, effects in estimated[:2]:
        title = heading(metric)
        panels.append(Panel(f"shares-{metric.name}", f"{title}: share of variation", _shares(effects)))
        panels.append(
            Panel(f"levels-{metric.name}", f"{title}: each level against the mean", _levels(effects))
        )
    return Figure(
        name="effects",
        title="What matters",
        caption=(
            "How much of the variation between runs each factor, or two of them together (×), accounts "
            "for; and what each level does, against the geometric mean of all options."
        ),
        panels=tuple(panels),
        table=_table(estimated),
        layout="pairs",
    )


def _name(effect: Effect) -> str:
    return " × ".join(effect.factors)


def _with_interval(effect: Effect) -> str:
    return f"{fmt.percent(effect.share)} {fmt.share_interval(effect.low, effect.high)}"


def _shares(effects: list[Effect]) -> Spec:
    rows = [
        {"effect": _name(effect), "share": effect.share * 100, "text": _with_interval(effect), "rest": False}
        for effect in effects[:_BARS_MAX]
    ]
    rest = 1 - sum(effect.share for effect in effects[:_BARS_MAX])
    if rest > 0.0005:
        rows.append({"effect": "all else", "share": rest * 100, "text": fmt.percent(rest), "rest": True})
    order = [row["effect"] for row in rows]
    y = nominal("effect", None, sort=order, axis={"labelLimit": 150})
    tip = [
        {"field": "effect", "type": "nominal"},
        {"field": "text", "type": "nominal", "title": "share of variation"},
    ]
    x = quantitative(
        "share", "% of variation", scale={"domain": [0, 170]}, axis={"values": [0, 25, 50, 75, 100]}
    )
    return view(
        26 * len(rows),
        [
            {
                "mark": {"type": "bar", "height": 14},
                "encoding": {
                    "y": y,
                    "x": x,
                    "color": {
                        "condition": {"test": {"field": "rest", "equal": True}, "value": "#8A929C"},
                        "value": "#0072B2",
                    },
                    "tooltip": tip,
                },
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 5, "style": "ink"},
                "encoding": {"y": y, "x": x, "text": {"field": "text"}},
            },
        ],
        rows,
    )


def _levels(effects: list[Effect]) -> Spec:
    rows: list[Spec] = [
        {
            "level": f"{effect.factors[0]} {codes[0]}",
            "factor": effect.factors[0],
            "ratio": ratio,
            "text": fmt.change(ratio),
        }
        for effect in effects
        if len(effect.factors) == 1
        for codes, ratio in effect.levels.items()
    ]
    order = [row["level"] for row in rows]
    y = nominal("level", None, sort=order, axis={"labelLimit": 150})
    tip = [
        {"field": "level", "type": "nominal"},
        {"field": "text", "type": "nominal", "title": "against the mean"},
    ]
    shown = domain_of([1, *(row["ratio"] for row in rows)], log=True)
    x = quantitative(
        "ratio",
        "ratio to the mean of all options",
        # px for the changes that stand beside the points
        scale={**shown.scale, "padding": 50},
        axis=shown.ratio_axis,
    )
    return view(
        26 * len(rows),
        [
            {
                "data": {"values": [{"at": 1}]},
                "mark": {"type": "rule", "style": "mutedline", "strokeDash": [3, 3]},
                "encoding": {"x": {**x, "field": "at"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1, "color": "#0072B2"},
                "encoding": {"y": y, "x": x, "tooltip": tip},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 9, "style": "muted"},
                "encoding": {"y": y, "x": x, "text": {"field": "text"}},
            },
        ],
        rows,
    )


def _table(estimated: list[tuple[Metric, list[Effect]]]) -> Table:
    return Table(
        ("effect", "metric", "share of variation [95 % interval]", "p, adjusted", "levels against the mean"),
        tuple(
            (
                _name(effect),
                heading(metric),
                _with_interval(effect),
                fmt.probability(effect.p_value),
                ", ".join(f"{'+'.join(codes)} {fmt.change(ratio)}" for codes, ratio in effect.levels.items()),
            )
            for metric, effects in estimated
            for effect in effects
        ),
    )
