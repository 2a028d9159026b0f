"""Tables of kernprof and lockmeter as rows of `profile` and `locks`, as published.

kernprof: function, samples; TOTAL_SAMPLES, USER (all of user mode) and functions of the kernel.
lockmeter: lock, utilisation_pct, contention_pct, hold_mean_us, hold_max_us, wait_mean_us, wait_max_us,
wait_cpu_pct, total; a blank cell is not available.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.recordings.rows import Row

_TOTAL, _USER, _IDLE = "TOTAL_SAMPLES", "USER", "default_idle"
_KERNEL_MARK = "_[k]"
_REST = "functions not listed"


def profile(rows: Sequence[Row]) -> dict[str, Sequence[Any]]:
    """Samples by function; what is in the total and in no row stands as one."""
    samples = {row.text("function"): int(row.number("samples")) for row in rows}
    total = samples.pop(_TOTAL, 0)
    if rest := max(0, total - sum(samples.values())):
        samples[_REST] = rest
    return {
        "point": [0 for _ in samples],
        "role": ["idle" if name == _IDLE else "" for name in samples],
        "stack": [name if name == _USER else name + _KERNEL_MARK for name in samples],
        "samples": list(samples.values()),
    }


def locks(rows: Sequence[Row]) -> dict[str, Sequence[Any]]:
    """A row a lock; the number of waits is the published share of all acquisitions."""
    found: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for row in rows:
        total = int(row.number("total"))
        contended = round(total * row.number("contention_pct") / 100)
        line = {
            "point": 0,
            "role": "",
            "lock": row.text("lock"),
            "type": "spinlock" if not row.text("lock").startswith("*") else "",
            "call_site": "",
            "acquisitions": total,
            "contended": contended,
            "wait_total_ns": round(contended * row.number("wait_mean_us") * 1e3),
            "wait_max_ns": round(row.number("wait_max_us") * 1e3),
            "wait_cpu_percent": row.number("wait_cpu_pct"),
            "utilisation_percent": _known(row, "utilisation_pct"),
            "hold_mean_ns": row.number("hold_mean_us") * 1e3,
            "hold_max_ns": row.number("hold_max_us") * 1e3,
        }
        for name in _COLUMNS:
            found[name].append(line[name])
    return {**found}


def _known(row: Row, column: str) -> float | None:
    return row.number(column) if row.cells.get(column) else None


_COLUMNS = (
    *("point", "role", "lock", "type", "call_site", "acquisitions", "contended", "wait_total_ns"),
    *("wait_max_ns", "wait_cpu_percent", "utilisation_percent", "hold_mean_ns", "hold_max_ns"),
)
