"""Simulated machines: time at each priority, the life of chosen threads, where one table wins."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from steelyard import quantities as fmt
from steelyard.analysis.judgement import WinMapCell
from steelyard.report.charts.figure import Figure, Panel, Spec, slug
from steelyard.report.charts.marks import (
    OWN_LEGEND,
    SCALE,
    dash,
    layer,
    nominal,
    quantitative,
    scaled,
    view,
    zoomable,
)
from steelyard.report.charts.shapes import lines, told
from steelyard.report.presented import Palette, Presented
from steelyard.report.table import Column, Row, Table, plain_table, ratio_of

_BANDS = 10  # priorities per row of the table
_WHY = {
    "start": "a new thread",
    "expired": "slice used (tqexp)",
    "waited": "maxwait over, off the CPU (lwait)",
    "returned": "maxwait over, on the CPU (slpret)",
    "forked": "forked (tqexp)",
}
_COLUMNS = (
    Column("CPU", "cpu"),
    Column("from (s)", "start_s"),
    Column("to (s)", "end_s"),
    Column("s", "t_s"),
)
_THREAD = nominal("thread", None, legend=OWN_LEGEND)


def priorities(presented: Presented) -> Figure | None:
    """One panel per number of threads, one line per option. None where no machine was simulated."""
    palette = presented.palette
    table = Table((), presented.series.priorities)
    if not table.data:
        return None
    bands = sorted({row["priority"] // _BANDS for row in table.data})
    return Figure(
        "priorities",
        "Seconds at each priority",
        "Of all weighed threads together, running or waiting for a CPU, in one run's measure phase;"
        " mean over runs. Sleeping threads are not counted.",
        tuple(
            Panel(f"priorities-{point}", fmt.count(point, "thread"), _steps(mine, palette))
            for point, mine in sorted(table.each("clients").items())
        ),
        plain_table(
            ("seconds at priority", *(f"{band * _BANDS}–{band * _BANDS + _BANDS - 1}" for band in bands)),
            (
                (f"{option}, {fmt.count(point, 'thread')}", *(_sum(mine, band) for band in bands))
                for option in table.each("option")
                for point, mine in sorted(table.where(option=option).each("clients").items())
            ),
        ),
        layout="grid",
        key="dash" if palette.by_option else "none",
    )


def _sum(table: Table, band: int) -> float:
    return sum((row["seconds"] for row in table.data if row["priority"] // _BANDS == band), 0.0)


def _steps(table: Table, palette: Palette) -> Spec:
    """Every priority has its time, which is 0 where there is no row."""
    last = max(60, *(row["priority"] + 1 for row in table.data))
    every = [
        {"option": option, "priority": priority, "seconds": known.get(priority, 0.0)}
        for option, mine in table.each("option").items()
        for known in [{row["priority"]: row["seconds"] for row in mine.data}]
        for priority in range(last)
    ]
    # few options are drawn: where the page has no colour for each, the chart brings its own
    own = nominal("option", None, legend=OWN_LEGEND)
    return lines(
        Table((), every),
        quantitative("priority", "priority", axis={"tickCount": 6, "format": "d"}),
        scaled(every, "seconds", "s", tickCount=4, format="~s"),
        ("option", "priority", "seconds:.3~r"),
        height=180,
        look={} if palette.by_option else {"color": own},
        palette=palette,
        lines_only={"strokeDash": dash(palette) if palette.by_option else own},
        interpolate="step",
    )


def trace(presented: Presented) -> Figure | None:
    """Two panels per option: the CPUs, and priority over time. None where nothing was traced."""
    table = Table(_COLUMNS, presented.series.trace)
    if not table.where(reason="ran").data:
        return None
    end_s = max(row["end_s"] for row in table.data)
    panels: list[Panel] = []
    for option, mine in table.each("option").items():
        panels += [
            Panel(f"gantt-{slug(option)}", f"{option}: CPUs", _gantt(mine, end_s)),
            Panel(f"priority-{slug(option)}", f"{option}: priority", _priority(mine, end_s)),
        ]
    return Figure(
        "trace",
        "The life of chosen threads",
        "One run of each option, at the most threads, from the start of measure: stints on the CPUs,"
        " and the global priority. The same threads meet the same bursts under every option.",
        tuple(panels),
        plain_table(("thread", "s on a CPU", "stints", "changes of priority or quantum"), _lives(table)),
        layout="pairs",
    )


def _time(name: str) -> Spec:
    return quantitative(name, "s", scale=SCALE, axis={"tickCount": 5})


def _gantt(table: Table, end_s: float) -> Spec:
    names = ("thread", "cpu", "start_s:.4f", "end_s:.4f", "priority")
    ran, tip = told(table.where(reason="ran"), *names)
    cpus = sorted({row["cpu"] for row in ran})
    encoding = {
        "x": _time("start_s"),
        "x2": {"field": "end_s"},
        "y": {"field": "cpu", "type": "ordinal", "title": "CPU", "scale": {"domain": cpus}},
        "color": _THREAD,
        "tooltip": tip,
    }
    bar = layer("bar", encoding, height={"band": 0.75}, clip=True)
    return zoomable(view(max(80, 14 * len(cpus)), [bar], ran), 0, end_s)


def _priority(table: Table, end_s: float) -> Spec:
    """Known where it changes, and while a thread runs."""
    drawn = [
        {"thread": row["thread"], "t_s": t_s, "priority": row["priority"]}
        for row in sorted(table.data, key=lambda row: (row["start_s"], row["end_s"]))
        for t_s in dict.fromkeys((row["start_s"], row["end_s"]))
    ]
    spec = lines(
        Table(_COLUMNS, drawn),
        _time("t_s"),
        scaled(drawn, "priority", "priority", 60.0, pad=0, tickCount=6),
        ("thread", "t_s:.4f", "priority"),
        height=160,
        look={"color": _THREAD},
        interpolate="step-after",
        clip=True,
    )
    return zoomable(spec, 0, end_s)


def _lives(table: Table) -> Iterator[tuple[Any, ...]]:
    """Of each thread under each option: time on a CPU, stints, and why its priority changed."""
    for option in table.each("option"):
        for thread in table.each("thread"):
            mine = table.where(option=option, thread=thread)
            ran = mine.where(reason="ran").data
            on_cpu_s = sum(row["end_s"] - row["start_s"] for row in ran)
            why = Counter(row["reason"] for row in mine.data if row["reason"] != "ran")
            changes = ", ".join(f"{_WHY[reason]} {times}" for reason, times in sorted(why.items())) or "none"
            yield f"{option}, {thread}", f"{on_cpu_s:.3f}", len(ran), changes


def win_map(presented: Presented) -> Figure | None:
    """A panel per level of the last factor, a row per level of those before; None: no tables compared."""
    cells = presented.judgement.win_map
    if not cells:
        return None
    names = list(cells[0].others)
    level, baseline = cells[0].level, cells[0].baseline
    largest = max(abs(cell.ratio - 1) for cell in cells)
    columns = *map(Column, ("tables", *names, "threads")), Column("ratio [95 % interval]", "ratio")
    table = Table(columns, [_win(cell, largest) for cell in cells])
    return Figure(
        "win-map",
        f"Where {level} gives more than {baseline}",
        f"Throughput under {level} against {baseline}, in %, all else alike"
        + (f" ({' and '.join(names)})" if names else "")
        + f". ▲ more, ▼ less by more than {100 * cells[0].margin:.3g} %, with the whole 95 % interval.",
        tuple(
            Panel(f"win-map-{slug(name)}", name, _heat(mine, largest))
            for name, mine in table.each("panel").items()
        ),
        table,
        layout="grid",
    )


def _win(cell: WinMapCell, largest: float) -> Row:
    *first, last = [*cell.others.items()] or [("", "")]
    codes = list(cell.others.values())
    mark = "" if cell.winner is None else "▲ " if cell.winner == cell.level else "▼ "
    tables = f"{cell.level} / {cell.baseline}"
    return {
        **cell.others,
        "tables": tables,
        "threads": str(cell.clients),
        "ratio": ratio_of(cell),
        "panel": f"{cell.level} against {cell.baseline}" + (f", {last[0]} {last[1]}" if first else ""),
        "row": ", ".join(codes[:-1] if first else codes) or tables,
        "change": 100 * (cell.ratio - 1),
        "text": f"{mark}{100 * (cell.ratio - 1):+.1f}".replace("-", "−"),
        # black or white, whichever reads on the colour of the cell
        "light": abs(cell.ratio - 1) < 0.7 * largest,
    }


def _heat(table: Table, largest: float) -> Spec:
    order = list(table.each("row"))
    place = {
        "x": nominal("threads", "threads", sort=None, axis={"labelAngle": 0}),
        "y": nominal("row", None, sort=order),
    }
    edge = max(100 * largest, 0.1)
    scale = {"domain": [-edge, 0, edge], "range": ["#B85000", "#F2F2F2", "#005B94"]}
    rows, tip = told(table, "row", "threads", "ratio")
    cell = {**place, "color": quantitative("change", "%", scale=scale, legend=None), "tooltip": tip}
    text = {
        **place,
        "text": nominal("text", None),
        "color": {"condition": {"test": "datum.light", "value": "#1B1F24"}, "value": "#FFFFFF"},
        "detail": {"field": "light"},
    }
    return view(max(44, 34 * len(order)), [layer("rect", cell), layer("text", text, fontSize=12)], rows)
