"""The lock table, laid out as lockmeter does: holds, waits, totals; call sites below their lock."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard import quantities as fmt
from steelyard.analysis.judgement.kernel import LockRow
from steelyard.analysis.kernel.locks import FOREIGN, TOTAL
from steelyard.report.charts.figure import Figure
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table, difference, known, whole

_ROWS_MAX = 20
_LEAST = 0.005  # of all waits; what is less is in the bundle
_OPTIONS_MAX = 12
_INDENT = "\u00a0\u00a0\u00a0"
_HEAD = (
    "name",
    "UTIL",
    "CON",
    "HOLD mean (max)",
    "WAIT mean (max)",
    "% CPU",
    "TOTAL",
    "waited",
    "waits per {work}",
    "wait per {work}",
)


def figure(presented: Presented) -> Figure | None:
    """None where no kernel lock was recorded. Two options side by side, then one table per option."""
    judgement, work = presented.judgement, presented.cost_of
    if not judgement.locks:
        return None
    by_option: dict[str, list[LockRow]] = {}
    for row in judgement.locks:
        by_option.setdefault(row.option, []).append(row)
    tables = {f"Lock table of {option}": _lockmeter(mine, work) for option, mine in by_option.items()}
    pair = [o for o in (judgement.baseline, presented.leading) if o in by_option]
    if len(pair) == 2:
        first, table = "Waits side by side", _side_by_side(pair, by_option, work)
    else:
        first, table = next(iter(tables.items()))
        tables.pop(first)
    known = any(row.acquisitions is not None for row in judgement.locks)
    return Figure(
        name="locks",
        title="Waits for kernel locks",
        caption="All runs pooled. Call sites stand under their lock, and add up to it."
        " % CPU: spent spinning, of all CPUs."
        + (
            ""
            if known
            else " n/a: not available, which is not zero. The kernel's tracepoints report waits alone:"
            " neither how long a lock was held (HOLD, UTIL) nor how often it was taken without a wait"
            " (CON, TOTAL)."
        ),
        panels=(),
        table=table,
        open=True,
        numbers=first,
        folded=tuple(list(tables.items())[:_OPTIONS_MAX]),
    )


def _lockmeter(mine: Sequence[LockRow], work: str) -> Table:
    least = _LEAST * max((row.wait_us_per_txn or 0.0 for row in mine), default=0.0)
    shown = [row for row in mine if (row.wait_us_per_txn or 0.0) >= least]
    lines = [
        (
            _name(row),
            _percent(row.utilisation_percent),
            _percent(row.contention_percent),
            _times(row.hold_mean_ns, row.hold_max_ns),
            _times(row.wait_mean_ns, row.wait_max_ns),
            _percent(row.cpu_percent),
            known(row.acquisitions, whole),
            known(row.contended, whole),
            _number(row.contended_per_txn),
            _us(row.wait_us_per_txn),
        )
        for row in shown[:_ROWS_MAX]
    ]
    kept = [i for i in range(len(_HEAD)) if i < 7 or any(line[i] != fmt.MISSING for line in lines)]
    return Table(
        tuple(_HEAD[i].format(work=work) for i in kept), tuple(tuple(line[i] for i in kept) for line in lines)
    )


def _side_by_side(pair: Sequence[str], by_option: dict[str, list[LockRow]], work: str) -> Table:
    """Both options' waits per transaction, and the difference, in the order of the longer waits."""
    tables = [{(r.lock, r.type, r.call_site): r for r in by_option[option]} for option in pair]
    order = list(dict.fromkeys(key for table in tables for key in table))
    weight: dict[tuple[str, str], float] = {}
    for table in tables:
        for (lock, kind, site), row in table.items():
            if not site:
                weight[lock, kind] = max(weight.get((lock, kind), 0.0), row.wait_us_per_txn or 0.0)
    rank = {TOTAL: -1, FOREIGN: 1}
    longest = {
        key: max((t[key].wait_us_per_txn or 0.0) if key in t else 0.0 for t in tables) for key in order
    }
    order.sort(key=lambda k: (rank.get(k[0], 0), -weight.get(k[:2], 0.0), k[:2], bool(k[2]), -longest[k]))
    least = _LEAST * max(longest.values())
    lines: list[tuple[str, ...]] = []
    for key in [key for key in order if longest[key] >= least][:_ROWS_MAX]:
        both = [table.get(key) for table in tables]
        cells = [_name(next(row for row in both if row))]
        for row in both:
            cells += [
                _number(row.contended_per_txn) if row else "0",
                _times(row.wait_mean_ns, row.wait_max_ns) if row else "",
                _us(row.wait_us_per_txn) if row else "0",
            ]
        waits = [row.wait_us_per_txn or 0.0 if row else 0.0 for row in both]
        cells.append(difference(waits[1] - waits[0], "us"))
        lines.append(tuple(cells))
    head = ["name"]
    for option in pair:
        head += [f"waits per {work}, {option}", f"WAIT mean (max), {option}", f"wait per {work}, {option}"]
    return Table((*head, "difference"), tuple(lines))


def _name(row: LockRow) -> str:
    if row.call_site:
        return _INDENT + row.call_site
    return row.lock if row.lock == row.type or not row.type else f"{row.lock} ({row.type})"


def _percent(value: float | None) -> str:
    return fmt.MISSING if value is None else f"{fmt.significant(value)} %" if value else "0.00 %"


def _times(mean: float | None, most: float | None) -> str:
    if mean is None:
        return fmt.MISSING
    longest = "" if most is None else f" ({fmt.quantity(most, 'ns')})"
    return fmt.quantity(mean, "ns") + longest


def _number(value: float | None) -> str:
    return fmt.MISSING if value is None else fmt.significant(value) if value else "0"


def _us(value: float | None) -> str:
    return fmt.MISSING if value is None else fmt.quantity(value, "us") if value else "0"
