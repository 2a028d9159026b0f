"""The same rows of one or two options, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from steelyard.report.table import Column, Row, Table, difference

_Keyed = Mapping[str, Mapping[Any, Row]]


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
