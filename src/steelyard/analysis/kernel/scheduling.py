"""How the scheduler treated each role: rates of switches, and quantiles of waits, slices and sleeps."""

from __future__ import annotations

from steelyard.analysis.judgement.kernel import SchedulingRow
from steelyard.bundle.evidence.evidence import Evidence


def scheduling(evidence: Evidence) -> tuple[SchedulingRow, ...]:
    """One row per option and role, in the order of the study; empty where nothing was traced."""
    rows = evidence.records("from scheduling where role <> 'idle' order by role")
    return tuple(SchedulingRow(**row) for row in rows)
