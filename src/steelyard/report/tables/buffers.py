"""The server's buffers in short: pages found there and pages read into them, per transaction."""

from __future__ import annotations

from steelyard import quantities as fmt
from steelyard.report.presented.presented import Presented
from steelyard.report.table import Table, plain_table

_OPTIONS_MAX = 8
# less is the catalogue and the like
_READS_PER_TXN_MIN = 0.01
_READS = "_read_per_txn"


def table(presented: Presented) -> Table | None:
    """At the most clients, one row per option.

    None where no option reads into its buffers, or there are many options: then the page has the costs.
    """
    judgement, about = presented.judgement, presented.about
    titles = {m.name: m.title for m in judgement.metrics if m.kind == "buffers"}
    found = [e for e in judgement.estimates if e.metric in titles]
    most = max((e.clients for e in found if e.clients is not None), default=0)
    levels = {(e.metric, e.option): e for e in found if e.clients in (most, None) and e.metric in titles}
    levels |= {(e.metric, e.option): e for e in found if e.clients == most}
    reads = [level.value for (metric, _), level in levels.items() if metric.endswith(_READS)]
    options = [row.label for row in presented.ranking]
    if len(options) > _OPTIONS_MAX or max(reads, default=0.0) < _READS_PER_TXN_MIN:
        return None
    at = f" at {fmt.count(most, about.point_is, about.points_are)}" if most else ""
    return plain_table(
        (f"  per {about.work_is}{at}", *titles.values()),
        (
            (f"  {option}", *(level.value if (level := levels.get((m, option))) else None for m in titles))
            for option in options
        ),
    )
