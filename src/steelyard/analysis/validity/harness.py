"""Whether the harness itself was valid: engine, host, monitors, caches that thrash."""

from __future__ import annotations

import numpy as np

from steelyard.analysis.judgement.results import Notice
from steelyard.analysis.metrics.run_metrics import ENGINE_AT_LIMIT, ENGINE_SHARE, RunMetrics
from steelyard.analysis.validity.stability import Finding, merged
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import percent, quantity, significant, span_of

_STEAL = 0.02
_THRASH = 0.01
_SILENT_INTERVALS = 3


def harness_notices(evidence: Evidence, run_metrics: RunMetrics) -> list[Notice]:
    """engine-saturated, steal, cache-thrash and monitor-silent."""
    return [
        *_engine(evidence, run_metrics),
        *_steal(evidence, run_metrics),
        *_thrash(evidence, run_metrics),
        *_silent(evidence, run_metrics),
    ]


def _engine(evidence: Evidence, run_metrics: RunMetrics) -> list[Notice]:
    values = run_metrics.values
    at_limit = np.flatnonzero(values[ENGINE_AT_LIMIT])
    return merged(
        run_metrics,
        "engine-saturated",
        [Finding(int(run_metrics.run[i]), float(values[ENGINE_SHARE][i])) for i in at_limit],
        "the load engine used nearly all CPU that it may use: throughput is the engine's limit, not the"
        f" {evidence.study.workload.WHO}'s; raise workload.threads, engine.cpu_quota or engine.cpus",
        lambda shares: span_of(shares, percent),
    )


def _steal(evidence: Evidence, run_metrics: RunMetrics) -> list[Notice]:
    rates = evidence.view("rates")
    known = set(run_metrics.run.tolist())
    total: dict[tuple[int, int], float] = {}
    stolen: dict[tuple[int, int], float] = {}
    for i in np.flatnonzero((rates["monitor"] == "host") & (rates["entity"] == "cpu")):
        metric, rate = str(rates["metric"][i]), float(rates["rate_per_s"][i])
        # guest time is part of user time already
        if not metric.endswith("_ns_total") or metric.startswith("guest") or not np.isfinite(rate):
            continue
        key = int(rates["run"][i]), int(rates["point"][i])
        total[key] = total.get(key, 0.0) + rate
        if metric == "steal_ns_total":
            stolen[key] = rate
    shares: dict[int, float] = {}
    for (run, point), rate in stolen.items():
        if run in known and total[run, point] > 0:
            shares[run] = max(shares.get(run, 0.0), rate / total[run, point])
    return merged(
        run_metrics,
        "steal",
        [Finding(run, share) for run, share in shares.items() if share > _STEAL],
        "other guests of the host took CPU time: trust CPU per transaction more than throughput",
        lambda values: span_of(values, percent),
    )


def _thrash(evidence: Evidence, run_metrics: RunMetrics) -> list[Notice]:
    rates = evidence.view("rates")
    per_s = {
        (run, point): float(x)
        for run, point, x in zip(
            run_metrics.run.tolist(),
            run_metrics.point.tolist(),
            run_metrics.values["throughput_per_s"],
            strict=True,
        )
    }
    worst: dict[str, dict[int, float]] = {}
    evicted = [m for m in np.unique(rates["metric"].astype(str)) if m.endswith("evicted_total")]
    for i in np.flatnonzero(np.isin(rates["metric"].astype(str), evicted)):
        key = int(rates["run"][i]), int(rates["point"][i])
        ratio = float(rates["rate_per_s"][i]) / per_s[key] if per_s.get(key, 0.0) > 0 else 0.0
        if ratio > _THRASH:
            runs = worst.setdefault(str(rates["entity"][i]), {})
            runs[key[0]] = max(runs.get(key[0], 0.0), ratio)
    notices: list[Notice] = []
    for entity, runs in worst.items():
        notices += merged(
            run_metrics,
            "cache-thrash",
            [Finding(run, 100 * ratio) for run, ratio in runs.items()],
            f"{entity}: entries are evicted all the time; the cache is too small for this work",
            lambda ratios: f"{span_of(ratios, significant)} per 100 transactions",
        )
    return notices


def _silent(evidence: Evidence, run_metrics: RunMetrics) -> list[Notice]:
    """A monitor whose last sample came long before the end of measure, while work continued."""
    table = evidence.view("silence")
    last_work_ns = _last_work_before_end_ns(evidence)
    found: dict[str, list[Finding]] = {}
    columns = (table[n].tolist() for n in ("run", "monitor", "last_ns", "measure_end_ns"))
    for run, monitor, last_ns, end_ns, interval_ns in zip(
        *columns, table["interval_ns"].astype(np.float64).tolist(), strict=True
    ):
        if not interval_ns > 0 and evidence.study.subject.kind == "recording":
            # a report of a whole interval is read once
            continue
        rate_hz = (evidence.study.rates_hz or {}).get(str(monitor), 1.0)
        interval = interval_ns if interval_ns > 0 else 1e9 / rate_hz
        quiet_ns = float(end_ns - last_ns)
        went_on = last_work_ns.get(int(run), np.inf) < quiet_ns
        if quiet_ns > _SILENT_INTERVALS * interval and went_on:
            found.setdefault(str(monitor), []).append(Finding(int(run), quiet_ns))
    notices: list[Notice] = []
    for monitor, findings in found.items():
        notices += merged(
            run_metrics,
            "monitor-silent",
            findings,
            f"monitor {monitor} fell silent before the end of measure while transactions continued: its"
            " figures cover only a part",
            lambda quiet: f"for {span_of(quiet, lambda ns: quantity(ns, 'ns'))}",
        )
    return notices


def _last_work_before_end_ns(evidence: Evidence) -> dict[int, float]:
    """How long before the end of measure the last second with a transaction ended, by run."""
    points, seconds = evidence.view("points"), evidence.view("seconds")
    last: dict[int, tuple[int, float]] = {}
    for run, point, length in zip(
        points["run"].tolist(), points["point"].tolist(), points["seconds"].tolist(), strict=True
    ):
        last[run] = max(last.get(run, (-1, 0.0)), (point, float(length)))
    latest: dict[int, float] = {}
    columns = (seconds[name].tolist() for name in ("run", "point", "second", "count"))
    for run, point, second, count in zip(*columns, strict=True):
        if count > 0 and run in last and point == last[run][0]:
            latest[run] = max(latest.get(run, 0.0), second + 1.0)
    return {run: max(last[run][1] - end, 0.0) * 1e9 for run, end in latest.items()}
