"""Tables of options: in the order of the ranking; as a matrix of factors, with each factor's own effect."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations

import numpy as np

from steelyard import quantities as fmt
from steelyard.analysis.judgement import Estimate, Metric
from steelyard.bundle.evidence import grouped
from steelyard.report.about import FactorFacts, Texts
from steelyard.report.presented import Presented
from steelyard.report.presented.words import heading, work_at_a_point
from steelyard.report.table import Cell, Column, Table, plain_table, ratio_of


def full_table(presented: Presented) -> Table:
    """For a page: every headline metric in a column of its own."""
    roles, over = presented.headlines, presented.over(", ", ", at ")
    columns = [Column("option", "label")]
    if roles.work:
        title = f"{_work_over_points(presented)} [95 % interval]"
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
        title = _work_over_points(presented, short=True)
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


def _work_over_points(presented: Presented, short: bool = False) -> str:
    """The heading of what stands for all load points: a rate at none of them. short: for a terminal."""
    work = work_at_a_point(presented.headlines.work)
    if not (over := presented.over()):
        return work + presented.over(at=" at ")
    if not short:
        return f"{presented.mean} over {over}"
    unit = {"TPS": "/s", "geomean": ""}.get(work, f" {work}")
    return f"mean{unit}, {over.replace(' to ', '–', 1)}"


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


def matrix(presented: Presented) -> Table | None:
    """A row per option of a recording with several factors and gaps; None of others."""
    judgement, about = presented.judgement, presented.about
    scores, factors = presented.headlines.scores, about.factors
    gaps = any(not judgement.level(m.name, option) for option in judgement.options for m in scores)
    if about.subject != "recording" or len(factors) < 2 or not gaps:
        return None
    rows = [
        [
            *(factor.levels[code] or code for factor in factors for code in [levels[factor.name]]),
            *(
                Cell(found.value, unit=metric.unit.removeprefix("1"))
                if (found := judgement.level(metric.name, option))
                else ""
                for metric in scores
            ),
        ]
        for option, levels in sorted(about.option_levels.items(), key=lambda one: _place(factors, one[1]))
    ]
    return plain_table([*(factor.name for factor in factors), *(metric.title for metric in scores)], rows)


def _place(factors: Sequence[FactorFacts], levels: Texts) -> list[int]:
    """The sort key of an option: its levels in the order of the study."""
    return [list(factor.levels).index(levels[factor.name]) for factor in factors]


def pairs(presented: Presented) -> Table | None:
    """How a figure changes where two options differ in one factor alone; None where there is no matrix."""
    judgement, about = presented.judgement, presented.about
    if matrix(presented) is None:
        return None
    names = {metric.name: metric.title for metric in presented.headlines.scores}
    estimates = sorted(
        (e for e in judgement.estimates if e.clients is None and e.metric in names),
        key=lambda e: _place(about.factors, about.option_levels[e.option]),
    )
    ratios = grouped(
        (
            (names[a.metric], factor.name, factor.levels[one] or one, factor.levels[other] or other),
            b.value / a.value,
        )
        for a, b in combinations(estimates, 2)
        for here, there in [(about.option_levels[a.option], about.option_levels[b.option])]
        for factor in about.factors
        for one, other in [(here[factor.name], there[factor.name])]
        if a.metric == b.metric
        and one != other
        and {**here, factor.name: other} == there
        and a.value
        and b.value
    )
    rows = [
        (
            title,
            factor,
            f"{one} to {other}",
            len(found),
            Cell(float(np.exp(np.mean(np.log(found))))),
            spread(found),
        )
        for (title, factor, one, other), found in ratios.items()
    ]
    head = ("figure", "factor alone", "change", "pairs", "ratio", "least, most")
    return plain_table(head, rows) if rows else None


def spread(ratios: list[float]) -> str:
    """The least and the largest."""
    return f"{min(ratios):.3g}, {max(ratios):.3g}" if len(ratios) > 1 else ""
