"""The latch tables of a study; misses, sleeps and hand-overs as pictures."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard import quantities as fmt
from steelyard.analysis.judgement.latches import LatchRow
from steelyard.analysis.judgement.results import Judgement
from steelyard.report.about.about import About
from steelyard.report.charts.domain import domain_of
from steelyard.report.charts.figure import Figure, Panel, Spec
from steelyard.report.charts.marks import colour, paint, plain_axis, quantitative, view
from steelyard.report.presented.palette import Palette
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table, known, percent, time, whole

_HEAD = (
    "gets",
    "misses",
    "spin gets",
    "sleeps",
    "time asleep",
    "time of all gets",
    "% misses per get",
    "% sleeps per miss",
    "gets per {work}",
    "wait per sleep",
    "hand-overs/s",
    "hold",
    "measured gets/s",
)
_ALWAYS = 5  # the counters of the published table are shown even where they are not available


def figure(presented: Presented) -> Figure | None:
    """None where no latch was recorded. One table per option, the baseline's open."""
    judgement, about, palette = presented.judgement, presented.about, presented.palette
    rows = [row for row in judgement.latches if not row.sleeps_only]
    if not rows:
        return None
    series: dict[tuple[str, str], list[LatchRow]] = {}
    for row in rows:
        series.setdefault((row.option, row.latch), []).append(row)
    tables = {f"{option}, {latch}": _table(mine, about) for (option, latch), mine in series.items()}
    first = next(
        (name for (option, _), name in zip(series, tables, strict=True) if option == judgement.baseline), ""
    )
    first = first or next(iter(tables))
    measured = any(row.hold_is_measured for row in rows)
    drawn = (
        _panel(rows, palette, about, "misses", "% misses per get", 100),
        _panel(rows, palette, about, "sleeps", "% sleeps per miss", 100),
        _hand_overs(rows, palette, about),
    )
    return Figure(
        name="latches",
        title=f"Latch {rows[0].latch} under {rows[0].option}" if len(tables) == 1 else "Latches",
        caption="All runs pooled: counters are sums, rates and ratios those of the sums."
        " A get that fails at first is a miss; a miss whose spins fail sleeps. n/a: not available,"
        " which is not zero. Hold: "
        + (
            "mean of those measured, with what preemption added."
            if measured
            else f"the time that would explain the misses, given the gets with one {about.point_is} less."
        ),
        panels=tuple(panel for panel in drawn if panel),
        table=tables[first],
        layout="grid",
        key="line",
        notes=_beyond(judgement, about),
        open=True,
        numbers="Numbers" if len(tables) == 1 else first,
        folded=tuple((name, table) for name, table in tables.items() if name != first),
    )


def _beyond(judgement: Judgement, about: About) -> tuple[str, ...]:
    over = [point.clients for one in judgement.scaling for point in one.points if point.oversubscribed]
    if not over:
        return ()
    return (
        f"From {fmt.count(min(over), about.point_is, about.points_are)} on there are more of them than CPUs:"
        " what is missed and slept there is also waiting for a holder that lost its CPU, not parallelism.",
    )


def _table(rows: Sequence[LatchRow], about: About) -> Table:
    every = [
        (
            str(row.clients),
            known(row.gets, whole),
            known(row.misses, whole),
            known(row.spin_gets, whole),
            known(row.sleeps, whole),
            known(row.wait_ns, time),
            known(row.get_ns, time),
            known(row.misses_per_get, percent),
            known(row.sleeps_per_miss, percent),
            known(row.gets_per_txn),
            known(row.wait_per_sleep_ns, time),
            known(row.hand_overs_per_s),
            known(row.hold_ns, time),
            known(row.gets_per_s),
        )
        for row in rows
    ]
    # a column without a single value is left out
    head = (about.points_are, *(name.format(work=about.work_is) for name in _HEAD))
    kept = [i for i in range(len(head)) if i <= _ALWAYS or any(cells[i] != fmt.MISSING for cells in every)]
    return Table(tuple(head[i] for i in kept), tuple(tuple(cells[i] for i in kept) for cells in every))


def _hand_overs(rows: Sequence[LatchRow], palette: Palette, about: About) -> Panel | None:
    """A latch that batches looks fast because it hands over rarely: both at once."""
    drawn: list[Spec] = [
        {
            "option": row.option,
            "clients": row.clients,
            "handed": row.hand_overs_per_s,
            "gets": row.gets_per_s,
        }
        for row in rows
        if row.hand_overs_per_s and row.gets_per_s
    ]
    if len(drawn) < 2:
        return None
    scales = {name: domain_of((item[name] for item in drawn), log=True).scale for name in ("handed", "gets")}
    encoding = {
        "x": quantitative("handed", "hand-overs/s", scale=scales["handed"], axis=plain_axis(tickCount=5)),
        "y": quantitative("gets", "gets/s", scale=scales["gets"], axis=plain_axis(tickCount=5)),
        "color": colour(palette),
        "tooltip": [
            {"field": "option", "type": "nominal"},
            {"field": "clients", "type": "quantitative", "title": about.points_are},
            {"field": "handed", "type": "quantitative", "title": "hand-overs/s", "format": ".3~s"},
            {"field": "gets", "type": "quantitative", "title": "gets/s", "format": ".3~s"},
        ],
    }
    mark = {"type": "point", "filled": True, "size": 60, "opacity": 1}
    layers: list[Spec] = [{"mark": mark, "encoding": encoding}]
    return Panel(
        "latches-hand-overs", "Gets over hand-overs to another", view(200, layers, paint(drawn, palette))
    )


def _panel(
    rows: Sequence[LatchRow], palette: Palette, about: About, name: str, title: str, scale: float
) -> Panel | None:
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
                        "text": known(value, percent),
                    }
                )
    if len({item["clients"] for item in drawn}) < 2:
        return None
    x = quantitative("clients", about.points_are, axis={"format": "d", "tickMinStep": 1})
    scale_y = domain_of(item["value"] for item in drawn).scale
    y = quantitative("value", None, axis={"tickCount": 5, "format": "~r"}, scale=scale_y)
    dashes = {
        "field": "kind",
        "type": "nominal",
        "scale": {"domain": ["measured", "predicted"], "range": [[1, 0], [5, 4]]},
        "legend": None,
    }
    detail = [{"field": "series"}, {"field": "kind"}]
    tip = [
        {"field": "series", "type": "nominal", "title": "latch"},
        {"field": "kind", "type": "nominal"},
        {"field": "clients", "type": "quantitative", "title": about.points_are},
        {"field": "text", "type": "nominal", "title": title},
    ]
    shared = {"x": x, "y": y, "color": colour(palette), "detail": detail}
    layers: list[Spec] = [
        {"mark": {"type": "line"}, "encoding": {**shared, "strokeDash": dashes}},
        {
            "mark": {"type": "point", "filled": True, "size": 50, "opacity": 1},
            "encoding": {**shared, "tooltip": tip},
        },
    ]
    return Panel(f"latches-{name}", title, view(200, layers, paint(drawn, palette)))
