"""Pictures without a browser: every panel as SVG and PNG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from steelyard.analysis.judgement.results import Judgement
from steelyard.bundle.series.columns import Series
from steelyard.bundle.storage.files import file_names, write_whole
from steelyard.printable import printable
from steelyard.report.about.about import About
from steelyard.report.charts import Figure, Panel, Spec, config, figures

WIDTH_PX = 760


def write_images(folder: Path, judgement: Judgement, series: Series, about: About) -> list[Path]:
    """Writes `<panel>.svg` and `<panel>.png` for every chart; returns the files. Raises OSError."""
    import vl_convert as vlc

    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    drawn = list(panels(figures(judgement, series, about)))
    names = file_names(panel.name for panel in drawn)
    for panel in drawn:
        spec, name = standalone(panel), names[panel.name]
        written.append(write_whole(folder / f"{name}.svg", vlc.vegalite_to_svg(spec)))
        written.append(write_whole(folder / f"{name}.png", vlc.vegalite_to_png(spec, scale=2)))
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
    # no XML holds a control character: the library that draws ends the whole process at one
    return _shown(spec)


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(key): _shown(part) for key, part in cast(dict[str, Any], value).items()}
    if isinstance(value, list):
        return [_shown(part) for part in cast(list[Any], value)]
    return value
