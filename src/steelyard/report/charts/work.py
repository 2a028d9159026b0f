"""What was done: by statement, by client, and by the study's own counters."""

from collections.abc import Sequence

from steelyard import quantities as fmt
from steelyard.report.about import About
from steelyard.report.charts.figure import Figure, Panel, Spec, of_tables, slug
from steelyard.report.charts.marks import bare_axis, colour, layer, nominal, paint, quantitative, scaled, view
from steelyard.report.charts.shapes import bars, rule, told
from steelyard.report.presented import Palette, Presented
from steelyard.report.presented.words import work_at_a_point
from steelyard.report.table import Cell, Column, Row, Table, table_of

_LONGEST_BESIDE = 14
_OPTIONS_MAX = 8
_STATEMENTS_MAX = 16  # of more the kinds of transactions alone are drawn
_PANELS_MAX = 4
# of one monitor, in a page; the bundle has all
_ROWS_MAX = 60
_TOTAL = "_total"


def statements(presented: Presented) -> Figure | None:
    """One panel per statement, one bar per option; whole transactions are left out where others exist."""
    palette = presented.palette
    data = [row for row in presented.series.statements if row["per_s"] is not None]
    if not data:
        return None
    table = Table((Column("option"), Column("statement"), Column("per second", "per_s")), data)
    parts = table.each("statement")
    single = [name for name in parts if name != "transaction"] or list(parts)
    kinds = [name for name in single if name.startswith("transaction ")]
    few = kinds if kinds and len(single) > _STATEMENTS_MAX else single
    order = [row.label for row in presented.ranking]
    return Figure(
        "statements",
        "Statements per second",
        f"Completed without error, geometric mean over runs{presented.over(' and ')}."
        + (" The numbers have every statement." if few != single else ""),
        tuple(_statement(name, parts[name], order, palette) for name in few),
        table,
        layout="tabs" if len(order) > _OPTIONS_MAX else "pairs",
        key="none" if palette.by_option else "fill",
    )


def _statement(name: str, table: Table, order: list[str], palette: Palette) -> Panel:
    shown = [option for option in order if option in table.each("option")]
    px = 24 if len(shown) <= _OPTIONS_MAX else 18
    long = max(map(len, table.each("option"))) > _LONGEST_BESIDE
    return Panel(
        f"statements-{slug(name)}",
        name,
        _statement_bars(table, shown, palette, px),
        _statement_bars(table, shown, palette, 36, above=13) if long else None,
    )


def _statement_bars(table: Table, order: Sequence[str], palette: Palette, px: int, above: int = 0) -> Spec:
    return bars(
        table,
        nominal("option", None, sort=order, scale={"domain": order}, axis=None if above else {}),
        # room for the numbers beside the bars
        scaled(table.data, "per_s", None, pad=0.2, **bare_axis(tickCount=5)),
        ("option", "per_s"),
        12,
        px=len(order) * px,
        palette=palette,
        beside="per_s_text",
        above=above,
    )


def clients(presented: Presented) -> Figure | None:
    """Bars of the winner, the baseline, options that were unfair, the slowest; at the most clients."""
    judgement, about = presented.judgement, presented.about
    data = presented.series.clients
    if not data:
        return None
    roles = presented.headlines
    noun, work = about.point_is, work_at_a_point(roles.work) if roles.scores else f"{about.work_is}s"
    unit = roles.work.unit if roles.work and roles.scores else ""
    every = Table(
        (
            Column("option"),
            Column(about.points_are, "clients"),
            Column(noun, "client"),
            Column(work, "score"),
        ),
        [{**row, "score": Cell(row["transactions"], unit=unit)} for row in data],
    )
    most = max(every.each("clients"))
    at_most = every.where(clients=most)
    chosen = _chosen(presented, set(at_most.each("option")), most)
    plural = f"{work} of each of {about.count(most)}"
    served = "the server" if noun == "client" else "the machine"
    kept = [row for row in at_most.data if row["option"] in chosen and row["transactions"] is not None]
    scale, name = fmt.unit_for(max((row["transactions"] for row in kept), default=0.0), unit)
    drawn = Table(
        (Column("client"), Column(name or "transactions", "transactions")),
        [{**row, "transactions": row["transactions"] / scale} for row in kept],
    )
    style: Spec = {"format": ",.3~r", "tickCount": 4} if scale != 1.0 else bare_axis(tickCount=4)
    y = scaled(drawn.data, "transactions", name if scale != 1.0 else None, **style)
    return Figure(
        "clients",
        f"{noun.capitalize()} by {noun}",
        f"{plural[0].upper()}{plural[1:]}, geometric mean over runs; the dashed line is their mean. "
        f"Equal bars mean that {served} served all equally. Indices in the table are medians over runs.",
        tuple(
            Panel(
                f"clients-{slug(option)}",
                option,
                _client_bars(drawn.where(option=option), y, presented.palette, noun),
            )
            for option in chosen
        ),
        table_of(judgement.fairness, *_columns(about)) if judgement.fairness else every,
        layout="grid",
    )


def _chosen(presented: Presented, known: set[str], clients: int) -> list[str]:
    order = [row.label for row in presented.ranking]
    unfair = [item.option for item in presented.judgement.fairness if item.unfair and item.clients == clients]
    wanted = [presented.leading, presented.judgement.baseline, *unfair, *order[-1:], *order]
    found = [label for label in dict.fromkeys(wanted) if label in known]
    return found[:_PANELS_MAX] if len(order) > _PANELS_MAX else [o for o in order if o in known]


def _client_bars(table: Table, y: Spec, palette: Palette, noun: str) -> Spec:
    rows, tip = told(table, "client", "transactions:,.4~r" if y["title"] else "transactions:,.0f")
    got = [row["transactions"] for row in rows]
    x = {
        "field": "client",
        "type": "ordinal",
        "title": noun,
        "axis": {"labelOverlap": True, "labelAngle": 0, "ticks": False},
        "scale": {"paddingInner": 0.15},
    }
    bar = layer("bar", {"x": x, "y": y, "color": colour(palette, legend=False), "tooltip": tip})
    mean = sum(got) / len(got) if got else 0
    line = rule(quantitative("at", None), mean, "y", style="inkline", strokeDash=[4, 3])
    return view(150, [bar, line], paint(rows, palette))


def _columns(about: About) -> tuple[Column, ...]:
    by_chance = "{:.4f}" if about.point_is != "instance" else fmt.MISSING
    return (
        Column("option"),
        Column(about.points_are, "clients"),
        Column("Jain's index", "jain", "{:.4f}".format),
        Column("by chance alone", "jain_null", by_chance.format),
        Column("least / mean", "min_over_mean"),
        Column("most / least", "max_over_min"),
        Column("CV", "cv", fmt.percent),
        Column("fair", "unfair", lambda unfair: "no" if unfair else "yes"),
    )


def sql_counters(presented: Presented) -> Figure | None:
    """None without monitors by SQL. Counters that grew most stand first."""
    columns = [
        *map(Column, ("counter", "series", "option")),
        Column("per second", "per_s"),
        Column(f"per {presented.cost_of}", "per_txn"),
    ]
    found = Table(columns, list(map(_shown, presented.series.counters)))
    if not found.data:
        return None
    most = max(found.each("clients"))
    return of_tables(
        "counters-by-sql",
        "Counters by SQL",
        f"Growth in the measure phase at {presented.about.count(most)}, medians"
        " over runs. A counter that did not grow is left out.",
        (
            (f"Monitor {name}", Table(columns, mine.data[:_ROWS_MAX]))
            for name, mine in found.each("monitor").items()
        ),
        notes=tuple(found.each("note")),
    )


def _shown(row: Row) -> Row:
    counter = row["counter"].removesuffix(_TOTAL)
    return {
        **row,
        "counter": counter,
        "series": "" if row["series"] == row["monitor"] else row["series"],
        "per_s": Cell(row["per_s"], unit=row["unit"]),
        "per_txn": Cell(row["per_txn"], unit=row["unit"]),
        "note": f"{row['monitor']}, {counter}: {row['meaning']}.",
    }
