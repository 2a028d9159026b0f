"""How often transactions were executed again, after serialization failures and deadlocks."""

from __future__ import annotations

from steelyard.analysis.judgement.results import Notice
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import significant


def retry_notices(evidence: Evidence) -> list[Notice]:
    """retries: one per option; detail: `payment 2.65, delivery 0.41`, over all its runs and load points."""
    options = dict(
        zip(evidence.view("runs")["run"].tolist(), evidence.view("runs")["option"].tolist(), strict=True)
    )
    sums: dict[str, dict[str, tuple[float, float]]] = {}
    columns = (evidence.view("kinds")[name].tolist() for name in ("run", "transaction", "count", "retries"))
    for run, kind, count, retries in zip(*columns, strict=True):
        of_option = sums.setdefault(str(options[run]), {})
        done, again = of_option.get(kind, (0.0, 0.0))
        of_option[kind] = done + count, again + retries
    text = (
        "retries per transaction, after serialization failures and deadlocks: latency counts from the first"
        " time, and statements count each time"
    )
    found: list[Notice] = []
    for option, kinds in sums.items():
        rates = {kind: again / done for kind, (done, again) in kinds.items() if again and done}
        ordered = sorted(rates.items(), key=lambda item: -item[1])
        detail = ", ".join(f"{kind} {significant(rate)}" for kind, rate in ordered)
        found += [Notice("retries", text, option, detail=detail)] if detail else []
    return found
