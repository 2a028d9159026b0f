"""Options that are unlike beside the factors: their servers' data directories, and the paces of their work.

In a closed loop a faster option does more transactions in the same time. What a server does per time or per
page (full-page images after a checkpoint, checkpoints, background work) is then spread over more of them,
and a statement waits for a CPU as long as the others let it: both reflect the pace, not only the option.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from steelyard.analysis.judgement import Comparison, Metric, Notice
from steelyard.analysis.metrics.run_metrics import THROUGHPUT, RunMetrics
from steelyard.bundle.evidence import Evidence
from steelyard.quantities import change, listed, percent
from steelyard.study.factors import settings_of

_PACE_RATIO = 1.5
_PAGE_BYTES = 8192  # PostgreSQL's block_size; an image leaves out the page's unused part
# a key of the study makes it the same
_MENDED_BY = {"data_checksums": 'data_checksums = "on" under [subject] makes them the same'}


def unlike_pace(evidence: Evidence, comparisons: Iterable[Comparison]) -> list[Comparison]:
    """Of the comparisons with the baseline, those of options whose work per second differs by much."""
    workload = evidence.workload
    if workload.open_loop or not workload.steady:
        return []
    return [
        c
        for c in comparisons
        if (c.metric, c.clients) == (THROUGHPUT.name, None)
        and c.outcome in ("better", "worse")
        and not 1 / _PACE_RATIO <= c.ratio <= _PACE_RATIO
    ]


def pace_notices(
    evidence: Evidence, run_metrics: RunMetrics, comparisons: Iterable[Comparison]
) -> list[Notice]:
    """pace-differs: by option, where its pace matters to a cost or to the latency of a statement."""
    found = unlike_pace(evidence, comparisons)
    logs = [
        m
        for m in run_metrics.metrics
        if m.kind == "log" and np.nanmax(run_metrics.values[m.name]) >= m.smallest_effect
    ]
    parts = [
        *(_of_log(evidence, metric) for metric in logs),
        *(["the latency of a statement includes its wait for CPUs that others use"] * _mixed(evidence)),
    ]
    if not found or not parts:
        return []
    alone = ", or measure each statement in a study of its own" if _mixed(evidence) else ""
    text = (
        f"the options work at different paces in this closed loop: {'; '.join(parts)}. To compare them at one"
        ' pace, let transactions arrive at a rate that every option sustains (workload.arrival.kind = "open",'
        f" workload.arrival.rate_per_s){alone}"
    )
    return [
        Notice("pace-differs", text, c.option, detail=f"throughput {change(c.ratio)} {to} {c.baseline}")
        for c in found
        for to in ["that of" if c.ratio >= 2 else "against"]
    ]


def _mixed(evidence: Evidence) -> bool:
    query = "from latency where statement not in ('transaction', 'begin', 'commit')"
    return len(evidence.rows(f"select distinct statement from ({query})")) > 1


def _of_log(evidence: Evidence, metric: Metric) -> str:
    images = _image_shares(evidence)
    known = f" ({metric.title}: full-page images are up to {listed(images)})" if images else ""
    return (
        f"{metric.title} per transaction contains what is written per time or per page, as full-page images"
        f" after a checkpoint, and spreads it over more transactions where there are more{known}"
    )


def _image_shares(evidence: Evidence) -> Sequence[str]:
    """`94.2 % under NONE`: of PostgreSQL's log, by option, at most; none where they were not counted."""
    query = """
        select option, sum(rate_per_s) filter (metric = 'full_page_images_total') * $page_bytes
            / nullif(sum(rate_per_s) filter (metric = 'bytes_total'), 0) as share
        from rates join runs using (run) where monitor = 'postgres' and entity = 'wal'
        group by option having share is not null
    """
    shares = evidence.in_order(query, page_bytes=_PAGE_BYTES)
    return [f"{percent(min(1.0, share))} under {option}" for option, share in shares]


def server_notices(evidence: Evidence) -> list[Notice]:
    """server-differs: `differs beside the factor: data checksums on under V18, off under V15`."""
    text = unlike_servers(evidence)
    return [Notice("server-differs", f"differs beside the factor: {text}")] if text else []


def unlike_servers(evidence: Evidence) -> str:
    """`data checksums on under V18, off under V15 (the servers' own defaults ...)`, and what mends it."""
    levels = {
        setting
        for name, factor in evidence.study.factors.items()
        for settings in settings_of(name, factor).values()
        for setting in settings
    }
    values: dict[str, dict[str, list[str]]] = {}
    for option, facts in evidence.fixed.items():
        for name, value in facts.items():
            values.setdefault(name, {}).setdefault(value, []).append(option)
    unlike = {name: found for name, found in values.items() if len(found) > 1 and name not in levels}
    parts = [
        f"{name.replace('_', ' ')} "
        + ", ".join(f"{value} under {listed(options)}" for value, options in found.items())
        for name, found in unlike.items()
    ]
    mended = [_MENDED_BY[name] for name in unlike if name in _MENDED_BY]
    return "; ".join([f"{listed(parts)} (the servers' own defaults for new data)", *mended]) if parts else ""
