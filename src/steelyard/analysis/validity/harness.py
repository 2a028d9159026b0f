"""Whether the harness itself was valid: engine, host, monitors, caches that thrash."""

from __future__ import annotations

from steelyard.analysis.judgement.results import Notice
from steelyard.analysis.metrics.run_metrics import ENGINE_AT_LIMIT, ENGINE_SHARE, RunMetrics
from steelyard.analysis.validity.stability import merged
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import percent, quantity, significant, span_of

_STEAL = 0.02
_THRASH = 0.01
_SILENT_INTERVALS = 3


def harness_notices(evidence: Evidence, run_metrics: RunMetrics) -> list[Notice]:
    """engine-saturated, steal, cache-thrash and monitor-silent."""
    return [
        *_engine(evidence, run_metrics),
        *_steal(evidence),
        *_thrash(evidence),
        *_silent(evidence),
    ]


def _engine(evidence: Evidence, run_metrics: RunMetrics) -> list[Notice]:
    return merged(
        "engine-saturated",
        run_metrics.where(ENGINE_SHARE, run_metrics.values[ENGINE_AT_LIMIT] > 0),
        "the load engine used nearly all CPU that it may use: throughput is the engine's limit, not the"
        f" {evidence.study.workload.WHO}'s; raise workload.threads, engine.cpu_quota or engine.cpus",
        lambda shares: span_of(shares, percent),
    )


# guest time is part of user time already
_STOLEN = """
    with shares as (
        select option, run, point, sum(rate_per_s) filter (metric = 'steal_ns_total') as stolen,
            ratio(stolen, sum(rate_per_s)) as share
        from rates join points using (run, point) where monitor = 'host' and entity = 'cpu'
            and suffix(metric, '_ns_total') and not starts_with(metric, 'guest') group by option, run, point
    )
    select option, run, max(share) as share from shares group by option, run having max(share) > $least
    order by run
"""


def _steal(evidence: Evidence) -> list[Notice]:
    return merged(
        "steal",
        evidence.rows(_STOLEN, least=_STEAL),
        "other guests of the host took CPU time: trust CPU per transaction more than throughput",
        lambda values: span_of(values, percent),
    )


_EVICTED = """
    select entity, option, run, max(ratio(rate_per_s * seconds, transactions)) as per_txn
    from rates join points using (run, point) where suffix(metric, 'evicted_total')
    group by entity, option, run having per_txn > $least order by run, entity
"""


def _thrash(evidence: Evidence) -> list[Notice]:
    worst: dict[str, list[tuple[str, int, float]]] = {}
    for entity, option, run, per_txn in evidence.rows(_EVICTED, least=_THRASH):
        worst.setdefault(entity, []).append((option, run, 100 * per_txn))
    return [
        notice
        for entity, found in worst.items()
        for notice in merged(
            "cache-thrash",
            found,
            f"{entity}: entries are evicted all the time; the cache is too small for this work",
            lambda ratios: f"{span_of(ratios, significant)} per 100 transactions",
        )
    ]


# how long before the end of measure the last second with a transaction ended, and a monitor was last read
_QUIET = """
    with last as (select run, option, max(point) as point, arg_max(seconds, point) as length_s
        from points group by run, option),
    worked as (
        select run, greatest(0, any_value(length_s) - max(second + 1)) * 1e9 as idle_ns
        from seconds join last using (run, point) where count > 0 group by run
    )
    select monitor, option, run, (measure_end_ns - last_ns)::DOUBLE as quiet_ns, nullif(interval_ns, 0)
    from silence join last using (run) join worked using (run)
    where idle_ns < quiet_ns order by run, monitor
"""


def _silent(evidence: Evidence) -> list[Notice]:
    """A monitor whose last sample came long before the end of measure, while work continued."""
    found: dict[str, list[tuple[str, int, float]]] = {}
    for monitor, option, run, quiet_ns, interval_ns in evidence.rows(_QUIET):
        if not interval_ns and evidence.study.subject.kind == "recording":
            # a report of a whole interval is read once
            continue
        rate_hz = (evidence.study.rates_hz or {}).get(monitor, 1.0)
        if quiet_ns > _SILENT_INTERVALS * (interval_ns or 1e9 / rate_hz):
            found.setdefault(monitor, []).append((option, run, quiet_ns))
    return [
        notice
        for monitor, seen in found.items()
        for notice in merged(
            "monitor-silent",
            seen,
            f"monitor {monitor} fell silent before the end of measure while transactions continued: its"
            " figures cover only a part",
            lambda quiet: f"for {span_of(quiet, lambda ns: quantity(ns, 'ns'))}",
        )
    ]
