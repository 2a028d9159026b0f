"""What fills, and what is not released: looked for in every gauge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.judgement.results import Notice
from steelyard.bundle.evidence.evidence import Evidence, grouped
from steelyard.declared_metrics import DeclaredMetric
from steelyard.quantities import percent, quantity, span_of

FULL = 0.99
KEPT = 0.9
_GRAVEST_FIRST = ("gauge-not-reclaimed", "gauge-full", "gauge-fills")
_GROWTH_THAT_COUNTS = 0.10  # of the level at the start; caches and heaps vary by less
_LEAST_BYTES = 1_000_000.0
_LEAST_PER_TXN = 0.001  # of things counted: three entries in 10,000 transactions are not the work's
_PRIVATE = "memory_private_bytes"
_NOT_THE_WORK_S = ("monitors", "engine")  # roles of the lab itself
# of gauges that no monitor declares, such as an engine's own
_STATES = ("_percent", "_ratio", "_ns", "_us", "_ms", "_s", "_per_s", "_tasks", "_load")


@dataclass(frozen=True)
class _Gauge:
    """One gauge in one run."""

    run: int
    start: float
    end: float
    cooled: float
    gone: float
    lowest: float
    highest: float
    mean: float
    limit: float
    transactions: float
    clients: frozenset[int]

    @property
    def growth(self) -> float:
        """Over all measure phases."""
        return self.end - self.start

    def grew(self, in_bytes: bool) -> bool:
        """Whether by enough to matter. False where the number of clients rose in between."""
        if len(self.clients) > 1 or not self.growth > _GROWTH_THAT_COUNTS * abs(self.start):
            return False
        if in_bytes:
            return self.growth >= _LEAST_BYTES
        # each client may hold one for a moment
        return self.growth > max(_LEAST_PER_TXN * self.transactions, *self.clients)

    @property
    def steady(self) -> bool:
        """Whether it rose along a line: ends are the extremes, the mean is near the middle."""
        slack = 0.05 * self.growth
        ends = self.lowest >= self.start - slack and self.highest <= self.end + slack
        return ends and 0.3 <= (self.mean - self.start) / self.growth <= 0.7


@dataclass(frozen=True)
class _Series:
    """One gauge under one option. unit: "B", or "" where things are counted."""

    title: str
    unit: str
    option: str
    held: bool  # an amount that work can fill, no state of the moment
    runs: tuple[_Gauge, ...]

    @property
    def grown(self) -> list[_Gauge]:
        """Runs in which it grew by enough to matter; none unless half of them show it."""
        grown = [g for g in self.runs if g.grew(self.unit == "B")] if self.held else []
        return grown if 2 * len(grown) >= len(self.runs) else []

    def amount(self, value: float) -> str:
        """A value with the gauge's unit."""
        return quantity(value, self.unit)


@dataclass(frozen=True)
class GaugeFinding:
    """What a gauge shows under one option. brief: without a range, for the head of a verdict."""

    notice: Notice
    brief: str

    @property
    def severe(self) -> bool:
        """Whether the gauge reached its limit, or kept what it took."""
        return self.notice.code != _GRAVEST_FIRST[-1]


def gauge_findings(evidence: Evidence) -> list[GaugeFinding]:
    """gauge-not-reclaimed, gauge-full and gauge-fills, one finding per gauge and option, the gravest first.

    Growth is searched where the number of clients stays the same within a run (with more clients
    more memory is no finding), and reported when at least half of an option's runs show it.
    """
    found: list[GaugeFinding] = []
    for series in _all_series(evidence):
        full = [g for g in series.runs if g.limit > 0 and g.highest >= FULL * g.limit]
        fills = [g for g in series.grown if g.steady]
        kept = [g for g in series.grown if g.cooled - g.start >= KEPT * g.growth]
        for code, text, brief, seen in (
            ("gauge-not-reclaimed", _not_reclaimed, _kept_brief, kept),
            ("gauge-full", _full, _full_brief, full),
            ("gauge-fills", _fills, _fills_brief, fills),
        ):
            if seen:
                notice = Notice(code, text(series, seen), series.option, tuple(g.run for g in seen))
                found.append(GaugeFinding(notice, brief(series, seen)))
    return sorted(found, key=lambda finding: _GRAVEST_FIRST.index(finding.notice.code))


def _full(series: _Series, seen: Sequence[_Gauge]) -> str:
    reached = span_of([g.highest / g.limit for g in seen], percent)
    limit = span_of([g.limit for g in seen], series.amount)
    return f"{series.title} reached {reached} of its limit of {limit}"


def _full_brief(series: _Series, seen: Sequence[_Gauge]) -> str:
    return f"{series.title} reached its limit of {series.amount(_median([g.limit for g in seen]))}"


def _fills(series: _Series, seen: Sequence[_Gauge]) -> str:
    counted = all(g.transactions > 0 for g in seen)
    per_txn = span_of([g.growth / g.transactions for g in seen], series.amount) if counted else ""
    start, end = (_median([getattr(g, at) for g in seen]) for at in ("start", "end"))
    return (
        f"{series.title} grew{f' {per_txn} per transaction' if counted else ''}, steadily, from"
        f" {series.amount(start)} to {series.amount(end)} in a run"
    )


def _fills_brief(series: _Series, seen: Sequence[_Gauge]) -> str:
    return f"{series.title} grew by {series.amount(_median([g.growth for g in seen]))} per run"


def _kept_brief(series: _Series, seen: Sequence[_Gauge]) -> str:
    kept = _median([(g.cooled - g.start) / g.growth for g in seen])
    # it may go on growing
    share = percent(kept) if kept < 0.995 else "all"
    return f"{_fills_brief(series, seen)} and kept {share} of it"


def _median(values: Sequence[float]) -> float:
    return float(np.median(values))


def _not_reclaimed(series: _Series, seen: Sequence[_Gauge]) -> str:
    growth = span_of([g.growth for g in seen], series.amount)
    kept = span_of([(g.cooled - g.start) / g.growth for g in seen], percent)
    text = f"{series.title} grew by {growth} while measuring and kept {kept} of it in cool-down"
    back = [1 - (g.gone - g.start) / g.growth for g in seen if np.isfinite(g.gone)]
    if not back:
        return f"{text}; what disconnecting gives back was not measured"
    if min(back) >= 0.5:
        return f"{text}; disconnecting gave {span_of([min(b, 1.0) for b in back], percent)} of it back"
    if max(back) < 0.5:
        return f"{text}; disconnecting did not give it back either"
    return f"{text}; disconnecting gave it back in some runs only"


_GAUGES = """
    with work as (
        select run, sum(transactions) as transactions, list(distinct clients) as clients
        from points group by run
    )
    select monitor, entity, metric, option, run,
        coalesce(columns(['start', 'end', 'cooled', 'gone', 'lowest', 'highest', 'mean', 'limit']), 'nan'),
        transactions, clients
    from gauges join runs using (run) join work using (run) where transactions > 0 or $recorded
    order by run, monitor, entity, metric
"""


def _all_series(evidence: Evidence) -> Iterator[_Series]:
    recorded = evidence.recorded
    found = grouped(
        ((monitor, entity, metric, option), _Gauge(*values, clients=frozenset(clients)))
        for monitor, entity, metric, option, *values, clients in evidence.rows(_GAUGES, recorded=recorded)
    )
    for (monitor, entity, metric, option), runs in found.items():
        lab_s_own = entity in _NOT_THE_WORK_S
        counted_apart = metric == "memory_bytes" and (monitor, entity, _PRIVATE, option) in found
        name = "memory" if metric == _PRIVATE else metric.removesuffix("_bytes")
        yield _Series(
            title=f"{entity} {name}".replace("_", " "),
            unit="B" if metric.endswith("_bytes") else "",
            option=option,
            held=_is_amount(evidence.declared.get(monitor, ()), entity, metric)
            and not (lab_s_own or counted_apart)
            # of a recording it is not declared which readings are amounts: those with a limit are
            and not (recorded and not any(np.isfinite(gauge.limit) for gauge in runs)),
            runs=tuple(runs),
        )


def _is_amount(declared: Sequence[DeclaredMetric], entity: str, metric: str) -> bool:
    """Whether work can fill it."""
    found = next((known for known in declared if known.covers(entity, metric)), None)
    return found.fills if found else not metric.endswith(_STATES)
