"""Whether the harness itself was valid: engine, load hosts, machine, monitors, caches that thrash.

A CPU at rest must be woken for each statement: the engine's for the reply, the server's for the request. On
virtual machines that costs about 10 us of latency and of CPU per transaction (docs/performance.md).
"""

import numpy as np

from steelyard.analysis.judgement import Notice
from steelyard.analysis.metrics.run_metrics import ENGINE_AT_LIMIT, ENGINE_SHARE, RunMetrics
from steelyard.analysis.statistics.distributions import t_test
from steelyard.analysis.validity.stability import merged
from steelyard.bundle.evidence import Evidence
from steelyard.quantities import change, p_value, quantity, significant
from steelyard.study.workloads.transactions import ClientWorkload

_STEAL = 0.02
_THRASH = 1  # of a hundred transactions
_SILENT_INTERVALS = 3
# of the replies
_MOST = 0.5

# voluntary switches of the engine per reply: a transaction of one statement has no rows by statement
_SLEPT = """
    with replied as (
        select run, point, option, any_value(seconds) as seconds, greatest(any_value(transactions),
            coalesce(sum(count) filter (statement <> 'transaction'), 0)) as replies
        from points left join latency using (run, point) group by run, point, option
    )
    select option, run, max(least(1, ratio(rate_per_s * seconds, replies))) as share
    from replied join rates using (run, point)
    where monitor = 'processes' and entity = 'engine' and metric = 'voluntary_switches_total'
        and list_contains($options::VARCHAR[], option)
    group by option, run having share > $most order by run
"""
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


_EVICTED = """
    select option, run, 100 * max(ratio(rate_per_s * seconds, transactions)) as per_100, entity
    from rates join points using (run, point) where suffix(metric, 'evicted_total')
    group by entity, option, run having per_100 > $least order by entity, run
"""


# how long before the end of measure the last second with a transaction ended, and a monitor was last read
_QUIET = """
    with last as (select run, option, max(point) as point, arg_max(seconds, point) as length_s
        from points group by run, option),
    worked as (
        select run, greatest(0, any_value(length_s) - max(second + 1)) * 1e9 as idle_ns
        from seconds join last using (run, point) where count > 0 group by run
    )
    select option, run, (measure_end_ns - last_ns)::DOUBLE as quiet_ns, monitor, nullif(interval_ns, 0)
    from silence join last using (run) join worked using (run)
    where idle_ns < quiet_ns order by monitor, run
"""


def harness_notices(evidence: Evidence, run_metrics: RunMetrics) -> list[Notice]:
    """engine-saturated, steal, cache-thrash, monitor-silent (its last sample came long before the end of
    measure, while work continued), engine-slept.
    """
    rates_hz = evidence.study.rates_hz or {}
    silent = (
        (option, run, quiet_ns, monitor)
        for option, run, quiet_ns, monitor, interval_ns in evidence.rows(_QUIET)
        # a report of a whole interval is read once
        if (interval_ns or not evidence.recorded)
        and quiet_ns > _SILENT_INTERVALS * (interval_ns or 1e9 / rates_hz.get(monitor, 1.0))
    )
    return [
        *merged(
            "engine-saturated",
            run_metrics.where(ENGINE_SHARE, run_metrics.values[ENGINE_AT_LIMIT] > 0),
            "the load engine used nearly all CPU that it may use: throughput is the engine's limit, not the"
            f" {evidence.workload.WHO}'s; raise workload.threads, engine.cpu_quota or engine.cpus",
        ),
        *merged(
            "steal",
            evidence.rows(_STOLEN, least=_STEAL),
            "other guests of the host took CPU time: trust CPU per transaction more than throughput",
        ),
        *merged(
            "cache-thrash",
            evidence.rows(_EVICTED, least=_THRASH),
            "{}: entries are evicted all the time; the cache is too small for this work",
            significant,
            "{} per 100 transactions",
        ),
        *merged(
            "monitor-silent",
            silent,
            "monitor {} fell silent before the end of measure while transactions continued: its figures cover"
            " only a part",
            lambda ns: quantity(ns, "ns"),
            "for {}",
        ),
        *sleep_notices(evidence),
    ]


def sleep_notices(evidence: Evidence) -> list[Notice]:
    """engine-slept, for loads in which clients send at once what they have received."""
    sends_at_once = [
        option.label
        for option in evidence.options
        if isinstance(option.workload, ClientWorkload)
        and not option.workload.open_loop
        and not option.workload.thinks
    ]
    several = " at one load point or more" if len(evidence.study.plan.clients) > 1 else ""
    return merged(
        "engine-slept",
        evidence.rows(_SLEPT, options=sends_at_once, most=_MOST),
        f"the load engine slept before most replies{several}: a CPU at rest is woken for each statement,"
        " about 10 µs on virtual machines: a property of this set-up, not of the server (more clients, or"
        " plan.pin = false, keep CPUs awake)",
        detail="{} of replies",
    )


def host_notices(evidence: Evidence) -> list[Notice]:
    """hosts-differ: `host load2: transactions per client −38.0 % against the mean of the hosts (p = 0.0003)`.

    The unit is the run: a t test against 0, with Bonferroni's correction over hosts and metrics. Differences
    below the study's smallest effect say nothing.
    """
    found = [(metric, host, np.array(logs)) for metric, host, logs in evidence.rows(_DEVIATIONS)]
    if len({host for _, host, _ in found}) < 2 or len(found[0][2]) < _RUNS_MIN:
        return []
    least = np.log1p(evidence.margin)
    parts = [
        f"host {host}: {_METRICS[metric]} {change(float(np.exp(logs.mean())))} against the mean of the hosts"
        f" ({p_value(p)})"
        for metric, host, logs in found
        if abs(logs.mean()) >= least and (p := min(1.0, len(found) * float(t_test(logs)))) < _SIGNIFICANT
    ]
    if not parts:
        return []
    text = (
        f"the load hosts differ, though each has the same share of the clients: {'; '.join(parts)}. Results"
        " are of all hosts together: look for a slower CPU or network with `steelyard fleet check`"
    )
    return [Notice("hosts-differ", text)]
