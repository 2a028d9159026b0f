"""Times from the median to the rarest: of transactions, and of holds of a latch and waits for it."""

from collections.abc import Sequence

from steelyard.bundle.series.read import Rows
from steelyard.report.charts.figure import Figure, Panel, Spec
from steelyard.report.charts.marks import dash, quantitative, scaled
from steelyard.report.charts.shapes import lines
from steelyard.report.presented import Palette, Presented
from steelyard.report.table import Cell, Column, Row, Table, plain_table

# the axis counts one transaction in n: 2 is the median, 100 the 99th percentile
_PERCENT = (
    "datum.value == 1 ? '0 %' : datum.value == 2 ? '50 %' : datum.value == 10 ? '90 %'"
    " : datum.value == 100 ? '99 %' : datum.value == 1000 ? '99.9 %' : datum.value == 10000 ? '99.99 %' : ''"
)
_NS = {"ms": 1e6, "µs": 1e3}
_IN_TABLE = (0.5, 0.9, 0.95, 0.99, 0.999)
_OF_A_LATCH = (0.5, 0.9, 0.99, 0.999, 0.9999)


def _times_of(series: Rows) -> Table:
    """The rows of the series whose time and quantile can be drawn."""
    return Table((), [row for row in series if row["ns"] is not None and 0 <= row["quantile"] < 1])


def _curves(table: Table, palette: Palette, of: str, unit: str = "ms") -> Spec:
    """One line per option over quantiles of which one in 2, 10, 100 ... are slower; both axes log.

    table: with one time above 0 at least.
    """
    drawn = [
        {**row, "one_in": 1 / (1 - row["quantile"]), "time": row["ns"] / _NS[unit]}
        for row in table.data
        if row["ns"] > 0
    ]
    last = max(row["one_in"] for row in drawn)
    crowded = not palette.by_option
    shares = [n for n in (1, 2, 10, 100, 1000, 10000) if n <= last * 1.001]
    return lines(
        Table((Column(unit, "time"),), drawn),
        quantitative(
            "one_in",
            f"share of {of} that were quicker",
            scale={"type": "log", "domain": [1, last], "nice": False},
            axis={"values": shares, "labelExpr": _PERCENT, "grid": True},
        ),
        scaled(drawn, "time", unit, log=True, format=".3~f", tickCount=6),
        ("option", "quantile:.3~%", "time:.3~r"),
        height=260,
        look={"detail": {"field": "option"}},
        palette=palette,
        lines_only={} if crowded else {"strokeDash": dash(palette)},
        opacity=0.55 if crowded else 1,
    )


def latency(presented: Presented) -> Figure | None:
    """One panel per load point."""
    about = presented.about
    table = _times_of(presented.series.latency)
    if not table.data:
        return None
    return Figure(
        "latency",
        "Latency",
        f"How long {about.work_is}s took: half were quicker than the value at 50 %, one in a hundred was "
        "slower than the value at 99 %. Geometric mean over runs of the runs' own percentiles.",
        tuple(
            Panel(
                f"latency-{clients}",
                about.count(clients),
                _curves(mine, presented.palette, f"{about.work_is}s"),
            )
            for clients, mine in sorted(table.each("clients").items(), reverse=True)
            if max(mine.values("ns")) > 0
        ),
        _numbers(table, _IN_TABLE, option="option", clients=about.points_are),
        layout="tabs",
        key="dash",
    )


def _numbers(table: Table, quantiles: Sequence[float], **titles: str) -> Table:
    """A row per curve, which these fields tell apart."""
    return plain_table(
        (*titles.values(), *(f"p{quantile * 100:g}" for quantile in quantiles)),
        (
            (*curve, *(_nearest(mine.data, quantile) for quantile in quantiles))
            for curve, mine in table.each(*titles).items()
        ),
    )


def _nearest(curve: Sequence[Row], quantile: float) -> Cell:
    near = min(curve, key=lambda row: abs(row["quantile"] - quantile))
    close = abs(near["quantile"] - quantile) <= (1 - quantile) * 0.05 + 1e-9
    # 0: nothing waited
    return Cell((near["ns"] or None) if close else None, unit="ns")


def latch_times(presented: Presented) -> Figure | None:
    """None where times of holds were not taken."""
    about = presented.about
    table = _times_of(presented.series.latch_times)
    if not table.data:
        return None
    points = sorted(table.each("clients"))
    found = table.each("kind", "clients")
    chosen = {
        (kind, clients): found[kind, clients]
        for kind in ("hold", "wait")
        for clients in dict.fromkeys((points[0], points[-1]))
        if (kind, clients) in found
    }
    # with one worker nothing waits: all its times are 0, which no logarithmic axis has
    drawn = {place: mine for place, mine in chosen.items() if max(mine.values("ns")) > 0}
    without = [
        f"No {kind}s with {about.count(clients)}: no panel."
        for kind, clients in chosen
        if (kind, clients) not in drawn
    ]
    return Figure(
        "latch-times",
        "Holds and waits",
        "By share that were shorter; waits are those of gets that missed. A hold includes the time in"
        " which its holder had no CPU: that is the tail. Geometric mean over runs of the runs' own "
        + " ".join(["quantiles.", *without]),
        tuple(
            Panel(
                f"latch-{kind}-{clients}",
                f"{kind.capitalize()}, {about.count(clients)}",
                _curves(mine, presented.palette, f"{kind}s", "µs"),
            )
            for (kind, clients), mine in drawn.items()
        ),
        _numbers(
            Table((), [row for mine in chosen.values() for row in mine.data]),
            _OF_A_LATCH,
            option="option",
            kind="of a",
            clients=about.points_are,
        ),
        layout="grid",
        key="dash",
    )
