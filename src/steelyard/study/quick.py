"""A plan made shorter for a first look: fewer blocks, less time at each load point, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Container
from typing import Any

from steelyard.study.study import Plan

_BLOCKS = 3
_MEASURE_S = 2.0
_TRANSACTIONS_SHARE = 5


def quick_changes(plan: Plan, kept: Container[str] = ()) -> dict[str, Any]:
    """The keys of [plan] that a quick run replaces, with their values; kept: keys that it leaves alone.

    The warm-up stays: a colder start would measure something else.
    """
    shorter: dict[str, Any] = {"blocks": min(plan.blocks, _BLOCKS)}
    if plan.transactions is None:
        shorter["measure_s"] = min(plan.measure_s, _MEASURE_S)
    else:
        shorter["transactions"] = max(1, plan.transactions // _TRANSACTIONS_SHARE)
    return {key: value for key, value in shorter.items() if key not in kept and value != getattr(plan, key)}


def quick_text(plan: Plan, changes: dict[str, Any]) -> str:
    """What a quick run loses: `3 blocks in place of 6, 2 s in place of 10 s: intervals about ... wider`."""
    if not changes:
        return f"nothing to shorten: {plan.blocks} blocks, {plan.measure_s:g} s per load point"
    units = {"blocks": " blocks", "measure_s": " s", "transactions": " transactions"}
    before = {"blocks": f"{plan.blocks}", "measure_s": f"{plan.measure_s:g} s"}
    lost = ", ".join(
        f"{value:g}{units[key]} in place of {before.get(key, getattr(plan, key))}"
        for key, value in changes.items()
    )
    few, many = sorted(_widths(plan, changes))
    times = f"{few:.2g}" if many / few < 1.1 else f"{few:.2g} to {many:.2g}"
    return f"{lost}: intervals about {times} times wider"


def _widths(plan: Plan, changes: dict[str, Any]) -> tuple[float, float]:
    """Growth of an interval where runs scatter between themselves, and where all scatter is within them.

    The half-width of n blocks is t(n - 1) / sqrt(n) times the scatter of a run, which grows with
    1 / sqrt(time) in so far as it comes from within the run.
    """
    between = _half_width(changes.get("blocks", plan.blocks)) / _half_width(plan.blocks)
    time = math.prod(
        getattr(plan, key) / changes[key] for key in ("measure_s", "transactions") if key in changes
    )
    return between, between * math.sqrt(time)


def _half_width(blocks: int) -> float:
    """In scatters of a run; without a second block there is no interval: as for two."""
    # scipy takes 0.7 s
    from scipy import special

    n = max(2, blocks)
    t: Any = special
    return float(t.stdtrit(n - 1, 0.975)) / math.sqrt(n)
