"""Times in reports: of the day, of the epoch, or whole; days as languages write them; zones that follow."""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime

DAY_S = 86_400
EPOCH = date(1970, 1, 1)
# locales write AM, am and a.m.
CLOCK = r"(\d\d):(\d\d):(\d\d)(?: ([AaPp])\.? ?[Mm]\b\.?)?"
_TIME = re.compile(CLOCK + r"\s+(.*)")
_EPOCH_TIME = re.compile(r"\s*(\d{10})\s+(\D*\s*\d.*|\S*[^\d\s].*)")
_ZONE = r"(?:[+-]\d{4}| [A-Z]{2,5}| [+-]\d\d)?\s*"
_DAY = r"(\d\d/\d\d/\d\d(?:\d\d)?|\d{4}-\d\d-\d\d|\d\d\.\d\d\.\d{4})"
_STAMP = re.compile(rf"(.*)\b{_DAY}[ T]{CLOCK}{_ZONE}")


def time_of(text: str) -> tuple[date | None, float | None, str]:
    """Day and second of the day where a line has them, and all else that it has."""
    if found := _TIME.fullmatch(text):
        return None, _second(found.groups()), found[5]
    if found := _EPOCH_TIME.fullmatch(text):
        return EPOCH, float(found[1]), found[2]
    if (found := _STAMP.fullmatch(text)) and (day := day_of(found[2])):
        return day, _second(found.groups()[2:]), found[1]
    return None, None, text.removeprefix("#")


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


def moment_in(text: str, *formats: str) -> datetime:
    """A time in one of the formats of strptime, months in English. Raises ValueError for any other text."""
    for one in formats:
        with suppress(ValueError):
            return datetime.strptime(" ".join(text.split()), one)
    raise ValueError(text)
