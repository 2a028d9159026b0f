"""Metrics and the query that measures them: what a metric is in SQL stands beside its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steelyard.analysis.judgement.results import Metric
from steelyard.analysis.statistics.distributions import Floats
from steelyard.bundle.evidence.evidence import Evidence


@dataclass(frozen=True)
class Measured:
    """query: name, run, point, value; NULL where not measured. given: its parameters."""

    metrics: Sequence[Metric]
    query: str
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])


def by_column(query: str) -> str:
    """The same of a query that has run, point and a column for each metric."""
    of_doubles = f"select run, point, columns(* exclude (run, point))::DOUBLE from ({query})"
    return f"from ({of_doubles}) unpivot include nulls (value for name in (columns(* exclude (run, point))))"


def aligned(evidence: Evidence, query: str, **given: Any) -> dict[str, Floats]:
    """Values by name, one per run and load point in their order; NaN where there is none."""
    lists = f"""
        with measured as ({query})
        select name, list(value order by run, point) from (select distinct name from measured)
            cross join points left join measured using (name, run, point) group by name
    """
    return {name: np.array(found, dtype=np.float64) for name, found in evidence.rows(lists, **given)}
