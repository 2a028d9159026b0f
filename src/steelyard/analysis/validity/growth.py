"""How much a run adds to the tables that it writes to: a faster option works on more rows."""

from __future__ import annotations

from steelyard.analysis.judgement.results import Notice
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import percent, span_of

_MONITOR, _ROWS, _LOADED = "data", "rows", "rows_loaded"


def growth_notices(evidence: Evidence) -> list[Notice]:
    """data-grew: one per option; detail: `orders by 3.1 % to 4.5 %, history by 2.9 % to 4.4 %`."""
    gauges = evidence.view("gauges")
    options = dict(
        zip(evidence.view("runs")["run"].tolist(), evidence.view("runs")["option"].tolist(), strict=True)
    )
    rows: dict[tuple[str, str, str], list[float]] = {}
    columns = (gauges[name].tolist() for name in ("run", "monitor", "entity", "metric", "gone"))
    for run, monitor, table, metric, value in zip(*columns, strict=True):
        if monitor == _MONITOR:
            rows.setdefault((str(options[run]), table, metric), []).append(value)
    found: dict[str, list[str]] = {}
    for (option, table, metric), of_runs in sorted(rows.items()):
        if metric == _ROWS:
            loaded = rows[option, table, _LOADED]
            shares = [now / then - 1 for now, then in zip(of_runs, loaded, strict=True)]
            found.setdefault(option, []).append(f"{table} by {span_of(shares, percent)}")
    per = "block (options of one server share its data)" if len(evidence.view("turns")["run"]) else "run"
    text = f"rows were added in each {per}; the data as loaded come again for the next"
    return [Notice("data-grew", text, option, detail=", ".join(parts)) for option, parts in found.items()]
