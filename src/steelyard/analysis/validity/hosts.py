"""Load hosts of a fleet: whether they differ, though each has the same share of the work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.judgement.results import Notice
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import change, p_value

_SIGNIFICANT = 0.01
_RUNS_MIN = 3
_METRICS = ("transactions per client", "median latency", "p99 latency")
Floats = NDArray[np.float64]


def host_notices(evidence: Evidence) -> list[Notice]:
    """hosts-differ: `host load2: transactions per client −38.0 % against the mean of the hosts (p = 0.0003)`.

    The unit is the run: of each, the logarithm of a host's value less the mean over hosts; a t test against
    0, with Bonferroni's correction over hosts and metrics. Differences below the study's smallest effect say
    nothing.
    """
    by_metric = _deviations(evidence)
    tests = sum(len(hosts) for hosts in by_metric.values())
    least = np.log1p(evidence.study.plan.smallest_effect_percent / 100)
    parts = [
        f"host {host}: {metric} {change(float(np.exp(values.mean())))} against the mean of the hosts"
        f" ({p_value(p)})"
        for metric, hosts in by_metric.items()
        for host, values in hosts.items()
        if abs(values.mean()) >= least and (p := min(1.0, tests * _p_value(values))) < _SIGNIFICANT
    ]
    if not parts:
        return []
    text = (
        f"the load hosts differ, though each has the same share of the clients: {'; '.join(parts)}. Results"
        " are of all hosts together: look for a slower CPU or network with `steelyard fleet check`"
    )
    return [Notice("hosts-differ", text)]


def _deviations(evidence: Evidence) -> Mapping[str, Mapping[str, Floats]]:
    """By metric and host: per run, the mean over load points of the logarithm against all hosts."""
    load = evidence.view("host_load")
    found: dict[str, dict[str, Floats]] = {metric: {} for metric in _METRICS}
    hosts = sorted(set(map(str, load["host"])))
    runs = sorted(set(load["run"].tolist()))
    if len(hosts) < 2 or len(runs) < _RUNS_MIN:
        return found
    values = dict(zip(_METRICS, _values(load), strict=True))
    for metric, own in values.items():
        table: dict[str, list[float]] = {host: [] for host in hosts}
        for run in runs:
            for host, deviation in _of_run(load, own, run):
                table[host].append(deviation)
        found[metric] = {host: np.asarray(rows) for host, rows in table.items() if len(rows) == len(runs)}
    return found


def _values(load: Mapping[str, NDArray[np.float64]]) -> tuple[Floats, ...]:
    per_client = load["transactions"] / np.maximum(load["clients"], 1)
    return per_client, *(load[name].astype(np.float64) for name in ("p50_ns", "p99_ns"))


def _of_run(load: Mapping[str, NDArray[np.float64]], values: Floats, run: int) -> Iterator[tuple[str, float]]:
    points: dict[str, list[float]] = {}
    of_run = load["run"] == run
    for point in sorted(set(load["point"][of_run].tolist())):
        rows = np.flatnonzero(of_run & (load["point"] == point) & (values > 0))
        logs = np.log(values[rows])
        for row, value in zip(rows, logs - logs.mean() if len(rows) else logs, strict=True):
            points.setdefault(str(load["host"][row]), []).append(float(value))
    for host, deviations in points.items():
        yield host, float(np.mean(deviations))


def _p_value(values: Floats) -> float:
    """Of a t test that the mean is 0, two-sided."""
    from scipy import stats

    spread = float(values.std(ddof=1))
    if spread == 0:
        return 0.0
    t = abs(float(values.mean())) / (spread / np.sqrt(len(values)))
    tail: Any = stats.t
    return float(2 * tail.sf(t, len(values) - 1))
