"""The fitted models of scaling as a table: every option by both kinds of errors, beside what was measured."""

from __future__ import annotations

import math

from steelyard import quantities as fmt
from steelyard.analysis.judgement.scaling import Curve, Interval, Scaling, Serial
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table

_MODELS = {"usl": "Universal Scalability Law", "shared-core": "shared core"}
_ERRORS = {"proportional": "in proportion", "absolute": "absolute"}
_HEAD = (
    "option",
    "errors",
    "model",
    "one {point}",
    "contention",
    "coherency",
    "part of a core beyond the cores",
    "peak at",
    "measured maximum at",
    "AICc",
    "residual SD",
    "lag-1 correlation",
)


def models_table(presented: Presented) -> Table | None:
    """A row per option, kind of errors and model, the best model first; None without any curve."""
    point_is, points_are = presented.about.point_is, presented.about.points_are
    rows = [
        _row(found, curve, point_is, points_are)
        for found in presented.judgement.scaling
        for curve in (*found.curves, *found.absolute)
    ]
    return Table(tuple(name.format(point=point_is) for name in _HEAD), tuple(rows)) if rows else None


def _row(found: Scaling, curve: Curve, point_is: str, points_are: str) -> tuple[str, ...]:
    known = curve.parameters
    relative = curve.errors == "proportional"
    most = found.maximum
    return (
        found.option,
        _ERRORS[curve.errors],
        _MODELS[curve.model],
        _value(known["lambda"], "/s"),
        _value(known["sigma"], "%"),
        _value(known.get("kappa")),
        _value(known.get("yield"), "%"),
        _value(curve.peak),
        f"{fmt.count(most.clients, point_is, points_are)}, {fmt.quantity(most.throughput_per_s, '/s')}"
        + (" (the last point)" if most.last else ""),
        fmt.MISSING if curve.aicc is None else f"{curve.aicc:.1f}",
        f"{fmt.significant(100 * curve.residual_sd)} %"
        if relative
        else fmt.quantity(curve.residual_sd, "/s"),
        _correlation(curve.serial),
    )


def _value(interval: Interval | None, unit: str = "") -> str:
    """`2.05 % [1.58 to 2.53]`; `∞` for a peak that there is none of."""
    if interval is None:
        return fmt.MISSING
    times = 100.0 if unit == "%" else 1.0
    if math.isnan(interval.low):
        text = fmt.significant(times * interval.value)
        return f"{text} {unit} [no interval]" if unit == "%" else f"{text}{unit} [no interval]"
    return fmt.interval(times * interval.value, times * interval.low, times * interval.high, unit)


def _correlation(found: Serial | None) -> str:
    if found is None:
        return fmt.MISSING
    text = f"{found.lag1:.2f}, p = {found.p_value:.2g}"
    return f"{text}: a trend is missed" if found.trend else text
