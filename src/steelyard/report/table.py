"""One table for charts, page and terminal: numbers stay numbers until a renderer makes them text."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, cast

from steelyard import quantities as fmt
from steelyard.analysis.judgement import Comparison, WinMapCell
from steelyard.bundle.evidence import grouped

Row = Mapping[str, Any]
_Texts = tuple[str, ...]
_RATIO = "ratio"
_HALF = "±"
_NO_INTERVAL = " [no interval]"
_INTERVAL = re.compile(r"\[.* to .*\]")


@dataclass(frozen=True)
class Cell:
    """A number with its 95 % interval, where it has one, and its unit. None: not available, never 0."""

    value: float | None
    low: float | None = None
    high: float | None = None
    unit: str = ""

    def __str__(self) -> str:
        """As text: `402 µs`, `21,400/s [21,100 to 21,700]`, `1.42 [1.38 to 1.46]`, `n/a`."""
        if self.value is None:
            return fmt.MISSING
        if self.low is None or self.high is None or (self.low == self.high and self.unit != _RATIO):
            return fmt.quantity(self.value, self.unit)
        if self.unit == _HALF:
            return f"{fmt.significant(self.value)} ± {fmt.significant(self.high - self.value)}"
        if self.unit == _RATIO:
            return fmt.ratio(self.value, self.low, self.high)
        return fmt.interval(self.value, self.low, self.high, self.unit)

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Of the interval as it is drawn; None for both where there is none, as of one block."""
        low, high = self.low, self.high
        if low is None or high is None or (math.isinf(high) and (low == 0 or math.isinf(low))):
            return None, None
        return low, high

    def over(self, divisor: float, whole: bool = True) -> "Cell":
        """In a larger unit, which is that of an axis. whole: with its interval."""
        value, low, high = (None if x is None else x / divisor for x in (self.value, self.low, self.high))
        return Cell(value, low, high) if whole else Cell(value)


def cell_of(value: Any) -> Cell:
    """The same of a number alone."""
    return value if isinstance(value, Cell) else Cell(value)


def ratio_of(found: Comparison | WinMapCell) -> Cell:
    """A ratio to the baseline with its interval."""
    return Cell(found.ratio, found.low, found.high, _RATIO)


def halved(value: float | None, half: float | None, scale: float = 1.0) -> Cell:
    """A prediction with half its interval: `5.00 ± 0.400`."""
    if value is None or not half:
        return Cell(None if value is None else scale * value)
    return Cell(scale * value, scale * (value - half), scale * (value + half), _HALF)


def text_of(value: Any, say: Callable[[Any], str] = fmt.significant) -> str:
    """A value of a table as text; `n/a` where it is not available."""
    if value is None:
        return fmt.MISSING
    # a number of things is whole, whatever its column says of measured numbers
    whole = isinstance(value, int) and say is fmt.significant
    return str(value) if whole or isinstance(value, str | Cell) else say(value)


@dataclass(frozen=True)
class Column:
    """What a reader sees of a field. title: its heading; field: the title, where empty; say: its numbers."""

    title: str
    field: str = ""
    say: Callable[[Any], str] = fmt.significant

    @property
    def key(self) -> str:
        """Its name in the rows."""
        return self.field or self.title


@dataclass(frozen=True)
class Table:
    """Rows of named values, and the columns that are shown; the first column names the row.

    data: may have fields that are not shown, such as what only a picture needs.
    """

    columns: Sequence[Column]
    data: Sequence[Row]

    @property
    def head(self) -> _Texts:
        """The headings."""
        titles = tuple(column.title for column in self.columns)
        return tuple(title.removesuffix(" [95 % interval]") for title in titles) if self.bare else titles

    @property
    def rows(self) -> tuple[_Texts, ...]:
        """The cells as text, ready to read; that no cell has an interval is not said in each."""
        texts = self._texts()
        if not self.bare:
            return texts
        return tuple(tuple(text.removesuffix(_NO_INTERVAL) for text in row) for row in texts)

    @property
    def bare(self) -> bool:
        """Whether no cell has an interval, as of one run each."""
        texts = [text for row in self._texts() for text in row]
        return any(_NO_INTERVAL in t for t in texts) and not any(_INTERVAL.search(t) for t in texts)

    def _texts(self) -> tuple[_Texts, ...]:
        return tuple(tuple(text_of(row[c.key], c.say) for c in self.columns) for row in self.data)

    def column(self, key: str) -> Column:
        """The column of a field; one of its own name where it is not shown."""
        return next((column for column in self.columns if column.key == key), Column(key))

    def where(self, **same: Any) -> "Table":
        """The rows that have these values."""
        kept = [row for row in self.data if all(row[key] == value for key, value in same.items())]
        return replace(self, data=kept)

    def each(self, *keys: str) -> "dict[Any, Table]":
        """A table per value of the field, or tuple of values of several, in the order of their first rows."""
        values_of = cast("Callable[[Row], Any]", itemgetter(*keys))
        parts = grouped((values_of(row), row) for row in self.data)
        return {values: replace(self, data=rows) for values, rows in parts.items()}

    def values(self, key: str) -> list[Any]:
        """The values of a field that are available."""
        return [row[key] for row in self.data if row[key] is not None]

    def filled(self, always: int) -> "Table":
        """Without columns that have no value at all, but for the first ones."""
        kept = [column for n, column in enumerate(self.columns) if n < always or self.values(column.key)]
        return replace(self, columns=kept)


def table_of(items: Iterable[Any], *columns: Column) -> Table:
    """Items as rows of all their fields, and of the properties that columns show."""
    properties = [column.key for column in columns]
    return Table(columns, [{**vars(i), **{name: getattr(i, name) for name in properties}} for i in items])


def plain_table(head: Iterable[str], rows: Iterable[Sequence[Any]]) -> Table:
    """Cells in the order of the headings."""
    columns = [Column(title, str(place)) for place, title in enumerate(head)]
    return Table(columns, [{str(place): cell for place, cell in enumerate(row)} for row in rows])


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
