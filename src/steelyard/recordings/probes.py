"""Tables of kernprof and lockmeter as rows of `profile` and `locks`, as published.

kernprof: function, samples; TOTAL_SAMPLES, USER (all of user mode) and functions of the kernel.
lockmeter: lock, utilisation_pct, contention_pct, hold_mean_us, hold_max_us, wait_mean_us, wait_max_us,
wait_cpu_pct, total; a blank cell is not available.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.recordings.rows import Row
from steelyard.run_tables.rows import Columns, Rows

_TOTAL, _USER, _IDLE = "TOTAL_SAMPLES", "USER", "default_idle"
_KERNEL_MARK = "_[k]"
_REST = "functions not listed"


def profile(table: Sequence[Row]) -> Columns:
    """Samples by function; the rest of the total becomes one row."""
    samples = {row.text("function"): int(row.number("samples")) for row in table}
    total = samples.pop(_TOTAL, 0)
    if rest := max(0, total - sum(samples.values())):
        samples[_REST] = rest
    rows = Rows("profile")
    for name, count in samples.items():
        rows.add(
            point=0,
            role="idle" if name == _IDLE else "",
            stack=name if name == _USER else name + _KERNEL_MARK,
            samples=count,
        )
    return rows.columns()


def locks(table: Sequence[Row]) -> Columns:
    """One row per lock; the number of waits is the published share of all acquisitions."""
    rows = Rows("locks")
    for row in table:
        total = int(row.number("total"))
        contended = round(total * row.number("contention_pct") / 100)
        rows.add(
            point=0,
            role="",
            lock=row.text("lock"),
            type="spinlock" if not row.text("lock").startswith("*") else "",
            call_site="",
            acquisitions=total,
            contended=contended,
            wait_total_ns=round(contended * row.number("wait_mean_us") * 1e3),
            wait_max_ns=round(row.number("wait_max_us") * 1e3),
            wait_cpu_percent=row.number("wait_cpu_pct"),
            utilisation_percent=row.number("utilisation_pct") if row.cells.get("utilisation_pct") else None,
            hold_mean_ns=row.number("hold_mean_us") * 1e3,
            hold_max_ns=row.number("hold_max_us") * 1e3,
        )
    return rows.columns()
