"""Figures that a published source derived from its own counters, computed again.

A figure is wrong where it differs by more than one unit of the last place that the source gives.
Such slips are mostly a wrong row: where the figure is that of another point, the notice names it.
"""

from collections.abc import Sequence

from steelyard.analysis.judgement import Notice
from steelyard.analysis.judgement.latches import LatchRow
from steelyard.analysis.judgement.scaling import Scaling
from steelyard.bundle.evidence import Evidence, grouped
from steelyard.quantities import listed, significant
from steelyard.study.workloads.workload import Workload

_TITLES = {
    "linear_percent": "% of linear",
    "misses_per_get_percent": "% misses per get",
    "sleeps_per_miss_percent": "% sleeps per miss",
    "gets_per_txn": "gets per transaction",
}


def published_figure_notices(
    evidence: Evidence, scaling: Sequence[Scaling], latches: Sequence[LatchRow]
) -> list[Notice]:
    """One notice per point whose published figures do not follow from its counters."""
    truth: dict[tuple[str, str, int], float] = {
        (one.option, "linear_percent", point.clients): 100 * point.linear
        for one in scaling
        for point in one.points
    } | {
        (row.option, figure, row.clients): scale * value
        for row in latches
        for figure, value, scale in (
            ("misses_per_get_percent", row.misses_per_get, 100),
            ("sleeps_per_miss_percent", row.sleeps_per_miss, 100),
            ("gets_per_txn", row.gets_per_txn, 1),
        )
        if value is not None
    }
    query = """
        select run, option, clients, figure, value, decimals from claims join points using (run, point)
        order by claims.rowid
    """
    wrong = grouped(
        (
            (run, option, clients, rows[0] if len(rows) == 1 else None),
            (f"{text} {_TITLES[figure]}", significant(known), text),
        )
        for run, option, clients, figure, value, decimals in evidence.rows(query)
        for known in [truth.get((option, figure, clients), float(value))]
        # one unit, not half of one: the source rounded its inputs too
        if abs(known - value) > 10.0**-decimals
        for text in [f"{value:.{decimals}f}"]
        for rows in [
            [
                n
                for (*at, n), x in truth.items()
                if at == [option, figure] and abs(x - value) <= 0.5 * 10.0**-decimals
            ]
        ]
    )
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
