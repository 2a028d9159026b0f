"""Numbers and times in reports: thousands, decimal commas, multiples, cells that hold none; days as languages
write them, times of the day, of the epoch, or whole, and zones that follow.
"""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, tzinfo

# beyond it a float cannot represent every whole number
LARGEST = 2.0**53
# of a report: no number here, which is never the same as 0
_NONE = re.compile(r"n/?a|null|-|--|#+|\.|", re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{,2}(,\d{3})+(\.\d+)?")
# "12." is the beginning of a number that was cut off
_PLAIN = re.compile(r"[+-]?(\d+(\.\d+)?|\.\d+)([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?\d+,\d+")
_MULTIPLES = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_TO_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9, "m": 60e9, "h": 3600e9}
_TIME = re.compile(r"([\d.,]+)\s*(ns|us|µs|ms|sec|s|m|h)")
DAY_S = 86_400
# locales write AM, am and a.m.
CLOCK = r"(\d\d):(\d\d):(\d\d)(?: ([AaPp])\.? ?[Mm]\b\.?)?"
_TIME_OF_DAY = re.compile(CLOCK + r"\s+(.*)")
_EPOCH_TIME = re.compile(r"\s*(\d{10})\s+(\D*\s*\d.*|\S*[^\d\s].*)")
_ZONE = r"(?: ?([+-]\d\d)(\d\d)?| [A-Z]{2,5})?\s*"
_DAY = r"(\d\d/\d\d/\d\d(?:\d\d)?|\d{4}-\d\d-\d\d|\d\d\.\d\d\.\d{4})"
_STAMP = re.compile(rf"(.*)\b{_DAY}[ T]{CLOCK}{_ZONE}")


def number(text: str, decimal_comma: bool = False) -> float | None:
    """A cell's number; None for n/a, #####, blank. Raises ValueError for any other text, and beyond 2^53."""
    cell = text.strip()
    # nearly all cells are plain: the other forms are looked for in the rest
    if _PLAIN.fullmatch(cell):
        return _finite(cell)
    if _NONE.fullmatch(cell):
        return None
    if decimal_comma and _COMMA.fullmatch(cell):
        cell = cell.replace(",", ".")
    elif _THOUSANDS.fullmatch(cell):
        cell = cell.replace(",", "")
    if not _PLAIN.fullmatch(cell):
        raise ValueError(f"not a number: {text!r:.60}")
    return _finite(cell)


def _finite(cell: str) -> float:
    found = float(cell)
    if not math.isfinite(found) or abs(found) > LARGEST:
        raise ValueError(f"beyond 2^53: {cell!r:.60}")
    return found


def exact(text: str, decimal_comma: bool = False) -> float:
    """A number that must be there. Raises ValueError."""
    found = number(text, decimal_comma)
    if found is None:
        raise ValueError(f"no number: {text!r:.60}")
    return found


def whole(text: str) -> int:
    """A whole number that must be there. Raises ValueError."""
    found = exact(text)
    # 1.2346E+10 of SQL*Plus is rounded
    if found != int(found) or "E" in text.upper():
        raise ValueError(f"not a whole number: {text!r:.60}")
    return int(found)


def abbreviated(text: str) -> float | None:
    """`11K` is 11,000: as prstat and others abbreviate counts. Raises ValueError."""
    cell = text.strip()
    if cell and cell[-1] in _MULTIPLES and cell[:-1]:
        return exact(cell[:-1]) * _MULTIPLES[cell[-1]]
    return number(cell)


def time_ns(text: str) -> float | None:
    """`2.2us`, `6.03 s`, in ns; a bare 0 is 0. Raises ValueError where the unit is missing."""
    cell = text.strip()
    if cell == "0":
        return 0.0
    if _NONE.fullmatch(cell):
        return None
    found = _TIME.fullmatch(cell)
    if found is None:
        raise ValueError(f"not a time with its unit: {text!r:.60}")
    return exact(found[1]) * _TO_NS[found[2]]


def has_decimal_commas(head: str) -> bool:
    """Whether a text writes 12,5 for 12.5: such cells occur, no thousands, and none with a decimal point."""
    points, commas = (rf"(?<!\S){mark}\d+(?!\S)" for mark in (r"\d+\.", r"(?![1-9]\d{,2},\d{3}(?!\d))\d+,"))
    return bool(re.search(commas, head)) and not re.search(points, head)


def slug(text: str) -> str:
    """`Pct Get Miss` -> `pct_get_miss`: a name of a metric or a column."""
    return re.sub("[^a-z0-9]+", "_", text.lower()).strip("_")


def time_of(text: str) -> tuple[date | None, float | None, tzinfo | None, str]:
    """Day, second since its midnight, zone, and the rest of a line. With an offset the second is of UTC."""
    if found := _TIME_OF_DAY.fullmatch(text):
        return None, _second(found.groups()), None, found[5]
    if found := _EPOCH_TIME.fullmatch(text):
        return date(1970, 1, 1), float(found[1]), UTC, found[2]
    if (found := _STAMP.fullmatch(text)) and (day := day_of(found[2])):
        *clock, hours, minutes = found.groups()[2:]
        offset_s = 3600 * int(hours or 0) + 60 * int((hours or "+")[0] + (minutes or "0"))
        return day, _second(clock) - offset_s, UTC if hours else None, found[1]
    return None, None, None, text.removeprefix("#")


def _second(clock: Sequence[str | None]) -> float:
    hour, minute, second = (int(cell or 0) for cell in clock[:3])
    hour = hour % 12 + (12 if clock[3] in "Pp" else 0) if clock[3] else hour
    return 3600.0 * hour + 60.0 * minute + second


def day_of(text: str) -> date | None:
    """The day of a banner or a time; None where day and month cannot be distinguished."""
    if not re.fullmatch(_DAY, text):
        return None
    parts = [int(part) for part in re.split(r"\D", text)]
    try:
        if "-" in text:
            return date(*parts)
        if "." in text:
            return date(*reversed(parts))
        first, second, year = parts
        if first <= 12 and second <= 12 and first != second:
            return None
        month, day = (first, second) if first <= 12 else (second, first)
        return date(year + (2000 if year < 100 else 0), month, day)
    except (ValueError, TypeError):
        return None


def next_s(last_s: float, second: float) -> float:
    """A second of the day after a time, both since a midnight: before it by half a day is the next day's."""
    second += last_s // DAY_S * DAY_S
    return second + DAY_S * (second < last_s - DAY_S / 2)


def length_s(before_s: float | None, at_s: float | None) -> float:
    """Of the interval between two times; 0: unknown. A longer one than a day is damage."""
    seconds = 0.0 if before_s is None or at_s is None else at_s - before_s
    return seconds if 0 < seconds <= DAY_S else 0.0


def moment_in(text: str, *formats: str) -> datetime:
    """A time in one of the formats of strptime, months in English. Raises ValueError for any other text."""
    for one in formats:
        with suppress(ValueError):
            return datetime.strptime(" ".join(text.split()), one)
    raise ValueError(text)
