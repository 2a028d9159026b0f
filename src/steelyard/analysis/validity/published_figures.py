"""Figures that a published source derived from its own counters, computed again.

A figure is wrong where it differs by more than one unit of the last place that the source gives.
Such slips are mostly a wrong row: where the figure is that of another point, the notice names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.analysis.judgement.latches import LatchRow
from steelyard.analysis.judgement.results import Notice
from steelyard.analysis.judgement.scaling import Scaling
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import listed, significant
from steelyard.study.workloads.workload import Workload

_TITLES = {
    "linear_percent": "% of linear",
    "misses_per_get_percent": "% misses per get",
    "sleeps_per_miss_percent": "% sleeps per miss",
    "gets_per_txn": "gets per transaction",
}
_Truth = Mapping[tuple[str, str], Mapping[int, float]]  # (option, figure): value by number of clients


def published_figure_notices(
    evidence: Evidence, scaling: Sequence[Scaling], latches: Sequence[LatchRow]
) -> list[Notice]:
    """One notice per point whose published figures do not follow from its counters."""
    truth = _truth(scaling, latches)
    query = """
        select run, option, clients, figure, value, decimals from claims join points using (run, point)
        order by claims.rowid
    """
    wrong: dict[tuple[int, str, int, int | None], list[tuple[str, str, str]]] = {}
    for run, option, clients, figure, value, decimals in evidence.rows(query):
        known = truth.get((option, figure), {})
        # one unit, not half of one: the source rounded its inputs too
        if clients not in known or abs(known[clients] - value) <= 10.0**-decimals:
            continue
        rows = [n for n, x in known.items() if abs(x - value) <= 0.5 * 10.0**-decimals]
        key = run, option, clients, rows[0] if len(rows) == 1 else None
        given = f"{value:.{decimals}f} {_TITLES[figure]}"
        wrong.setdefault(key, []).append((given, significant(known[clients]), f"{value:.{decimals}f}"))
    return [_notice(key, found, evidence.workload) for key, found in wrong.items()]


def _notice(
    key: tuple[int, str, int, int | None], found: Sequence[tuple[str, str, str]], workload: Workload
) -> Notice:
    run, option, clients, other = key
    given, right, values = (listed([part[i] for part in found]) for i in range(3))
    are = "is that" if len(found) == 1 else "are those"
    row = "" if other is None else f"; {values} {are} of {workload.counted(other)}"
    text = f"the source gives {given} at {workload.counted(clients)}, but its own counters give {right}{row}"
    return Notice("published-figure-differs", text, option, (run,))


def _truth(scaling: Sequence[Scaling], latches: Sequence[LatchRow]) -> _Truth:
    found: dict[tuple[str, str], dict[int, float]] = {}
    for one in scaling:
        for point in one.points:
            found.setdefault((one.option, "linear_percent"), {})[point.clients] = 100 * point.linear
    for row in latches:
        for figure, value, scale in (
            ("misses_per_get_percent", row.misses_per_get, 100),
            ("sleeps_per_miss_percent", row.sleeps_per_miss, 100),
            ("gets_per_txn", row.gets_per_txn, 1),
        ):
            if value is not None:
                found.setdefault((row.option, figure), {})[row.clients] = scale * value
    return found
