"""Why: which part of a transaction's cost differs, and which factor matters."""

from steelyard import quantities as fmt
from steelyard.analysis.judgement import FEWEST_BLOCKS, Effect
from steelyard.report.charts.figure import Figure, Panel, Spec
from steelyard.report.charts.marks import cut_note, nominal, quantitative, scaled
from steelyard.report.charts.shapes import bars, intervals
from steelyard.report.presented import Presented
from steelyard.report.presented.words import heading
from steelyard.report.table import Cell, Column, Row, Table

_OPTIONS_MAX = 8
_COSTS = (
    Column("option"),
    Column("under the baseline", "before"),
    Column("under the option", "after"),
    Column("difference [95 % interval]", "difference"),
    Column("share of CPU difference", "share", fmt.percent),
)
_BARS_MAX = 12
_EFFECTS = (
    Column("effect"),
    Column("metric", say=heading),
    Column("share of variation [95 % interval]", "text"),
    Column("p, adjusted", "p", fmt.probability),
    Column("levels against the mean", "levels"),
)
_BLUE = "#0072B2"
_GREY_REST: Spec = {
    "condition": {"test": {"field": "rest", "equal": True}, "value": "#8A929C"},
    "value": _BLUE,
}


def costs(presented: Presented) -> Figure | None:
    """Differences in time per transaction of the option that leads the verdict."""
    judgement = presented.judgement
    if not judgement.costs:
        return None
    first = min(judgement.costs, key=lambda cost: cost.option != presented.leading)
    metrics = {metric.name: metric for metric in judgement.metrics}
    # what costs are counted for: transactions, or the score of a program
    work = metrics[first.metric].each
    rows = [
        {
            "cost": metrics[cost.metric].title,
            "option": cost.option,
            "before": Cell(cost.before, unit=cost.unit),
            "after": Cell(cost.after, unit=cost.unit),
            "difference": Cell(cost.after - cost.before, cost.low, cost.high, cost.unit),
            "share": "" if cost.share is None else cost.share,
            "sign": "less" if cost.after <= cost.before else "more",
            "timed": cost.unit in ("us", "us/txn"),
        }
        for cost in judgement.costs
    ]
    table = Table((Column(f"cost {work}", "cost"), *_COSTS), rows)
    mine = table.where(option=first.option)
    timed = mine.where(timed=True)
    title = f"{first.option} minus {judgement.baseline}"
    panels = (Panel("costs", title, _differences(timed, work)),) if timed.data else ()
    fewest = min(presented.blocks, default=FEWEST_BLOCKS)
    unproven = f" {fmt.count(fewest, 'block')}: too few to prove a difference."
    return Figure(
        "costs",
        f"Why: the cost {work}",
        f"The cost {work} under {first.option}, less that under {judgement.baseline}, with "
        "95 % intervals. Bars to the left are savings. "
        f"Geometric means over blocks{presented.over(' and ')}, means where 0 occurs, as in the other"
        " tables."
        f"{unproven * (fewest < FEWEST_BLOCKS)}{cut_note(panels)}",
        panels,
        mine if len(judgement.options) > _OPTIONS_MAX else table,
    )


def _differences(table: Table, work: str) -> Spec:
    scale = {"domain": ["less", "more"], "range": ["#0072B2", "#D55E00"]}
    return bars(
        table,
        nominal("cost", None, sort=list(table.each("cost")), axis={"labelLimit": 170}),
        scaled(table.data, "difference", f"difference, µs {work}", grid=True, tickCount=6),
        ("cost", "before", "after", "difference"),
        16,
        px=34 * len(table.data),
        look={"color": nominal("sign", None, scale=scale, legend=None)},
        at=0.0,
    )


def effects(presented: Presented) -> Figure | None:
    """For throughput and for CPU: shares of the variation, then the levels of each factor."""
    found = {metric: effects for metric in presented.judged if (effects := presented.effects(metric))}
    if len({name for effects in found.values() for e in effects for name in e.factors}) < 2:
        return None
    table = Table(_EFFECTS, [{"metric": m, **_row(e)} for m, effects in found.items() for e in effects])
    panels: list[Panel] = []
    for metric, effects in list(found.items())[:2]:
        title = heading(metric)
        shares = _shares(table.where(metric=metric))
        panels += [
            Panel(f"shares-{metric.name}", f"{title}: share of variation", shares),
            Panel(f"levels-{metric.name}", f"{title}: each level against the mean", _levels(effects)),
        ]
    return Figure(
        "effects",
        "What matters",
        "How much of the variation between runs each factor, or two of them together (×), accounts "
        "for; and what each level does, against the geometric mean of all options.",
        tuple(panels),
        table,
        layout="pairs",
    )


def _row(effect: Effect) -> Row:
    levels = (f"{'+'.join(codes)} {fmt.change(ratio)}" for codes, ratio in effect.levels.items())
    return {
        "effect": " × ".join(effect.factors),
        "share": effect.share * 100,
        "text": f"{fmt.percent(effect.share)} {fmt.share_interval(effect.low, effect.high)}",
        "p": effect.p_value,
        "levels": ", ".join(levels),
        "rest": False,
    }


def _names(table: Table) -> Spec:
    name = table.columns[0].key
    return nominal(name, None, sort=list(table.each(name)), axis={"labelLimit": 150})


def _shares(table: Table) -> Spec:
    rows = list(table.data[:_BARS_MAX])
    rest = 1 - sum(row["share"] for row in rows) / 100
    if rest > 0.0005:
        rows.append({"effect": "all else", "share": rest * 100, "text": fmt.percent(rest), "rest": True})
    drawn = Table(table.columns, rows)
    return bars(
        drawn,
        _names(drawn),
        quantitative(
            "share", "% of variation", scale={"domain": [0, 170]}, axis={"values": [0, 25, 50, 75, 100]}
        ),
        ("effect", "text"),
        14,
        px=26 * len(rows),
        look={"color": _GREY_REST},
        beside="text",
    )


def _levels(effects: list[Effect]) -> Spec:
    rows = [
        {"level": f"{effect.factors[0]} {codes[0]}", "ratio": ratio}
        for effect in effects
        if len(effect.factors) == 1
        for codes, ratio in effect.levels.items()
    ]
    drawn = Table((Column("level"), Column("against the mean", "ratio", fmt.change)), rows)
    x = scaled(rows, "ratio", "ratio to the mean of all options", 1, ratios=True)
    # px for the changes that stand beside the points
    x["scale"]["padding"] = 50
    return intervals(
        drawn,
        _names(drawn),
        x,
        ("level", "ratio"),
        80,
        px=26 * len(rows),
        look={"color": {"value": _BLUE}},
        at=1.0,
        beside="ratio_text",
        note={"dx": 9, "style": "muted"},
    )
