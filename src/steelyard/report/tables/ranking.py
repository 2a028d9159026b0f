"""The table of options: one row per option in the order of the ranking; short for a terminal."""

from collections.abc import Callable, Sequence
from functools import partial

from steelyard import quantities as fmt
from steelyard.analysis.judgement import Estimate, Metric
from steelyard.report.presented import Presented
from steelyard.report.presented.words import heading, work_over_points
from steelyard.report.table import Column, Table, ratio_of


def table(presented: Presented) -> Table:
    """For a page: every headline metric in a column of its own."""
    roles, over = presented.headlines, presented.about.over(", ")
    columns = [Column("option", "label")]
    if roles.work:
        title = f"{work_over_points(roles.work, presented.about)} [95 % interval]"
        columns.append(Column(title, "work", partial(_work, roles.work, fmt.interval)))
    measured = {"cpu": heading(roles.cpu) if roles.cpu else "", "p50": "p50", "p99": "p99"}
    for role, title in measured.items():
        if metric := getattr(roles, role):
            columns.append(Column(f"{title}{over}", role, partial(_quantity, metric)))
    of = f"ratio of {roles.latency.title} to the baseline" if roles.latency else "ratio to the baseline"
    return _with_ratio(presented, columns, of)


def short_table(presented: Presented) -> Table:
    """For 80 columns: rounded to thousands, both latencies in one column."""
    roles = presented.headlines
    columns = [Column("option", "label")]
    if roles.work:
        title = work_over_points(roles.work, presented.about, short=True)
        columns.append(Column(title, "work", partial(_work, roles.work, fmt.thousands)))
    if roles.cpu:
        per = roles.cpu.unit.partition("/")[2]
        columns.append(Column(f"CPU/{per}", "cpu", partial(_quantity, roles.cpu)))
    tails = {name: metric for name, metric in (("p50", roles.p50), ("p99", roles.p99)) if metric}
    if tails:
        columns.append(Column("/".join(tails), "tails", partial(_side_by_side, list(tails.values()))))
    return _with_ratio(
        presented, columns, f"ratio of {roles.latency.title.rpartition(' ')[2]}" if roles.latency else "ratio"
    )


def _with_ratio(presented: Presented, columns: list[Column], title: str) -> Table:
    """With the ratio to the baseline after the metric that it is of."""
    roles = presented.headlines
    if presented.compared and (roles.latency or roles.work):
        columns.insert(len(columns) if roles.latency else 2, Column(title, "ratio"))
    rows = [
        {
            **vars(row),
            "tails": [fit for role, fit in (("p50", row.p50), ("p99", row.p99)) if getattr(roles, role)],
            "ratio": ratio_of(item) if (item := row.comparison) else "baseline" if row.is_baseline else None,
        }
        for row in presented.ranking
    ]
    return Table(columns, rows)


def _quantity(metric: Metric, fit: Estimate) -> str:
    return fmt.quantity(fit.value, metric.unit)


def _work(metric: Metric, rate: Callable[[float, float, float], str], fit: Estimate) -> str:
    """The work done: with its unit where it is a time, as `rate` has it where it is none."""
    if metric.better == "lower":
        return fmt.interval(fit.value, fit.low, fit.high, metric.unit)
    return rate(fit.value, fit.low, fit.high)


def _side_by_side(metrics: Sequence[Metric], fits: Sequence[Estimate | None]) -> str:
    """`161/402 µs`; `134 µs/406 ms` where one unit does not suit both."""
    pairs = zip(metrics, fits, strict=True)
    cells = [fmt.quantity(fit.value if fit else float("nan"), metric.unit) for metric, fit in pairs]
    units = {cell.partition(" ")[2] for cell in cells if cell != fmt.MISSING}
    if len(units) > 1:
        return "/".join(cells)
    return fmt.with_unit("/".join(cell.partition(" ")[0] for cell in cells), "".join(units))
