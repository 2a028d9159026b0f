"""Latency by statement, time by query, scores of programs, figures of recordings, each with its ratio; and
the server in short: pages found in its buffers and read into them, its latches, sleeps for them.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from steelyard import quantities as fmt
from steelyard.analysis.judgement import Estimate, Metric, QueryRow, StatementLatency
from steelyard.analysis.judgement.latches import LatchRow
from steelyard.analysis.metrics.particular import ASLEEP, SLEEPS
from steelyard.analysis.metrics.programs import FURTHER
from steelyard.bundle.evidence import grouped
from steelyard.report.presented import Presented
from steelyard.report.presented.words import MARKS
from steelyard.report.table import Cell, Column, Row, Table, plain_table, ratio_of, time, whole
from steelyard.report.tables.options import matrix

_OPTIONS_MAX = 8
_ROWS_MAX = 60
_STATEMENTS_MAX = 16  # of more the terminal has whole transactions alone
_WHOLE = "transaction"
_COLUMNS = (
    Column("count", say=whole),
    Column("p99", "p99_ns", time),
    Column("p50", "p50_ns", time),
    Column("ratio of p50", "ratio"),
)
_OTHERS_MAX = 2


def statements(presented: Presented) -> Table | None:
    """At the most clients; None of a single statement, or of many options: then the page has them.

    Of many statements only kinds of transactions.
    """
    found, about = presented.judgement.statements, presented.about
    if not found or len(presented.judgement.options) > _OPTIONS_MAX:
        return None
    most = max(row.clients for row in found)
    rows = [row for row in found if row.clients == most]
    names = list(dict.fromkeys(row.statement for row in rows if row.statement != _WHOLE))
    if about.work_is == "statement":
        shown = names[: max(1, _ROWS_MAX // len(presented.judgement.options))]
    elif len(names) >= _STATEMENTS_MAX:
        shown = [name for name in names if name.partition(" ")[0] == _WHOLE]
    else:
        shown = names
    of_a_replay = about.work_is == "statement" and len(shown) < len(names)
    cut = f", {len(shown)} of {len(names)} statements" if of_a_replay else ""
    kept = [_row(presented, row, "  ") for row in rows if row.statement in (*shown, _WHOLE)]
    return Table((Column(f"  at {about.count(most)}{cut}", "name"), Column("option"), *_COLUMNS), kept)


def page_table(presented: Presented) -> Table | None:
    """The same at every load point and of all options."""
    found = presented.judgement.statements
    columns = Column("statement", "name"), Column("option"), Column(presented.about.points_are, "clients")
    return Table((*columns, *_COLUMNS), [_row(presented, row) for row in found]) if found else None


def _row(presented: Presented, found: StatementLatency, indent: str = "") -> Row:
    """The outcome stands before the ratio as a sign. The row of whole transactions is that of any work."""
    work, c = presented.about.work_is, found.comparison
    return {
        **vars(found),
        "name": indent + (f"any {work}" if found.statement == _WHOLE != work else found.statement),
        "ratio": f"{MARKS[c.standing]} {ratio_of(c)}" if c else "",
    }


def queries(presented: Presented) -> Table | None:
    """Of the power run, or what comes nearest to it: one row per query; None where there was none."""
    judgement = presented.judgement
    if not judgement.queries:
        return None
    fewest = min(row.clients for row in judgement.queries)
    by = {(row.query, row.option): row for row in judgement.queries if row.clients == fewest}
    others = [label for label in judgement.options if label != judgement.baseline][:_OTHERS_MAX]
    columns = [part for label in others for part in (label, "ratio")]
    rows: list[Sequence[Any]] = []
    for query in dict.fromkeys(name for name, _ in by):
        cells = [_time(by.get((query, judgement.baseline)))]
        mark = " "
        for label in others:
            row = by.get((query, label))
            found = row.comparison if row else None
            cells += [_time(row), ratio_of(found) if found else None]
            mark = MARKS[found.standing] if found and len(others) == 1 else mark
        rows.append((f"{mark} {query}", *cells))
    return plain_table((f"  {presented.about.count(fewest)}", judgement.baseline, *columns), rows)


def _time(row: QueryRow | None) -> Cell | None:
    return Cell(row.ns, unit="ns") if row else None


def of_programs(presented: Presented) -> Table | None:
    """One row per number of instances and option; None where no program was run."""
    judgement, about = presented.judgement, presented.about
    work = presented.headlines.work
    shown = presented.headlines.scores
    if work is None or not shown or about.subject == "recording":
        return None
    points = about.phases.clients
    against = {
        (c.metric, c.clients or points[0], c.option): c
        for c in judgement.comparisons
        if c.clients is not None or len(points) == 1
    }
    rows: list[Row] = []
    for instances in points:
        for option in judgement.options:
            at = instances, option
            found = {metric.name: against.get((metric.name, *at)) for metric in (work, *shown)}
            versus, missing = found[work.name], "baseline" if option == judgement.baseline else None
            rows.append(
                {
                    "name": f"{MARKS[versus.standing] if versus else '·'} {instances} × {option}",
                    "cpus": cpus.value if (cpus := judgement.level("cpus_used", option, instances)) else None,
                    **{metric.name: judgement.level(metric.name, option, instances) for metric in shown},
                    **{f"ratio of {name}": ratio_of(c) if c else missing for name, c in found.items()},
                }
            )
    further = [metric for metric in shown if metric.name.startswith(FURTHER)]
    columns = [
        Column("  instances × option", "name"),
        *(_column(metric) for metric in shown if metric not in further),
        Column("ratio", f"ratio of {work.name}"),
    ]
    for metric in further:
        columns += [_column(metric), Column(f"ratio of {metric.title}", f"ratio of {metric.name}")]
    return Table([*columns, Column("CPUs", "cpus")], rows)


def _column(metric: Metric) -> Column:
    return Column(_heading(metric), metric.name, partial(_interval, metric))


def _heading(metric: Metric) -> str:
    """`bops`, `bops/instance`, `run time`, `memory (MiB)`."""
    if metric.title.endswith(" per instance"):
        return f"{metric.unit}/instance"
    if metric.title == f"total {metric.unit}":
        return metric.unit
    return metric.title if metric.unit == "ns" else f"{metric.title} ({metric.unit})"


def _interval(metric: Metric, found: Estimate) -> str:
    if metric.unit == "ns":
        return fmt.interval(found.value, found.low, found.high, metric.unit)
    return fmt.thousands(found.value, found.low, found.high)


def of_source(presented: Presented) -> Table | None:
    """The figures that the source gives, and the same from its own tables; None where it states none."""
    columns = (
        Column("  claim of the source", "says"),
        Column("published"),
        Column("computed"),
        Column("check"),
        Column("remark"),
    )
    found = presented.judgement.claims
    return Table(columns, [{**vars(claim), "says": f"  {claim.says}"} for claim in found]) if found else None


def of_files(presented: Presented) -> Table | None:
    """One row per figure and option, over all load points; None where nothing else was recorded."""
    judgement = presented.judgement
    if presented.about.subject != "recording" or matrix(presented):
        return None
    against = {(c.metric, c.option): c for c in judgement.comparisons if c.clients is None}
    rows = [
        {
            "figure": f"{MARKS[found.standing] if found else '·'} {metric.title}",
            "option": option,
            "value": Cell(estimate.value, estimate.low, estimate.high, metric.unit.removeprefix("1")),
            "ratio": ratio_of(found) if found else "baseline" if option == judgement.baseline else None,
        }
        for metric in presented.headlines.scores
        if metric != presented.headlines.work
        for option in judgement.options
        for found in [against.get((metric.name, option))]
        if (estimate := judgement.level(metric.name, option))
    ]
    columns = (Column("  figure", "figure"), *map(Column, ("option", "value", "ratio")))
    return Table(columns, rows) if rows else None


# less is the catalogue and the like
_READS_PER_TXN_MIN = 0.01
_READS = "_read_per_txn"
_SLEEPS_PER_TXN_MIN = 0.01


def buffers(presented: Presented) -> Table | None:
    """A row per option at the most clients; None: no option reads into its buffers, or there are many."""
    judgement, about = presented.judgement, presented.about
    titles = {m.name: m.title for m in judgement.metrics if m.kind == "buffers"}
    most = max((e.clients or 0 for e in judgement.estimates if e.metric in titles), default=0)
    options = [row.label for row in presented.ranking]
    levels = {option: [judgement.level(m, option, most) for m in titles] for option in options}
    reads = [e.value for mine in levels.values() for e in mine if e and e.metric.endswith(_READS)]
    if len(options) > _OPTIONS_MAX or max(reads, default=0.0) < _READS_PER_TXN_MIN:
        return None
    at = f" at {about.count(most)}" if most else ""
    return plain_table(
        (f"  per {about.work_is}{at}", *titles.values()),
        ((f"  {option}", *(level and level.value for level in mine)) for option, mine in levels.items()),
    )


def latches(presented: Presented) -> Table | None:
    """None where no latch was recorded."""
    rows = [row for row in presented.judgement.latches if not row.sleeps_only]
    if not rows:
        return None
    most = max(row.clients for row in rows)
    columns = (
        Column(f"  latch at {presented.about.count(most)}", "name"),
        Column("misses/get", "misses_per_get", fmt.percent),
        Column("sleeps/miss", "sleeps_per_miss", fmt.percent),
        Column("hand-overs/s", "hand_overs_per_s"),
        Column("predicted gets/s", "predicted"),
    )
    shown = [row for row in rows if row.clients == most]
    several = len(shown) > len({row.option for row in shown})
    return Table(columns, [_shown(row, several) for row in shown])


def _shown(row: LatchRow, several: bool) -> Row:
    measured, predicted = row.gets_per_s, row.predicted_gets_per_s
    text = None
    if measured and predicted is not None:
        text = f"{fmt.significant(predicted)}, {fmt.change(predicted / measured)}"
    name = f"  {row.option}, {row.latch}" if several else f"  {row.option}"
    return {**vars(row), "name": name, "predicted": text}


def sleeps(presented: Presented) -> Table | None:
    """Of a live server, whose sleeps alone are seen: one row per option, with the latch it slept for longest.

    None where hardly anybody slept, or there are many options: then the report has them.
    """
    latches, about = presented.judgement.latches, presented.about
    most = max((row.clients for row in latches), default=0)
    mine = grouped((row.option, row) for row in latches if row.sleeps_only and row.clients == most)
    often = [_of(presented, option, most, SLEEPS) for option in mine]
    if len(mine) > _OPTIONS_MAX or max(often, default=0.0) < _SLEEPS_PER_TXN_MIN:
        return None
    return plain_table(
        (f"  sleeps at {about.count(most)}", f"per {about.work_is}", "time asleep", "most of it for latch"),
        (
            (f"  {option}", sleeps, *_asleep(rows, _of(presented, option, most, ASLEEP)))
            for (option, rows), sleeps in zip(mine.items(), often, strict=True)
        ),
    )


def _of(presented: Presented, option: str, clients: int, metric: Metric) -> float:
    """The estimate of the costs, so that one metric reads alike in every sentence and sleeps."""
    found = presented.judgement.level(metric.name, option, clients)
    return found.value if found else 0.0


def _asleep(rows: Sequence[LatchRow], total_us: float) -> tuple[str, str]:
    pooled = sum(row.wait_ns_per_txn or 0.0 for row in rows)
    if not pooled:
        return "0", ""
    first = max(rows, key=lambda row: row.wait_ns_per_txn or 0.0)
    share = fmt.percent((first.wait_ns_per_txn or 0.0) / pooled)
    return fmt.quantity(total_us, ASLEEP.unit.partition("/")[0]), f"{first.latch}, {share}"
