"""How often transactions were executed again, after serialization failures and deadlocks."""

from __future__ import annotations

from steelyard.analysis.judgement.results import Notice
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import significant


def retry_notices(evidence: Evidence) -> list[Notice]:
    """retries: one per option; detail: `payment 2.65, delivery 0.41`, over all its runs and load points."""
    query = """
        with rates as (
            select option, transaction, sum(retries) / sum(count) as rate, min(run) as run
            from kinds join runs using (run) group by option, transaction
        )
        select option, list(transaction order by rate desc, run), list(rate order by rate desc, run)
        from rates where rate > 0 and isfinite(rate) group by option order by min(run)
    """
    text = (
        "retries per transaction, after serialization failures and deadlocks: latency counts from the first"
        " time, and statements count each time"
    )
    return [
        Notice(
            "retries",
            text,
            option,
            detail=", ".join(f"{kind} {significant(rate)}" for kind, rate in zip(kinds, rates, strict=True)),
        )
        for option, kinds, rates in evidence.rows(query)
    ]
