"""Waits in the kernel: the lock table, laid out as lockmeter does; how the scheduler treated each role."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard import quantities as fmt
from steelyard.analysis.judgement.latches import LockRow
from steelyard.analysis.kernel import FOREIGN, TOTAL
from steelyard.report.charts.figure import Figure, of_tables
from steelyard.report.presented import Presented
from steelyard.report.table import Column, Row, Table, difference, table_of, whole

_Keyed = Mapping[str, Mapping[Any, Row]]
_ROWS_MAX = 20
_LEAST = 0.005  # of all waits; what is less is in the bundle
_OPTIONS_MAX = 12
_ALWAYS = 7
_INDENT = "\u00a0\u00a0\u00a0"
_SIDE = ("contended_per_txn", "wait", "wait_us_per_txn")
_NONE = {**dict.fromkeys(_SIDE, "0"), "wait": "", "us": 0.0}
_RANK = {TOTAL: -1, FOREIGN: 1}
_OURS = ("server", "engine", "monitors", "kernel")


def keyed(tables: Mapping[str, Table], *fields: str) -> _Keyed:
    """The rows of each option by the values of these fields."""
    return {
        option: {tuple(row[f] for f in fields): row for row in mine.data} for option, mine in tables.items()
    }


def longest(found: _Keyed) -> dict[Any, float]:
    """The time of each key, its `us`, under the option that spent more."""
    return {
        key: max(rows[key]["us"] for rows in found.values() if key in rows)
        for rows in found.values()
        for key in rows
    }


def beside(
    first: Iterable[Column], each: Sequence[Column], found: _Keyed, keys: Iterable[Any], none: Row
) -> Table:
    """A row per key: first columns, columns of each option, and how much longer the second one spent.

    none: what an option has that has no such row.
    """
    rows: list[Row] = []
    for key in keys:
        both = {option: mine.get(key, none) for option, mine in found.items()}
        us = [row["us"] for row in both.values()]
        rows.append(
            {
                **next(mine[key] for mine in found.values() if key in mine),
                **{f"{c.key} {option}": row[c.key] for option, row in both.items() for c in each},
                "difference": difference(us[-1] - us[0], "us"),
            }
        )
    shown = [Column(f"{c.title}, {option}", f"{c.key} {option}", c.say) for option in found for c in each]
    return Table([*first, *shown, *map(Column, ["difference"][: len(found) - 1])], rows)


def locks(presented: Presented) -> Figure | None:
    """None where no kernel lock was recorded. Two options side by side, then one table per option."""
    judgement, work = presented.judgement, presented.cost_of
    if not judgement.locks:
        return None
    columns = (
        Column("name"),
        Column("UTIL", "utilisation_percent", _percent),
        Column("CON", "contention_percent", _percent),
        Column("HOLD mean (max)", "hold"),
        Column("WAIT mean (max)", "wait"),
        Column("% CPU", "cpu_percent", _percent),
        Column("TOTAL", "acquisitions", whole),
        Column("waited", "contended", whole),
        Column(f"waits per {work}", "contended_per_txn"),
        Column(f"wait per {work}", "wait_us_per_txn", time_us),
    )
    by_option = Table(columns, list(map(_row, judgement.locks))).each("option")
    tables = {f"Lock table of {option}": _lockmeter(mine) for option, mine in by_option.items()}
    pair = {o: by_option[o] for o in (judgement.baseline, presented.leading) if o and o in by_option}
    if len(pair) == 2:
        tables = {"Waits side by side": _side_by_side(pair, columns), **tables}
    return of_tables(
        "locks",
        "Waits for kernel locks",
        "All runs pooled. Call sites stand under their lock, and add up to it."
        " % CPU: spent spinning, of all CPUs."
        + (
            ""
            if any(row.acquisitions is not None for row in judgement.locks)
            else " n/a: not available, which is not zero. The kernel's tracepoints report waits alone:"
            " neither how long a lock was held (HOLD, UTIL) nor how often it was taken without a wait"
            " (CON, TOTAL)."
        ),
        list(tables.items())[: _OPTIONS_MAX + 1],
    )


def _row(row: LockRow) -> Row:
    lock = row.lock if row.lock == row.type or not row.type else f"{row.lock} ({row.type})"
    return {
        **vars(row),
        "name": _INDENT + row.call_site if row.call_site else lock,
        "hold": _times(row.hold_mean_ns, row.hold_max_ns),
        "wait": _times(row.wait_mean_ns, row.wait_max_ns),
        "us": row.wait_us_per_txn or 0.0,
    }


def _lockmeter(table: Table) -> Table:
    least = _LEAST * max(table.values("us"))
    shown = [row for row in table.data if row["us"] >= least]
    return replace(table, data=shown[:_ROWS_MAX]).filled(_ALWAYS)


def _side_by_side(pair: Mapping[str, Table], columns: Sequence[Column]) -> Table:
    """Both options' waits per transaction, and the difference, in the order of the longer waits."""
    found = keyed(pair, "lock", "type", "call_site")
    waits = longest(found)
    least = _LEAST * max(waits.values())

    def place(key: tuple[str, str, str]) -> tuple[Any, ...]:
        lock, kind, site = key
        return _RANK.get(lock, 0), -waits.get((lock, kind, ""), 0.0), lock, kind, bool(site), -waits[key]

    order = [key for key in sorted(waits, key=place) if waits[key] >= least]
    each = [Table(columns, ()).column(field) for field in _SIDE]
    return beside(columns[:1], each, found, order[:_ROWS_MAX], _NONE)


def _percent(value: float) -> str:
    return f"{fmt.significant(value)} %" if value else "0.00 %"


def _times(mean: float | None, most: float | None) -> str | None:
    if mean is None:
        return None
    longest = "" if most is None else f" ({fmt.quantity(most, 'ns')})"
    return fmt.quantity(mean, "ns") + longest


def time_us(value: float) -> str:
    """A time; `0` without a unit."""
    return fmt.quantity(value, "us") if value else "0"


def scheduling(presented: Presented) -> Figure | None:
    """None where scheduling was not watched. The baseline's and the leading option's roles first."""
    judgement = presented.judgement
    if not judgement.scheduling:
        return None
    first = (judgement.baseline, presented.leading)
    table = table_of(
        judgement.scheduling,
        Column("voluntary switches/s", "voluntary_per_s"),
        Column("involuntary/s", "involuntary_per_s"),
        Column("migrations/s", "migrations_per_s"),
        Column("run-queue wait: median, p99, maximum", "run_queue_ns", _three),
        Column("time slice", "slice_ns", _three),
        Column("off CPU", "off_cpu_ns", _three),
    )
    rows = [{**row, "name": f"{row['option']}, {row['role']}"} for row in table.data]
    table = Table((Column("option, role", "name"), *table.columns), rows)
    shown = [row for row in rows if row["option"] in first and row["role"] in _OURS]
    return of_tables(
        "scheduling",
        "Scheduling",
        "From the scheduler's own events, recorded in a diagnostic phase after each measured one:"
        " recording costs about a tenth of the throughput, so these figures are not part of the measured"
        " results. All runs pooled."
        " Off CPU: from a voluntary switch until the thread ran again.",
        [("Baseline and leading option", replace(table, data=shown)), ("All options and roles", table)],
    )


def _three(values: list[float]) -> str:
    return ", ".join(fmt.quantity(value, "ns") for value in values)
