"""Load hosts of a fleet: whether they differ, though each has the same share of the work."""

from __future__ import annotations

import math

import numpy as np

from steelyard.analysis.judgement.results import Notice
from steelyard.analysis.statistics.distributions import Floats, t_two_sided
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import change, p_value

_SIGNIFICANT = 0.01
_RUNS_MIN = 3
_METRICS = {"by_client": "transactions per client", "p50": "median latency", "p99": "p99 latency"}


# of each run, the mean over load points of the logarithm of a host's value less the mean over hosts
_DEVIATIONS = """
    with logs as (
        unpivot (select run, point, host, ln(nullif(transactions / greatest(clients, 1), 0)) as by_client,
            ln(nullif(p50_ns, 0)) as p50, ln(nullif(p99_ns, 0)) as p99 from host_load)
        on by_client, p50, p99 into name metric value log
    ), relative as (
        select *, log - avg(log) over (partition by metric, run, point) as deviation from logs
    ), of_run as (
        select metric, host, run, avg(deviation) as deviation from relative group by metric, host, run
    )
    select metric, host, list(deviation order by run) from of_run
    group by metric, host having count(*) = (select count(distinct run) from host_load)
    order by metric, host
"""


def host_notices(evidence: Evidence) -> list[Notice]:
    """hosts-differ: `host load2: transactions per client −38.0 % against the mean of the hosts (p = 0.0003)`.

    The unit is the run: a t test against 0, with Bonferroni's correction over hosts and metrics. Differences
    below the study's smallest effect say nothing.
    """
    found = [(metric, host, np.array(logs)) for metric, host, logs in evidence.rows(_DEVIATIONS)]
    if len({host for _, host, _ in found}) < 2 or len(found[0][2]) < _RUNS_MIN:
        return []
    least = np.log1p(evidence.study.plan.smallest_effect_percent / 100)
    parts = [
        f"host {host}: {_METRICS[metric]} {change(float(np.exp(logs.mean())))} against the mean of the hosts"
        f" ({p_value(p)})"
        for metric, host, logs in found
        if abs(logs.mean()) >= least and (p := min(1.0, len(found) * _p_value(logs))) < _SIGNIFICANT
    ]
    if not parts:
        return []
    text = (
        f"the load hosts differ, though each has the same share of the clients: {'; '.join(parts)}. Results"
        " are of all hosts together: look for a slower CPU or network with `steelyard fleet check`"
    )
    return [Notice("hosts-differ", text)]


def _p_value(logs: Floats) -> float:
    """Of a t test that the mean is 0, two-sided."""
    error = float(logs.std(ddof=1)) / math.sqrt(len(logs))
    return float(t_two_sided(float(logs.mean()) / error, len(logs) - 1)) if error else 0.0
