"""A table of text, and its cells: what is not available is called so, never 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from steelyard import quantities as fmt


@dataclass(frozen=True)
class Table:
    """Numbers as text, ready to read. The first column names the row."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def known(value: float | None, say: Callable[[float], str] = fmt.significant) -> str:
    """The value as text; `n/a` where it is not available."""
    return fmt.MISSING if value is None else say(value)


def whole(value: float) -> str:
    """A count: `6,000,012`."""
    return f"{value:,.0f}"


def percent(share: float) -> str:
    """A share as a number of per cent, for a column that names the unit."""
    return fmt.significant(100 * share)


def time(ns: float) -> str:
    """A time; `0` without a unit."""
    return fmt.quantity(ns, "ns") if ns else "0"


def difference(value: float, unit: str) -> str:
    """A difference with its sign: `+1.20 µs`, `−3.00 µs`, `+0`."""
    return ("+" if value >= 0 else "−") + (fmt.quantity(abs(value), unit) if value else "0")


def with_half(value: float | None, half: float | None, scale: float = 1.0) -> str:
    """A prediction with half its interval, where it has one: `5.00 ± 0.400`."""
    if value is None:
        return fmt.MISSING
    text = fmt.significant(scale * value)
    return f"{text} ± {fmt.significant(scale * half)}" if half else text
