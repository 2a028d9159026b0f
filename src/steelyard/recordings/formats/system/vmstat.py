"""vmstat (Linux, 2.4 included). Its first row counts since the boot: it is left out where others follow.

Amounts of memory and pages have the unit that the option -S chose, which the text does not tell: their
names carry none. Without timestamps (-t) the readings are numbered.
"""

from steelyard.recordings.columns import Columns
from steelyard.recordings.headings import Heading, heading_of
from steelyard.recordings.lines import has

_CPU = ("us", "sy", "id", "wa", "st", "gu")


def _heading(columns: list[str]) -> Heading | None:
    """Raises ValueError for an unknown column between `us` and `id`."""
    if "swpd" not in columns or "us" not in columns:
        return None
    first, last = columns.index("us"), columns.index("id") + 1
    if unknown := [name for name in columns[first:last] if name not in _CPU]:
        raise ValueError(f"no column of a CPU is named {unknown[0]!r}")
    # the name of the timestamps is that of their zone
    shares = [f"%{name}" for name in columns[first:] if name in _CPU]
    return heading_of(columns[:first] + shares, shares_of="cpu all")


sniff = has(r"^ *r +b +(?:w +)?swpd +free\b.*\bid\b")
read = Columns("vmstat", _heading, {"cpu_busy_vmstat": "cpu all"}, since_boot=True, page=20)
