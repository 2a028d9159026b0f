"""How the lines of sp_sysmon are laid out: its header, headings above rulers, rows indented below."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from steelyard.recordings.source import Line
from steelyard.recordings.tables import is_ruler

HEADER = re.compile(
    r"(Server Version|Server Name|Run Date|Sampling Started at|Sampling Ended at|Sample Interval"
    r"|Sample Mode|Counters Last Cleared|Statistics Cleared at|Statistics Sampled at):?\s+(\S.*?)\s*"
)
_HEADER_NAME = re.compile(HEADER.pattern.partition(")")[0] + ")")
_COLUMNS = ("per_sec", "per_xact", "count", "of_total")


def columns_of(heading: Sequence[str], cells: list[str]) -> tuple[str, ...] | None:
    """The columns of a row; None where it has too few cells or too many, or a share in place of a count."""
    columns = tuple(heading) or _COLUMNS
    if len(cells) == len(columns) - 1 and columns[-1] == "of_total" and re.match(r"[\d-]", cells[-1]):
        # a total has no share of itself
        columns = columns[:-1]
    numbers = [(c, cell) for c, cell in zip(columns, cells, strict=False) if re.match(r"[\d-]", cell)]
    counted = "of_total" in columns or columns[:3] == _COLUMNS[:3]
    # shares have their sign, and nothing else has one
    if counted and any(cell.endswith("%") != (column == "of_total") for column, cell in numbers):
        return None
    return columns if len(cells) == len(columns) else None


def is_heading(at: int, text: str, ruled: Collection[int]) -> bool:
    """Whether a line names columns: one above a ruler, or that of the counts."""
    return at in ruled or bool(re.search(r"per sec\s+per xact\s+count", text))


def may_be_subheading(at: int, lines: list[Line]) -> bool:
    """Not a header without its value, nor a row without its numbers: rows follow that are indented more."""
    text = lines[at][1]
    if _HEADER_NAME.match(text) or text.startswith(">"):
        return False
    below = next((line for _, line in lines[at + 1 :] if line.strip() and not is_ruler(line)), "")
    of_pools = below.lstrip().startswith("ThreadPool :")
    return of_pools or _indent(below) > _indent(text) or text.rstrip().endswith((":", "during sample"))


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
