"""What an option of another schema takes: space for indexes and tables, and log per transaction."""

from __future__ import annotations

from steelyard.analysis.comparison.pairwise import PairResult
from steelyard.analysis.validity.pace import logs_of
from steelyard.analysis.verdict.findings import Findings
from steelyard.quantities import listed, quantity

_SIZES = {"indexes_bytes": "indexes", "tables_bytes": "tables"}


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
            f"{_change(cost.change, cost.difference.unit)} {cost.metric.title} {cost.metric.each}"
            for cost in findings.costs.of(pair)
            if cost.metric.name in logs and cost.proven and cost.material
        ]
    return f"{pair.option} takes {listed(parts)} than {pair.other}." if parts else ""


def _change(value: float, unit: str) -> str:
    return f"{quantity(abs(value), unit)} {'more' if value > 0 else 'less'}"
