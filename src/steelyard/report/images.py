"""Pictures without a browser: every panel as SVG and PNG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from steelyard.analysis.results import Judgement
from steelyard.report.charts import Figure, Panel, Spec, config, figures
from steelyard.report.inputs import About, Series

WIDTH_PX = 760


def write_images(folder: Path, judgement: Judgement, series: Series, about: About) -> list[Path]:
    """Writes `<panel>.svg` and `<panel>.png` for every chart; returns the files. No network."""
    import vl_convert as vlc

    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for panel in panels(figures(judgement, series, about)):
        spec = standalone(panel)
        svg, png = folder / f"{panel.name}.svg", folder / f"{panel.name}.png"
        svg.write_text(vlc.vegalite_to_svg(spec), encoding="utf-8")
        png.write_bytes(vlc.vegalite_to_png(spec, scale=2))
        written += [svg, png]
    return written


def panels(drawn: list[Figure]) -> Iterator[Panel]:
    """Every panel once, under a name that no other has."""
    seen: set[str] = set()
    for figure in drawn:
        for panel in figure.panels:
            name, number = panel.name, 2
            while name in seen:
                name, number = f"{panel.name}-{number}", number + 1
            seen.add(name)
            yield replace(panel, name=name)


def standalone(panel: Panel, title: bool = True) -> Spec:
    """The panel's specification as a picture of its own: fixed width, light, on white."""
    spec = {**panel.spec, "width": WIDTH_PX, "config": {**config(), "background": "white"}}
    if title:
        spec["title"] = {"text": panel.title, "anchor": "start", "fontSize": 14, "offset": 10}
    return spec
