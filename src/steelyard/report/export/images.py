"""Pictures without a browser: every panel as SVG and PNG."""

from __future__ import annotations

from pathlib import Path

from steelyard.bundle.storage.files import file_names, write_whole
from steelyard.report.charts import figures
from steelyard.report.charts.render import png, svg, uniquely_named
from steelyard.report.presented.presented import Presented


def write_images(folder: Path, presented: Presented) -> list[Path]:
    """Writes `<panel>.svg` and `<panel>.png` for every chart; returns the files. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    panels = [panel for figure in uniquely_named(figures(presented)) for panel in figure.panels]
    names = file_names(panel.name for panel in panels)
    written: list[Path] = []
    for panel in panels:
        written.append(write_whole(folder / f"{names[panel.name]}.svg", svg(panel)))
        written.append(write_whole(folder / f"{names[panel.name]}.png", png(panel)))
    return written
