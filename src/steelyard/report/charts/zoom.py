"""An axis that a reader can zoom: its ends are signals of the picture, which the page's script sets."""

from __future__ import annotations

from typing import Literal

from steelyard.report.charts.figure import Spec

# drag: over a stretch of the axis; frame: a click on what begins and ends there
How = Literal["drag", "frame"]
FROM, TO = "x_from", "x_to"
SCALE: Spec = {"domain": [{"expr": FROM}, {"expr": TO}], "nice": False}


def zoomable(spec: Spec, low: float, high: float, how: How = "drag") -> Spec:
    """The view with an axis from low to high whose encodings have SCALE; its marks must be clipped."""
    params = [{"name": FROM, "value": low}, {"name": TO, "value": high}]
    return {**spec, "params": [*spec.get("params", ()), *params], "usermeta": {"zoom": how}}
