"""The server in short: pages found in its buffers and read into them, its latches, sleeps for them."""

from collections.abc import Sequence

from steelyard import quantities as fmt
from steelyard.analysis.judgement import Metric
from steelyard.analysis.judgement.latches import LatchRow
from steelyard.analysis.metrics.particular import ASLEEP, SLEEPS
from steelyard.bundle.evidence import grouped
from steelyard.report.presented import Presented
from steelyard.report.table import Column, Row, Table, plain_table

_OPTIONS_MAX = 8
# less is the catalogue and the like
_READS_PER_TXN_MIN = 0.01
_READS = "_read_per_txn"
_SLEEPS_PER_TXN_MIN = 0.01


def buffers(presented: Presented) -> Table | None:
    """At the most clients, one row per option.

    None where no option reads into its buffers, or there are many options: then the page has the costs.
    """
    judgement, about = presented.judgement, presented.about
    titles = {m.name: m.title for m in judgement.metrics if m.kind == "buffers"}
    found = [e for e in judgement.estimates if e.metric in titles]
    most = max((e.clients for e in found if e.clients is not None), default=0)
    levels = {(e.metric, e.option): e for e in found if e.clients in (most, None) and e.metric in titles}
    levels |= {(e.metric, e.option): e for e in found if e.clients == most}
    reads = [level.value for (metric, _), level in levels.items() if metric.endswith(_READS)]
    options = [row.label for row in presented.ranking]
    if len(options) > _OPTIONS_MAX or max(reads, default=0.0) < _READS_PER_TXN_MIN:
        return None
    at = f" at {about.count(most)}" if most else ""
    return plain_table(
        (f"  per {about.work_is}{at}", *titles.values()),
        (
            (f"  {option}", *(level.value if (level := levels.get((m, option))) else None for m in titles))
            for option in options
        ),
    )


def latches(presented: Presented) -> Table | None:
    """None where no latch was recorded."""
    latches, about = presented.judgement.latches, presented.about
    rows = [row for row in latches if not row.sleeps_only]
    if not rows:
        return None
    most = max(row.clients for row in rows)
    columns = (
        Column(f"  latch at {about.count(most)}", "name"),
        Column("misses/get", "misses_per_get", fmt.percent),
        Column("sleeps/miss", "sleeps_per_miss", fmt.percent),
        Column("hand-overs/s", "hand_overs_per_s"),
        Column("predicted gets/s", "predicted"),
    )
    return Table(columns, [_shown(row) for row in rows if row.clients == most])


def _shown(row: LatchRow) -> Row:
    measured, predicted = row.gets_per_s, row.predicted_gets_per_s
    text = None
    if measured and predicted is not None:
        text = f"{fmt.significant(predicted)}, {fmt.change(predicted / measured)}"
    return {**vars(row), "name": f"  {row.option}", "predicted": text}


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
    head = f"  sleeps at {about.count(most)}"
    return plain_table(
        (head, f"per {about.work_is}", "time asleep", "most of it for latch"),
        (
            (f"  {option}", sleeps, *_asleep(rows, _of(presented, option, most, ASLEEP)))
            for (option, rows), sleeps in zip(mine.items(), often, strict=True)
        ),
    )


def _of(presented: Presented, option: str, clients: int, metric: Metric) -> float:
    """The estimate of the costs, so that one metric reads alike in every sentence and sleeps."""
    mine = [e for e in presented.judgement.estimates if (e.option, e.metric) == (option, metric.name)]
    at = {estimate.clients: estimate.value for estimate in mine}
    return at.get(clients, at.get(None, 0.0))


def _asleep(rows: Sequence[LatchRow], total_us: float) -> tuple[str, str]:
    pooled = sum(row.wait_ns_per_txn or 0.0 for row in rows)
    if not pooled:
        return "0", ""
    first = max(rows, key=lambda row: row.wait_ns_per_txn or 0.0)
    share = fmt.percent((first.wait_ns_per_txn or 0.0) / pooled)
    return fmt.quantity(total_us, ASLEEP.unit.partition("/")[0]), f"{first.latch}, {share}"
