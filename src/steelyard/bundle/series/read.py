"""The series that charts draw: those that a bundle's workload and its clock permit; facts of a study's runs,
the cost of its monitors; bursts and sleeps of a server's threads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.bundle.evidence import Facts, counts_instructions
from steelyard.bundle.evidence.histograms import merged, quantiles, summary
from steelyard.bundle.reader import Bundle
from steelyard.bundle.series import queries
from steelyard.declared_metrics import DeclaredMetric
from steelyard.errors import InputError
from steelyard.quantities import time_unit_ns
from steelyard.study.factors import table_factor
from steelyard.study.workloads.program import ProgramWorkload
from steelyard.study.workloads.threads import ThreadsWorkload

_MONITOR_COST = """
    with readings as (
        select s.run, s.entity as name, s.metric, s.t_ns, s.value from samples s join measures m using (run)
        where s.monitor = 'monitors'
            and s.t_ns >= m.start_ns and s.t_ns <= m.end_ns + 2e8
    ), runs_cost as (
        select run, name, metric, max(value) - min(value) as cost_ns, max(t_ns) - min(t_ns) as span_ns,
            count(*) as n, median(value) as middle
        from readings group by run, name, metric having count(*) > 1
    )
    -- the probes have no interval; their CPU time is recorded at the edges of phases
    select name,
        case when name <> 'probes'
            then median(span_ns / (n - 1)) filter (metric = 'cpu_ns_total') / 1e9 end as interval_s,
        100 * sum(cost_ns) filter (metric = 'cpu_ns_total')
            / sum(span_ns) filter (metric = 'cpu_ns_total') as cpu_percent,
        median(middle) filter (metric = 'reading_ns') as reading_ns
    from runs_cost group by name order by name
"""
_RUNS = """
    select (select count(*) from used_runs) as runs_done, count(*) filter (status = 'void') as runs_void,
        count(*) filter (status = 'disturbed') as runs_disturbed, count(*) as runs_all,
        coalesce(min(started_at), '') as "when", exists (from main.turns) as in_turns,
        (select coalesce(list(distinct clients order by clients), []) from measures) as load_points
    from main.runs
"""
_HISTOGRAMS = """
    select s.voluntary, s.run_queue_histogram, s.slice_histogram, s.off_cpu_histogram
    from scheduling s join used_runs using (run) where option = ? and role = 'server'
"""
# quantiles in the middle of equal parts stand for the distribution
_MIDDLES = tuple((part + 0.5) / 2_000 for part in range(2_000))


@dataclass(frozen=True)
class MonitorCost:
    """A monitor's own cost. cpu_percent: of one core while measuring; None: not known.

    interval_s: between readings; None: not at a rate. reading_ns: how long a reading took, waits for its
    source included; None: not known.
    """

    name: str
    interval_s: float | None
    cpu_percent: float | None
    reading_ns: float | None = None


def run_facts(bundle: Bundle) -> Facts:
    """The facts of all runs, by their names in About. Raises InputError."""
    (facts,) = bundle.records(_RUNS)
    monitors = tuple(MonitorCost(**row) for row in bundle.records(_MONITOR_COST))
    return {**facts, "load_points": tuple(facts["load_points"]), "monitors": monitors}


@dataclass(frozen=True)
class _Bursts:
    """Means and coefficients of variation, of all runs of an option together.

    A burst is CPU time until the thread waits for something, whether or not it lost its CPU meanwhile. A
    sleep ends when the thread is ready again, so that its wait for a CPU is no part of it.
    """

    count: int
    burst_us: float
    burst_cv: float
    sleep_us: float
    sleep_cv: float


def bursts(bundle: Bundle, option: str) -> _Bursts:
    """Of the server's threads in the phase scheduling-trace. Raises InputError without a trace."""
    rows = bundle.duckdb.execute(_HISTOGRAMS, [option]).fetchall()
    count = sum(row[0] for row in rows)
    if not count:
        raise InputError(
            f"{bundle.path} has no scheduling trace of a server under {option}",
            "run the study with --scheduling-trace, or name another option with --option",
        )
    where = f"{bundle.path}: table scheduling of option {option}"
    waits, slices, sleeps = (merged([row[place] for row in rows], where) for place in (1, 2, 3))
    pieces, _, piece_ns, _ = summary(slices, where)
    asleep_ns = summary(sleeps, where)[2] - summary(waits, where)[2]
    if asleep_ns <= 0:
        raise InputError(f"{where}: threads waited for a CPU for longer than they slept")
    return _Bursts(
        count=int(count),
        burst_us=pieces * piece_ns / count / 1e3,
        burst_cv=_variation(slices, where),
        sleep_us=asleep_ns / 1e3,
        sleep_cv=_variation(sleeps, where),
    )


def _variation(histogram: bytes, where: str) -> float:
    values = np.array(quantiles(histogram, _MIDDLES, where), dtype=np.float64)
    return float(values.std() / values.mean())


Rows = Sequence[Mapping[str, Any]]
_OPTIONS_MAX = 4  # baseline first; a page cannot show more options


@dataclass(frozen=True)
class Series:
    """Rows for charts, by name of the column; all optional. None: not available.

    Already reduced by the reader: a few thousand rows each, whatever the size of the bundle.

    throughput: option, t_s, run, tps. t_s: seconds of execution over all runs, one after another.
    cpu: run, option, t_s (as above), role (server, engine, monitors, idle ...), percent (of one core).
    gauges: option, t_s (since the start of measure), monitor, entity, metric, value, limit (NaN or
        absent: none), unit ('': a number of things), group (as declared): median over runs.
    counters: of the study's own queries: option, clients, monitor, series, counter, per_s, per_txn, unit,
        meaning: median over runs.
    statements: option, statement, per_s: geometric mean over runs and points, as estimates are.
    clients: option, clients, client, transactions: geometric mean over runs; of instances of a
        program, their scores stand as transactions (times in ns).
    priorities: option, clients, priority, seconds: of simulated threads that are weighed, running or
        waiting for a CPU, mean over runs. trace: option, thread, reason (`ran`, or why its priority
        changed), cpu, start_s, end_s (from the first), priority.
    latency: option, clients, quantile (0 to 1), ns: geometric mean over runs, as estimates are.
    latch_times: option, clients, kind (hold, wait), quantile, ns: geometric mean over runs.
    stacks: option, role, stack (folded, outermost first), us_per_txn: CPU time, of profiled runs.
    """

    throughput: Rows = ()
    cpu: Rows = ()
    gauges: Rows = ()
    counters: Rows = ()
    statements: Rows = ()
    clients: Rows = ()
    latency: Rows = ()
    latch_times: Rows = ()
    priorities: Rows = ()
    trace: Rows = ()
    stacks: Rows = ()


def read_series(bundle: Bundle, estimated: Sequence[int]) -> Series:
    """What the charts draw. estimated: the runs behind estimates, so that tables agree. Raises InputError."""
    workload, found, runs = bundle.study.workload, dict[str, Rows](), {"runs": list(estimated)}
    if hz := bundle.study.probes.profile_hz:
        found["stacks"] = bundle.records(queries.STACKS.format(us=1e6 / hz))
    if not workload.in_rounds and counts_instructions(bundle.environment):
        # a clock that counts instructions gives no time line
        return Series(**found)
    found |= {"gauges": gauges(bundle), "counters": _counters(bundle)}
    if workload.in_rounds:
        # a few rounds have no meaningful rate per second, and each query has its own chart
        return Series(**found)
    if isinstance(workload, ThreadsWorkload):
        options = ", ".join(f"'{label}'" for label in _traced_options(bundle))
        priorities = queries.PRIORITIES.format(scaled=workload.scaled, options=options)
        found["priorities"] = bundle.records(priorities)
        found["trace"] = bundle.records(queries.TRACE.format(options=options))
    if isinstance(workload, ProgramWorkload):
        scale = time_unit_ns(workload.score_unit) or 1
        scores = bundle.records(queries.COPIES, runs)
        found["clients"] = [{**row, "transactions": scale * row["transactions"]} for row in scores]
    else:
        found["clients"] = bundle.records(queries.CLIENTS, runs)
    return Series(
        **found,
        throughput=bundle.records(queries.THROUGHPUT),
        cpu=bundle.records(queries.CPU),
        statements=bundle.records(queries.STATEMENTS, runs),
        latency=bundle.records(queries.LATENCY, runs),
        latch_times=bundle.records(queries.LATCH_TIMES),
    )


def _counters(bundle: Bundle) -> Rows:
    """At the most clients, medians over runs; a counter that did not grow is left out."""
    if not (names := list(bundle.study.sql_monitors)):
        return ()
    declared = {(name, one.name): one for name in names for one in bundle.declared.get(name, ())}
    return [
        {**row, **_facts(declared.get((row["monitor"], row["counter"])))}
        for row in bundle.records(queries.COUNTERS, {"monitors": names})
    ]


def gauges(bundle: Bundle) -> Rows:
    """Gauges worth a chart, with units and groups. of_interval: a value is the mean since the last one."""
    charted = {
        (monitor, metric.chart, metric.name): metric
        for monitor, metrics in bundle.declared.items()
        for metric in metrics
        if metric.chart
    }
    wanted = [(*at, name) for *at, first in charted for name in (first, f"{first}_limit")]
    lists = {name: [row[i] for row in wanted] for i, name in enumerate(("monitors", "entities", "metrics"))}
    return [
        {**row, **_facts(charted[row["monitor"], row["entity"], row["metric"]])}
        for row in bundle.records(queries.GAUGES, lists)
    ]


def _facts(declared: DeclaredMetric | None) -> Facts:
    return {name: getattr(declared, name, "") for name in ("unit", "meaning", "of_interval", "group")}


def _traced_options(bundle: Bundle) -> list[str]:
    """The baseline, then options that differ from it in their table alone."""
    factor = table_factor(bundle.study)
    levels = {option["label"]: option["levels"] for option in bundle.head["options"]}
    baseline = bundle.head["baseline"]

    def alike(label: str) -> bool:
        return all(levels[label][name] == code for name, code in levels[baseline].items() if name != factor)

    others = [label for label in levels if label != baseline and alike(label)]
    return [baseline, *others][:_OPTIONS_MAX]
