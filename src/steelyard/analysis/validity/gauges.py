"""What fills, and what is not released: looked for in every gauge."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from steelyard.analysis.judgement import Notice
from steelyard.bundle.evidence import Evidence, grouped
from steelyard.quantities import percent, quantity, span_of

_FULL = 0.99
_KEPT = 0.9
_GRAVEST_FIRST = ("gauge-not-reclaimed", "gauge-full", "gauge-fills")
_GROWTH_THAT_COUNTS = 0.10  # of the level at the start; caches and heaps vary by less
_LEAST_BYTES = 1_000_000.0
_LEAST_PER_TXN = 0.001  # of things counted: three entries in 10,000 transactions are not the work's
_PRIVATE = "memory_private_bytes"
_NOT_THE_WORK_S = ("monitors", "engine")  # roles of the lab itself
# of gauges that no monitor declares, such as an engine's own
_STATES = ("_percent", "_ratio", "_ns", "_us", "_ms", "_s", "_per_s", "_tasks", "_load")


class _Gauge(NamedTuple):
    """One gauge in one run. growth: over all measure phases; kept, back: the parts of it that cool-down left
    and that disconnecting gave back; filled: highest over limit. grew: enough to matter; steady: in a line.
    """

    run: int
    start: float
    end: float
    limit: float | None
    growth: float
    kept: float
    back: float | None
    per_txn: float | None
    filled: float | None
    grew: bool
    steady: bool


_Gauges = Sequence[_Gauge]


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
        grown = [g for g in self.runs if g.grew] if self.held else []
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
        full = [g for g in series.runs if (g.filled or 0.0) >= _FULL]
        fills = [g for g in series.grown if g.steady]
        kept = [g for g in series.grown if g.kept >= _KEPT]
        for code, text, brief, seen in (
            ("gauge-not-reclaimed", _not_reclaimed, _kept_brief, kept),
            ("gauge-full", _full, _full_brief, full),
            ("gauge-fills", _fills, _fills_brief, fills),
        ):
            if seen:
                notice = Notice(code, text(series, seen), series.option, tuple(g.run for g in seen))
                found.append(GaugeFinding(notice, brief(series, seen)))
    return sorted(found, key=lambda finding: _GRAVEST_FIRST.index(finding.notice.code))


def _full(series: _Series, seen: _Gauges) -> str:
    reached = span_of([g.filled or 0.0 for g in seen], percent)
    limit = span_of([g.limit or 0.0 for g in seen], series.amount)
    return f"{series.title} reached {reached} of its limit of {limit}"


def _full_brief(series: _Series, seen: _Gauges) -> str:
    return f"{series.title} reached its limit of {series.amount(_median([g.limit or 0.0 for g in seen]))}"


def _fills(series: _Series, seen: _Gauges) -> str:
    per_txn = [g.per_txn for g in seen if g.per_txn is not None]
    each = f" {span_of(per_txn, series.amount)} per transaction" if len(per_txn) == len(seen) else ""
    start, end = _median([g.start for g in seen]), _median([g.end for g in seen])
    return (
        f"{series.title} grew{each}, steadily, from {series.amount(start)} to {series.amount(end)} in a run"
    )


def _fills_brief(series: _Series, seen: _Gauges) -> str:
    return f"{series.title} grew by {series.amount(_median([g.growth for g in seen]))} per run"


def _kept_brief(series: _Series, seen: _Gauges) -> str:
    kept = _median([g.kept for g in seen])
    # it may go on growing
    share = percent(kept) if kept < 0.995 else "all"
    return f"{_fills_brief(series, seen)} and kept {share} of it"


def _median(values: Sequence[float]) -> float:
    return float(np.median(values))


def _not_reclaimed(series: _Series, seen: _Gauges) -> str:
    growth = span_of([g.growth for g in seen], series.amount)
    kept = span_of([g.kept for g in seen], percent)
    text = f"{series.title} grew by {growth} while measuring and kept {kept} of it in cool-down"
    back = [g.back for g in seen if g.back is not None]
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
    ), grown as (
        select *, "end" - start as growth from gauges join runs using (run) join work using (run)
        where transactions > 0 or $recorded
    )
    select monitor, entity, metric, option, run, start, "end", "limit", growth,
        coalesce((cooled - start) / growth, 0), 1 - (gone - start) / growth, growth / nullif(transactions, 0),
        highest / nullif(greatest("limit", 0), 0),
        -- with more clients more memory is no finding; each client may hold one for a moment
        coalesce(len(clients) = 1 and growth > $share * abs(start) and if(suffix(metric, '_bytes'),
            growth >= $bytes, growth > greatest($per_txn * transactions, clients[1])), false) as grew,
        -- the ends are the extremes, the mean is near the middle
        grew and lowest >= start - 0.05 * growth and highest <= "end" + 0.05 * growth
            and (mean - start) / growth between 0.3 and 0.7
    from grown order by run, monitor, entity, metric
"""


def _all_series(evidence: Evidence) -> Iterator[_Series]:
    recorded = evidence.recorded
    rows = evidence.rows(
        _GAUGES, recorded=recorded, share=_GROWTH_THAT_COUNTS, bytes=_LEAST_BYTES, per_txn=_LEAST_PER_TXN
    )
    found = grouped(
        ((monitor, entity, metric, option), _Gauge(*values))
        for monitor, entity, metric, option, *values in rows
    )
    for (monitor, entity, metric, option), runs in found.items():
        lab_s_own = entity in _NOT_THE_WORK_S
        counted_apart = metric == "memory_bytes" and (monitor, entity, _PRIVATE, option) in found
        declared = evidence.declared.get(monitor, ())
        known = next((one for one in declared if one.covers(entity, metric)), None)
        name = "memory" if metric == _PRIVATE else metric.removesuffix("_bytes")
        yield _Series(
            title=f"{entity} {name}".replace("_", " "),
            unit="B" if metric.endswith("_bytes") else "",
            option=option,
            held=(known.fills if known else not metric.endswith(_STATES))
            and not (lab_s_own or counted_apart)
            # of a recording it is not declared which readings are amounts: those with a limit are
            and not (recorded and not any(gauge.limit is not None for gauge in runs)),
            runs=tuple(runs),
        )
