"""How much a run adds to the tables that it writes to: a faster option works on more rows."""

from __future__ import annotations

from steelyard.analysis.judgement.results import Notice
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import percent, span_of


def growth_notices(evidence: Evidence) -> list[Notice]:
    """data-grew: one per option; detail: `orders by 3.1 % to 4.5 %, history by 2.9 % to 4.4 %`."""
    query = """
        select option, entity, list(now.gone / loaded.gone - 1)
        from gauges now join gauges loaded using (run, monitor, entity) join runs using (run)
        where monitor = 'data' and now.metric = 'rows' and loaded.metric = 'rows_loaded'
        group by option, entity order by option, entity
    """
    found: dict[str, list[str]] = {}
    for option, table, shares in evidence.rows(query):
        found.setdefault(option, []).append(f"{table} by {span_of(shares, percent)}")
    per = "block (options of one server share its data)" if evidence.rows("from turns") else "run"
    text = f"rows were added in each {per}; the data as loaded come again for the next"
    return [Notice("data-grew", text, option, detail=", ".join(parts)) for option, parts in found.items()]
