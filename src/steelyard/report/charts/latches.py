"""The latch table of a study, with misses and sleeps over clients, predicted beside measured."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.results import Judgement, LatchRow
from steelyard.report import format as fmt
from steelyard.report.charts.figure import Figure, Panel, Spec, Table, quantitative, view
from steelyard.report.charts.theme import Colours, paint

_HEAD = (
    "latch",
    "clients",
    "gets",
    "misses",
    "spin gets",
    "sleeps",
    "wait time",
    "% misses per get",
    "% sleeps per miss",
    "gets per transaction",
    "wait per sleep",
    "hold",
    "predicted % misses per get",
    "predicted gets/s",
    "measured gets/s",
)


def figure(judgement: Judgement, palette: Colours) -> Figure | None:
    """None where no latch was watched."""
    rows = judgement.latches
    if not rows:
        return None
    panels = [
        _panel(rows, palette, "misses", "% misses per get", 100),
        _panel(rows, palette, "sleeps", "% sleeps per miss", 100),
    ]
    measured = any(row.hold_is_measured for row in rows)
    return Figure(
        name="latches",
        title=f"Latch {rows[0].latch} under {rows[0].option}" if _alone(rows) else "Latches",
        caption="A get that fails at first is a miss; a miss that spins in vain sleeps. n/a: not available,"
        " which is not zero. Hold: "
        + (
            "mean of those measured; dashed: predicted from them, nothing fitted."
            if measured
            else "the time that would explain the misses, given the gets with one client less."
        ),
        panels=tuple(panel for panel in panels if panel),
        table=_table(rows),
        layout="grid",
        key="line",
        open=True,
    )


def alternatives(judgement: Judgement) -> Figure | None:
    """What the model says of other settings; None where hold times were not measured."""
    if not judgement.what_if:
        return None
    return Figure(
        name="latch-alternatives",
        title="What other settings of the latch would do",
        caption="Predicted from the measured hold times, nothing fitted; trust it as far as predicted and"
        " measured agree above.",
        panels=(),
        table=Table(
            ("latch", "clients", "change", "gets/s", "% misses per get", "% sleeps per miss", "mean wait"),
            tuple(
                (
                    _named(judgement, item.option, item.latch),
                    str(item.clients),
                    item.change,
                    fmt.quantity(item.gets_per_s, "/s"),
                    _percent(item.misses_per_get),
                    _percent(item.sleeps_per_miss),
                    fmt.quantity(item.wait_mean_ns, "ns"),
                )
                for item in judgement.what_if
            ),
        ),
        open=True,
    )


def _alone(rows: Sequence[LatchRow]) -> bool:
    return len({(row.option, row.latch) for row in rows}) == 1


def _named(judgement: Judgement, option: str, latch: str) -> str:
    return f"{option}, {latch}" if len(judgement.options) > 1 else latch


def _table(rows: Sequence[LatchRow]) -> Table:
    every = [
        (
            f"{row.option}, {row.latch}",
            str(row.clients),
            _count(row.gets),
            _count(row.misses),
            _count(row.spin_gets),
            _count(row.sleeps),
            _time(row.wait_ns),
            _percent(row.misses_per_get),
            _percent(row.sleeps_per_miss),
            _number(row.gets_per_txn),
            _time(row.wait_per_sleep_ns),
            _time(row.hold_ns),
            _percent(row.predicted_misses_per_get),
            _number(row.predicted_gets_per_s),
            _number(row.gets_per_s),
        )
        for row in rows
    ]
    # a column of which nothing is known says nothing, nor does the name of the only latch
    kept = [
        i
        for i in range(1 if _alone(rows) else 0, len(_HEAD))
        if i < 7 or any(cells[i] != fmt.MISSING for cells in every)
    ]
    return Table(tuple(_HEAD[i] for i in kept), tuple(tuple(cells[i] for i in kept) for cells in every))


def _panel(rows: Sequence[LatchRow], palette: Colours, name: str, title: str, scale: float) -> Panel | None:
    drawn: list[Spec] = []
    for row in rows:
        both = {
            "misses": (row.misses_per_get, row.predicted_misses_per_get),
            "sleeps": (row.sleeps_per_miss, None),
        }[name]
        for kind, value in zip(("measured", "predicted"), both, strict=True):
            if value is not None:
                drawn.append(
                    {
                        "option": row.option,
                        "series": f"{row.option}, {row.latch}",
                        "clients": row.clients,
                        "kind": kind,
                        "value": scale * value,
                        "text": _percent(value),
                    }
                )
    if len({item["clients"] for item in drawn}) < 2:
        return None
    x = quantitative("clients", "clients", axis={"format": "d", "tickMinStep": 1})
    y = quantitative("value", None, axis={"tickCount": 5, "format": "~r"}, scale={"zero": True})
    dash = {
        "field": "kind",
        "type": "nominal",
        "scale": {"domain": ["measured", "predicted"], "range": [[1, 0], [5, 4]]},
        "legend": None,
    }
    detail = [{"field": "series"}, {"field": "kind"}]
    colour = palette.encode()
    tip = [
        {"field": "series", "type": "nominal", "title": "latch"},
        {"field": "kind", "type": "nominal"},
        {"field": "clients", "type": "quantitative"},
        {"field": "text", "type": "nominal", "title": title},
    ]
    shared = {"x": x, "y": y, "color": colour, "detail": detail}
    layers: list[Spec] = [
        {"mark": {"type": "line"}, "encoding": {**shared, "strokeDash": dash}},
        {
            "mark": {"type": "point", "filled": True, "size": 50, "opacity": 1},
            "encoding": {**shared, "tooltip": tip},
        },
    ]
    return Panel(f"latches-{name}", title, view(200, layers, paint(drawn, palette)))


def _count(value: float | None) -> str:
    return fmt.MISSING if value is None else f"{value:,.0f}"


def _time(ns: float | None) -> str:
    return fmt.MISSING if ns is None else fmt.quantity(ns, "ns") if ns else "0"


def _number(value: float | None) -> str:
    return fmt.MISSING if value is None else fmt.significant(value)


def _percent(share: float | None) -> str:
    return fmt.MISSING if share is None else fmt.significant(100 * share)
