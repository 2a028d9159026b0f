"""Why: which part of a transaction's cost differs."""

from __future__ import annotations

from steelyard import quantities as fmt
from steelyard.analysis.judgement.outcome import FEWEST_BLOCKS
from steelyard.analysis.judgement.results import CostDifference, Judgement
from steelyard.report.charts.domain import arrows, cut_note, domain_of, drawn_interval
from steelyard.report.charts.figure import Figure, Panel, Spec
from steelyard.report.charts.marks import nominal, quantitative, view
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table


def figure(presented: Presented) -> Figure | None:
    """Differences in time per transaction of the option that leads the verdict."""
    judgement, option = presented.judgement, presented.leading
    if not judgement.costs:
        return None
    mine = [cost for cost in judgement.costs if cost.option == option]
    if not mine:
        option = judgement.costs[0].option
        mine = [cost for cost in judgement.costs if cost.option == option]
    timed = [cost for cost in mine if cost.unit in ("us", "us/txn")]
    titles = {metric.name: metric.title for metric in judgement.metrics}
    work = _work(judgement, mine)
    panels = (
        (Panel("costs", f"{option} minus {judgement.baseline}", _bars(timed, titles, work)),) if timed else ()
    )
    return Figure(
        name="costs",
        title=f"Why: the cost {work}",
        caption=(
            f"The cost {work} under {option}, less that under {judgement.baseline}, with "
            "95 % intervals. Bars to the left are savings. "
            f"Geometric means over blocks{presented.about.over(' and ')}, as in the other tables."
            f"{_unproven(presented)}{cut_note(panels)}"
        ),
        panels=panels,
        table=_table(mine if len(judgement.options) > 8 else list(judgement.costs), titles, work),
    )


def _unproven(presented: Presented) -> str:
    fewest = min(presented.blocks, default=FEWEST_BLOCKS)
    return f" {fmt.count(fewest, 'block')}: too few to prove a difference." if fewest < FEWEST_BLOCKS else ""


def _work(judgement: Judgement, costs: list[CostDifference]) -> str:
    """What costs are counted for: transactions, or the score of a program."""
    metric = next((metric for metric in judgement.metrics if metric.name == costs[0].metric), None)
    if metric is None:
        return "per transaction"
    return metric.each


def _title(metric: str, titles: dict[str, str]) -> str:
    return titles.get(metric) or metric.removesuffix("_per_txn").removesuffix("_us").replace("_", " ")


def _bars(costs: list[CostDifference], titles: dict[str, str], work: str) -> Spec:
    ends = [drawn_interval(cost.low, cost.high) for cost in costs]
    shown = domain_of([cost.after - cost.before for cost in costs], [end for both in ends for end in both])
    rows = [
        shown.clip(
            {
                "cost": _title(cost.metric, titles),
                "difference": cost.after - cost.before,
                "low": low,
                "high": high,
                "sign": "less" if cost.after <= cost.before else "more",
                "text": f"{fmt.significant(cost.before)} → {fmt.significant(cost.after)} µs",
                "interval": fmt.interval(cost.after - cost.before, cost.low, cost.high, cost.unit),
            }
        )
        for cost, (low, high) in zip(costs, ends, strict=True)
    ]
    order = [row["cost"] for row in rows]
    x = quantitative(
        "difference", f"difference, µs {work}", scale=shown.scale, axis={"grid": True, "tickCount": 6}
    )
    place: Spec = {
        "y": nominal("cost", None, sort=order, axis={"labelLimit": 170}),
        "x": x,
        "tooltip": [
            {"field": "cost", "type": "nominal"},
            {"field": "text", "type": "nominal", "title": work},
            {"field": "interval", "type": "nominal", "title": "difference [95 % interval]"},
        ],
    }
    sign = {
        "field": "sign",
        "type": "nominal",
        "scale": {"domain": ["less", "more"], "range": ["#0072B2", "#D55E00"]},
        "legend": None,
    }
    interval: Spec = {**place, "x": {**x, "field": "low"}, "x2": {"field": "high"}}
    return view(
        34 * len(rows),
        [
            {"mark": {"type": "bar", "height": 16}, "encoding": {**place, "color": sign}},
            {"mark": {"type": "rule", "style": "inkline", "strokeWidth": 1.5}, "encoding": interval},
            *arrows(rows, "x", place),
            {
                "data": {"values": [{"at": 0}]},
                "mark": {"type": "rule", "style": "mutedline"},
                "encoding": {"x": {**x, "field": "at"}},
            },
        ],
        rows,
    )


def _table(costs: list[CostDifference], titles: dict[str, str], work: str) -> Table:
    return Table(
        (
            f"cost {work}",
            "option",
            "under the baseline",
            "under the option",
            "difference [95 % interval]",
            "share of CPU difference",
        ),
        tuple(
            (
                _title(cost.metric, titles),
                cost.option,
                fmt.quantity(cost.before, cost.unit),
                fmt.quantity(cost.after, cost.unit),
                fmt.interval(cost.after - cost.before, cost.low, cost.high, cost.unit),
                "" if cost.share is None else fmt.percent(cost.share),
            )
            for cost in costs
        ),
    )
