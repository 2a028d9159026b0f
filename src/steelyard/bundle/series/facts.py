"""Facts of a study's runs: their number, start, cost of the monitors; bursts and sleeps of a server's
threads.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from steelyard.bundle.evidence.histograms import merged, quantiles, summary
from steelyard.bundle.reader import Bundle
from steelyard.errors import InputError

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


def run_facts(bundle: Bundle) -> dict[str, Any]:
    """The facts of all runs, by their names in About. Raises InputError."""
    (facts,) = bundle.records(_RUNS)
    monitors = tuple(MonitorCost(**row) for row in bundle.records(_MONITOR_COST))
    return {**facts, "load_points": tuple(facts["load_points"]), "monitors": monitors}


class _Reader(Protocol):
    path: Path

    @property
    def duckdb(self) -> Any:
        """A connection in which every table is a view."""
        ...


@dataclass(frozen=True)
class Bursts:
    """Means and coefficients of variation, of all runs of an option together.

    A burst is CPU time until the thread waits for something, whether or not it lost its CPU meanwhile. A
    sleep ends when the thread is ready again, so that its wait for a CPU is no part of it.
    """

    count: int
    burst_us: float
    burst_cv: float
    sleep_us: float
    sleep_cv: float


def bursts(bundle: _Reader, option: str) -> Bursts:
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
    return Bursts(
        count=int(count),
        burst_us=pieces * piece_ns / count / 1e3,
        burst_cv=_variation(slices, where),
        sleep_us=asleep_ns / 1e3,
        sleep_cv=_variation(sleeps, where),
    )


def _variation(histogram: bytes, where: str) -> float:
    values = np.array(quantiles(histogram, _MIDDLES, where), dtype=np.float64)
    return float(values.std() / values.mean())
