"""What a server's setting takes in memory: private memory of all its processes, and shared memory once."""

from __future__ import annotations

import numpy as np

from steelyard.analysis.comparison.pairwise import PairResult
from steelyard.analysis.verdict.findings import Findings
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import quantity

_LEAST_CHANGE = 0.1
_LEAST_BYTES = 2.0**20


def memory_costs(findings: Findings, pair: PairResult) -> str:
    """`B takes 86.0 MiB more memory than A (at most 117 MiB in use under B, private and shared once).`

    '' where no setting of the server differs, or the largest amounts of their runs overlap.
    """
    evidence = findings.evidence
    levels = [evidence.option(label).levels for label in (pair.option, pair.other)]
    settings = (name for name, factor in evidence.study.factors.items() if factor.scope == "server")
    if all(levels[0].get(name) == levels[1].get(name) for name in settings):
        return ""
    mine, other = (_highest(evidence, label) for label in (pair.option, pair.other))
    if not mine or not other or (min(mine) <= max(other) and min(other) <= max(mine)):
        return ""
    after, before = float(np.median(mine)), float(np.median(other))
    if abs(after - before) < max(_LEAST_BYTES, _LEAST_CHANGE * before):
        return ""
    less = "more" if after > before else "less"
    return (
        f"{pair.option} takes {quantity(abs(after - before), 'bytes')} {less} memory than {pair.other}"
        f" (at most {quantity(after, 'bytes')} in use under {pair.option}, private and shared once)."
    )


def _highest(evidence: Evidence, label: str) -> list[float]:
    """Of each run of an option, the most that its server used."""
    table = evidence.gauges
    runs = evidence.runs["run"][evidence.runs["option"] == label]
    mine = (table["entity"] == "server") & (table["metric"] == "memory_bytes") & np.isin(table["run"], runs)
    found = table["highest"][mine].astype(float)
    return found[np.isfinite(found)].tolist()
