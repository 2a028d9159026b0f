"""Counters of the study's own queries: growth per second and per transaction of each series."""

from __future__ import annotations

import numpy as np

from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.columns import Columns

_COUNTERS = """
    with most as (select max(clients) as clients from points)
    select p.option, p.clients, r.monitor, r.entity as series, r.metric as counter,
        median(r.rate_per_s) as per_s, median(r.rate_per_s * p.seconds / nullif(p.transactions, 0)) as per_txn
    from rates r join points p using (run, point) join most using (clients)
    where list_contains($monitors, r.monitor) and r.rate_per_s > 0
    group by all order by r.monitor, r.metric, per_s desc, p.option
"""


def counters(bundle: Bundle) -> Columns:
    """At the most clients, medians over runs; a counter that did not grow is left out."""
    if not (names := list(bundle.study.sql_monitors)):
        return {}
    found = bundle.measured(_COUNTERS, {"monitors": names})
    declared = {(name, one.name): one for name in names for one in bundle.declared.get(name, ())}
    keys = zip(found["monitor"].tolist(), found["counter"].tolist(), strict=True)
    known = [declared.get(key) for key in keys]
    return {
        **found,
        "unit": np.asarray([one.unit if one else "" for one in known], dtype=object),
        "meaning": np.asarray([one.meaning if one else "" for one in known], dtype=object),
    }
