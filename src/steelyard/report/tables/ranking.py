"""The table of options: one row per option in the order of the ranking; short for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Estimate, Metric
from steelyard.report.presented.headings import heading, work_over_points
from steelyard.report.presented.presented import Presented
from steelyard.report.presented.ranking import Row
from steelyard.report.table import Table, plain_table

_Pair = tuple[Metric, Estimate | None]


def table(presented: Presented) -> Table:
    """For a page: every headline metric in a column of its own."""
    roles = presented.headlines
    head = ["option"]
    if roles.work:
        head.append(f"{work_over_points(roles.work, presented.about)} [95 % interval]")
        head += ["ratio to the baseline"] if presented.compared and not roles.latency else []
    over = presented.about.over(", ")
    if roles.cpu:
        head.append(f"{heading(roles.cpu)}{over}")
    head += [f"{name}{over}" for name, metric in (("p50", roles.p50), ("p99", roles.p99)) if metric]
    if roles.latency and presented.compared:
        head.append(f"ratio of {roles.latency.title} to the baseline")
    return plain_table(head, (_cells(presented, row) for row in presented.ranking))


def _cells(presented: Presented, row: Row) -> tuple[str, ...]:
    roles = presented.headlines
    pairs = _measured((roles.cpu, row.cpu), (roles.p50, row.p50), (roles.p99, row.p99))
    return (
        row.label,
        *([_work(roles.work, row.work, fmt.interval)] if roles.work else []),
        *([_ratio(row)] if presented.compared and roles.work and not roles.latency else []),
        *(fmt.quantity(fit.value, metric.unit) if fit else fmt.MISSING for metric, fit in pairs),
        *([_ratio(row)] if presented.compared and roles.latency else []),
    )


def short_table(presented: Presented) -> Table:
    """For 80 columns: rounded to thousands, both latencies in one column."""
    roles = presented.headlines
    head = ["option"]
    if roles.work:
        head.append(work_over_points(roles.work, presented.about, short=True))
        head += ["ratio"] if presented.compared and not roles.latency else []
    if roles.cpu:
        head.append(f"CPU/{roles.cpu.unit.partition('/')[2]}")
    if tails := [name for name, metric in (("p50", roles.p50), ("p99", roles.p99)) if metric]:
        head.append("/".join(tails))
    if roles.latency and presented.compared:
        head.append(f"ratio of {roles.latency.title.rpartition(' ')[2]}")
    return plain_table(head, (_short_cells(presented, row) for row in presented.ranking))


def _short_cells(presented: Presented, row: Row) -> tuple[str, ...]:
    roles = presented.headlines
    cells = [row.label]
    if roles.work:
        cells.append(_work(roles.work, row.work, fmt.thousands))
        cells += [_ratio(row)] if presented.compared and not roles.latency else []
    if roles.cpu:
        cells.append(fmt.quantity(row.cpu.value, roles.cpu.unit) if row.cpu else fmt.MISSING)
    if tails := _measured((roles.p50, row.p50), (roles.p99, row.p99)):
        cells.append(_side_by_side(tails))
    cells += [_ratio(row)] if presented.compared and roles.latency else []
    return tuple(cells)


def _measured(*pairs: tuple[Metric | None, Estimate | None]) -> list[_Pair]:
    return [(metric, fit) for metric, fit in pairs if metric]


def _work(metric: Metric, fit: Estimate | None, rate: Callable[[float, float, float], str]) -> str:
    """The work done: with its unit where it is a time, as `rate` has it where it is none."""
    if fit is None:
        return fmt.MISSING
    if metric.better == "lower":
        return fmt.interval(fit.value, fit.low, fit.high, metric.unit)
    return rate(fit.value, fit.low, fit.high)


def _ratio(row: Row) -> str:
    if item := row.comparison:
        return fmt.ratio(item.ratio, item.low, item.high)
    return "baseline" if row.is_baseline else fmt.MISSING


def _side_by_side(pairs: Sequence[_Pair]) -> str:
    """`161/402 µs`; `134 µs/406 ms` where one unit does not suit both."""
    cells = [fmt.quantity(fit.value if fit else float("nan"), metric.unit) for metric, fit in pairs]
    units = {cell.partition(" ")[2] for cell in cells if cell != fmt.MISSING}
    if len(units) > 1:
        return "/".join(cells)
    return fmt.with_unit("/".join(cell.partition(" ")[0] for cell in cells), "".join(units))
