"""Records of the kernel's probes, reduced by SQL for analysis and charts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np

from steelyard.bundle.evidence.evidence import Columns, Probed
from steelyard.bundle.evidence.histograms import merged, quantiles, summary

_FUNCTIONS = """
    select p.run, p.role, list_last(string_split(p.stack, ';')) as function, sum(p.samples)::DOUBLE as samples
    from profile p semi join used_runs using (run) group by p.run, p.role, function
    order by p.run, p.role, samples desc, function
"""

_LOCKS = """
    select l.run, l.role, l.lock, l.type, l.call_site, sum(l.distinct_locks)::DOUBLE as distinct_locks,
        sum(l.acquisitions)::DOUBLE as acquisitions, sum(l.contended)::DOUBLE as contended,
        sum(l.wait_total_ns)::DOUBLE as wait_total_ns, max(l.wait_max_ns)::DOUBLE as wait_max_ns,
        max(l.wait_cpu_percent) as wait_cpu_percent, max(l.utilisation_percent) as utilisation_percent,
        max(l.hold_mean_ns) as hold_mean_ns, max(l.hold_max_ns) as hold_max_ns
    from locks l semi join used_runs using (run) group by l.run, l.role, l.lock, l.type, l.call_site
    order by l.run, wait_total_ns desc
"""

_SCHEDULING = """
    select u.option, s.role, sum(s.seconds) as seconds, sum(s.voluntary) as voluntary,
        sum(s.involuntary) as involuntary, sum(s.migrations) as migrations,
        list(s.run_queue_histogram) as run_queue, list(s.slice_histogram) as slice,
        list(s.off_cpu_histogram) as off_cpu
    from scheduling s join (select run, option from used_runs) u using (run)
    group by u.option, s.role order by u.option, s.role
"""

_STACKS = """
    with chosen as (select run, option from used_runs where run in (select run from profile)),
    work as (
        select c.option, sum(t.count) as done from throughput t join chosen c using (run)
        where t.statement = 'transaction' and coalesce(t.second, 0) >= 0 group by c.option
    )
    select c.option, p.role, p.stack, sum(p.samples) * {us}::DOUBLE / any_value(w.done) as us_per_txn
    from profile p join chosen c using (run) join work w on w.option = c.option
    where w.done > 0 group by c.option, p.role, p.stack order by c.option, p.role, p.stack
"""

QUANTILES = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)


class _Reader(Protocol):
    path: Path
    environment: dict[str, Any]

    @property
    def duckdb(self) -> Any:
        """A connection in which every table is a view."""
        ...

    def columns(self, query: str) -> Columns:
        """The result of a query."""
        ...


def probed(bundle: _Reader) -> Probed:
    """For the analysis."""
    cpus = bundle.environment.get("cpu", {}).get("cpus_online") or 0
    return Probed(bundle.columns(_FUNCTIONS), bundle.columns(_LOCKS), _scheduling(bundle), cpus)


def stacks(bundle: _Reader, profile_hz: int) -> Columns:
    """Folded stacks: option, role, stack, us_per_txn (CPU time, over all its runs)."""
    return bundle.columns(_STACKS.format(us=1e6 / profile_hz)) if profile_hz else {}


def _scheduling(bundle: _Reader) -> Columns:
    """Histograms of all runs of an option together, as quantiles."""
    found: dict[str, list[Any]] = {
        name: []
        for name in (
            *("option", "role", "kind", "seconds", "voluntary", "involuntary", "migrations"),
            *("quantile", "ns", "count"),
        )
    }
    for option, role, seconds, voluntary, involuntary, migrations, *kinds in bundle.duckdb.execute(
        _SCHEDULING
    ).fetchall():
        for kind, histograms in zip(("run queue", "slice", "off CPU"), kinds, strict=True):
            where = f"{bundle.path}: table scheduling of option {option}"
            whole = merged(histograms, where)
            count = summary(whole, where)[0]
            values = quantiles(whole, QUANTILES, where) if count else ()
            for quantile, ns in zip(QUANTILES, values, strict=False):
                row = (option, role, kind, seconds, voluntary, involuntary, migrations, quantile, ns, count)
                for name, value in zip(found, row, strict=True):
                    found[name].append(value)
    return {name: np.asarray(values) for name, values in found.items()}
