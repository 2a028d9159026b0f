"""Counters since a start: of two captures in one file the difference counts; one alone is said to be one."""

import itertools
from collections.abc import Sequence
from typing import Any

from steelyard.recordings.report import Report


def differences(report: Report, table: str, key: Sequence[str], counters: Sequence[str], source: str) -> None:
    """Puts differences in place of the rows of a table. key: columns that name a row; one that comes again is
    of the next capture. What is neither named nor a counter is kept of one capture alone.
    """
    seen: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in report.rows.pop(table, []):
        seen.setdefault(tuple(row[name] for name in key), []).append(row)
    most = max(map(len, seen.values()), default=0)
    if most == 1:
        text = f"one capture of {source}: it counts since the start"
        report.notices.append(("counted-since-start", text))
    for names, readings in seen.items():
        first, last = readings[0], readings[-1]
        counted = [name for name in counters if name in first and name in last]
        row, text = dict(zip(key, names, strict=True)), " ".join(filter(None, names))
        if len(readings) < most:
            text = f"{source}: {text} is not in all captures: its counts are left out"
            report.notices.append(("capture-missing", text))
            continue
        if any(b[n] < a[n] for a, b in itertools.pairwise(readings) for n in counted if n in a and n in b):
            text = f"{source}: the counts of {text} went back between two captures: left out"
            report.notices.append(("counter-reset", text))
        elif most == 1:
            row = last
        else:
            row |= {name: last[name] - first[name] for name in counted}
        report.row(table, **row)
