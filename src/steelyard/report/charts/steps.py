"""Rates over time as they were sampled: a step for the time that a sample is the mean of, never a curve."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median_low
from typing import Any

from steelyard.report.charts.figure import Spec
from steelyard.report.charts.marks import dots, layer

Rows = list[dict[str, Any]]

# so many steps beyond its own a line is drawn on; a longer gap interrupts it
_GAP = 0.5
# points that are drawn; of more, only the line is seen
DOTS_MAX = 120


def stepped(
    time: Callable[[str], Spec],
    place: Spec,
    tip: Sequence[Spec],
    seen: bool,
    middle: str = "middle_s",
    piece: str = "piece",
    *,
    lines_only: Spec,
    **look: Any,
) -> list[Spec]:
    """Steps over `t_s`, one line per piece, and a point in the middle of each; not seen: under the pointer.

    time: the axis of a field; middle, piece: fields.
    """
    line = {"x": time("t_s"), **place, "detail": {"field": piece}, **lines_only}
    # the last corner of a line is no value of its own
    only = "" if middle == "t_s" else f"isValid(datum.{middle})"
    points = dots({"x": time(middle), **place}, tip, seen, only)
    return [layer("line", line, interpolate="step-after", clip=True, **look), points]


def steps(samples: Rows, keys: Sequence[str], *, until: bool = False) -> Rows:
    """The corners of step lines (`step-after`), one line per stretch without a gap, numbered by `piece`.

    samples: t_s, and what tells lines apart under `keys`. until: t_s is the end of a sample's time, not
    its start. middle_s: where the point of a sample stands; None for the last corner of a piece.
    """
    lines: dict[tuple[Any, ...], Rows] = defaultdict(list)
    for sample in samples:
        lines[tuple(sample[key] for key in keys)].append(sample)
    out: Rows = []
    piece = 0
    for line in lines.values():
        line.sort(key=lambda sample: sample["t_s"])
        step_s = _step_s(line)
        last: dict[str, Any] | None = None
        for sample in line:
            start_s = sample["t_s"] - (step_s if until else 0.0)
            if last is not None and start_s > last["t_s"] + _GAP * step_s:
                out.append(last)
                piece += 1
            corner = {**sample, "t_s": start_s, "middle_s": start_s + step_s / 2, "piece": piece}
            out.append(corner)
            last = {**corner, "t_s": start_s + step_s, "middle_s": None}
        if last is not None:
            out.append(last)
        piece += 1
    return out


def _step_s(line: Rows) -> float:
    """The usual time between two samples of a line, gaps apart; one second for a single sample."""
    apart = [b["t_s"] - a["t_s"] for a, b in pairwise(line) if b["t_s"] > a["t_s"]]
    return median_low(apart) if apart else 1.0
