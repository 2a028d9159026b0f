"""What an option takes beside time: memory by a server's setting, space and log by a schema."""

from __future__ import annotations

import numpy as np

from steelyard.analysis.comparison.pairwise import PairResult
from steelyard.analysis.validity.pace import logs_of
from steelyard.analysis.verdict.findings import Findings
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import listed, quantity

_LEAST_CHANGE = 0.1
_LEAST_BYTES = 2.0**20
_SIZES = {"indexes_bytes": "indexes", "tables_bytes": "tables"}


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
    query = """
        select highest from gauges join runs using (run) where option = $option and entity = 'server'
            and metric = 'memory_bytes' and highest is not null order by run
    """
    return [highest for (highest,) in evidence.rows(query, option=label)]


def schema_costs(findings: Findings, pair: PairResult) -> str:
    """`IX takes 1.65 MiB more for indexes and 220 B more WAL per transaction than NONE.`

    '' where the two have the same schema, or nothing that is known differs.
    """
    mine, other = (findings.evidence.schemas.get(label, {}) for label in (pair.option, pair.other))
    sizes = {name: mine[name] - other[name] for name in _SIZES if name in mine and name in other}
    parts = [f"{_change(size, 'bytes')} for {_SIZES[name]}" for name, size in sizes.items() if size]
    if sizes:
        # at another pace, bytes of a log per transaction are not the cost of the schema
        logs = set[str]() if findings.unlike_pace(pair) else logs_of(findings.evidence)
        parts += [
            f"{_change(cost.change, cost.unit)} {cost.metric.title} {cost.metric.each}"
            for cost in findings.costs.of(pair)
            if cost.metric.name in logs and cost.material
        ]
    return f"{pair.option} takes {listed(parts)} than {pair.other}." if parts else ""


def _change(value: float, unit: str) -> str:
    return f"{quantity(abs(value), unit)} {'more' if value > 0 else 'less'}"
