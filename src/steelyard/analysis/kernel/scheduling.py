"""How the scheduler treated each role: rates of switches, and quantiles of waits, slices and sleeps."""

from __future__ import annotations

from typing import Any

from steelyard.analysis.judgement.kernel import SchedulingRow
from steelyard.bundle.evidence.evidence import Evidence

_SHOWN = (0.5, 0.99, 1.0)
_IDLE = "idle"


def scheduling(evidence: Evidence) -> tuple[SchedulingRow, ...]:
    """One row per option and role, in the order of the study; empty where nothing was traced."""
    table = evidence.probed.scheduling
    names = tuple(table)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    quantiles: dict[tuple[str, str, str], dict[float, float]] = {}
    for values in zip(*(table[name].tolist() for name in names), strict=True):
        row = dict(zip(names, values, strict=True))
        key = str(row["option"]), str(row["role"])
        found[key] = row
        quantiles.setdefault((*key, str(row["kind"])), {})[float(row["quantile"])] = float(row["ns"])

    def shown(key: tuple[str, str], kind: str) -> tuple[float, float, float] | None:
        known = quantiles.get((*key, kind))
        return (known[_SHOWN[0]], known[_SHOWN[1]], known[_SHOWN[2]]) if known else None

    return tuple(
        SchedulingRow(
            option=option.label,
            role=role,
            voluntary_per_s=row["voluntary"] / row["seconds"],
            involuntary_per_s=row["involuntary"] / row["seconds"],
            migrations_per_s=row["migrations"] / row["seconds"],
            run_queue_ns=shown((option.label, role), "run queue"),
            slice_ns=shown((option.label, role), "slice"),
            off_cpu_ns=shown((option.label, role), "off CPU"),
        )
        for option in evidence.options
        for (label, role), row in found.items()
        if label == option.label and role != _IDLE
    )
