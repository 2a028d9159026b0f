"""Where one dispatch table wins: one cell per combination of the other factors and number of threads."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import WinMapCell
from steelyard.report.charts.figure import Figure, Panel, Spec, slug
from steelyard.report.charts.marks import nominal, view
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table


def figure(presented: Presented) -> Figure | None:
    """One panel per level of the last factor, one row per level of those before.

    None where no tables were compared.
    """
    cells = presented.judgement.win_map
    if not cells:
        return None
    names = list(cells[0].others)
    level, baseline = cells[0].level, cells[0].baseline
    panels = list(dict.fromkeys(_panel_of(cell) for cell in cells))
    largest = max(abs(cell.ratio - 1) for cell in cells)
    return Figure(
        name="win-map",
        title=f"Where {level} gives more than {baseline}",
        caption=f"Throughput under {level} against {baseline}, in %, all else alike"
        + (f" ({' and '.join(names)})" if names else "")
        + f". ▲ more, ▼ less by more than {100 * cells[0].margin:.3g} %, with the whole 95 % interval.",
        panels=tuple(
            Panel(
                f"win-map-{slug(name)}",
                name,
                _heat([cell for cell in cells if _panel_of(cell) == name], largest),
            )
            for name in panels
        ),
        table=_table(cells, names),
        layout="grid",
    )


def _panel_of(cell: WinMapCell) -> str:
    codes = list(cell.others.items())
    last = f", {codes[-1][0]} {codes[-1][1]}" if len(codes) > 1 else ""
    return f"{cell.level} against {cell.baseline}{last}"


def _row_of(cell: WinMapCell) -> str:
    codes = list(cell.others.values())
    return ", ".join(codes[:-1] if len(codes) > 1 else codes) or f"{cell.level} / {cell.baseline}"


def _text(cell: WinMapCell) -> str:
    mark = "" if cell.winner is None else "▲ " if cell.winner == cell.level else "▼ "
    return f"{mark}{100 * (cell.ratio - 1):+.1f}".replace("-", "−")


def _heat(cells: Sequence[WinMapCell], largest: float) -> Spec:
    drawn = [
        {
            "row": _row_of(cell),
            "threads": str(cell.clients),
            "change": 100 * (cell.ratio - 1),
            "text": _text(cell),
            "interval": fmt.ratio(cell.ratio, cell.low, cell.high),
            # black or white, whichever reads on the colour of the cell
            "light": abs(cell.ratio - 1) < 0.7 * largest,
        }
        for cell in cells
    ]
    order = list(dict.fromkeys(item["row"] for item in drawn))
    place = {
        "x": nominal("threads", "threads", sort=None, axis={"labelAngle": 0}),
        "y": nominal("row", None, sort=order),
    }
    edge = max(100 * largest, 0.1)
    change: Spec = {
        "field": "change",
        "type": "quantitative",
        "title": "%",
        "scale": {"domain": [-edge, 0, edge], "range": ["#B85000", "#F2F2F2", "#005B94"]},
        "legend": None,
    }
    tip = [
        {"field": "row", "type": "nominal", "title": "levels"},
        {"field": "threads", "type": "nominal"},
        {"field": "interval", "type": "nominal", "title": "ratio"},
    ]
    text: Spec = {"condition": {"test": "datum.light", "value": "#1B1F24"}, "value": "#FFFFFF"}
    layers: list[Spec] = [
        {"mark": {"type": "rect"}, "encoding": {**place, "color": change, "tooltip": tip}},
        {
            "mark": {"type": "text", "fontSize": 12},
            "encoding": {
                **place,
                "text": {"field": "text", "type": "nominal"},
                "color": text,
                "detail": {"field": "light"},
            },
        },
    ]
    return view(max(44, 34 * len(order)), layers, drawn)


def _table(cells: Sequence[WinMapCell], names: Sequence[str]) -> Table:
    return Table(
        ("tables", *names, "threads", "ratio [95 % interval]"),
        tuple(
            (
                f"{cell.level} / {cell.baseline}",
                *(cell.others[name] for name in names),
                str(cell.clients),
                fmt.ratio(cell.ratio, cell.low, cell.high),
            )
            for cell in cells
        ),
    )
