"""What stands in the columns below a heading, and what a row of them says."""

import itertools
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from steelyard.recordings.cells import number

# shares of a row may differ from 100 % by rounding, and by this
_SLACK = 0.1
_DECIMAL = re.compile(r"\d+[.,]\d+")
_ID = re.compile(r"\d+|-")
_IDS = ("UID", "PID", "TGID", "TID")


@dataclass(frozen=True, eq=False)
class Heading:
    """What stands in the columns.

    numbers: place and metric. named: place and prefix of cells that name what a row is of; of: of a row
    without them. shares: places that add up to 100 %; shares_of: their thing where it is not that of the row.
    ids: places of whole numbers; rates: of numbers with the same decimals. free: the last may hold blanks.
    """

    width: int
    numbers: tuple[tuple[int, str], ...]
    named: tuple[tuple[int, str], ...]
    of: str
    shares: tuple[int, ...]
    shares_of: str
    ids: tuple[int, ...]
    rates: tuple[int, ...]
    free: bool


def _metric(column: str) -> str:
    """`%usr` -> `usr_percent`, `rkB/s` -> `rkb_per_s`: the name of a column with its unit last."""
    name = column.strip(":")
    if name.startswith("%"):
        return name[1:].lower().replace("-", "_") + "_percent"
    return name.lower().replace("/s", "_per_s").replace("-", "_").replace("/", "_per_")


def heading_of(
    columns: Sequence[str], names: Collection[str] = (), of: str = "host", shares_of: str = ""
) -> Heading:
    """Columns as sysstat names them, shares with `%`. names: those that name what a row is of."""
    # Solaris cuts names of disks to two characters, and prints `--` for none
    before = [columns[:i].count(column) for i, column in enumerate(columns)]
    unique = [f"{column}_{n + 1}" if n else column for column, n in zip(columns, before, strict=True)]
    places = [(i, column) for i, column in enumerate(unique) if not column.startswith("--")]
    texts = {*names, *_IDS, "USER", "CPU", "Command"}
    shares = tuple(i for i, column in places if column[:1] == "%")
    return Heading(
        len(columns),
        tuple((i, _metric(column)) for i, column in places if column not in texts),
        tuple((i, f"{c.strip(':').lower()} " if c != "Command" else "") for i, c in places if c in names),
        of,
        shares if {"%idle", "%idl", "%id"} & {*columns} else (),
        shares_of,
        tuple(i for i, column in places if column in _IDS),
        tuple(i for i, column in places if column[:1] == "%" or column.endswith("/s")),
        "Command" in columns[-1:],
    )


def row_of(
    heading: Heading, cells: list[str], comma: bool, titles: dict[str, str]
) -> tuple[str, dict[str, dict[str, float]], bool] | None:
    """What a row is of, its values by thing and metric, and whether its shares add up; None: it is no row.

    titles: of processes, by number and first word: one that changes its title is the same.
    """
    last, further = heading.width - 1, len(cells) - heading.width
    if heading.free and further > 0:
        if cells[last].isdigit():
            # a number too many before the command
            return None
        cells = [*cells[:last], " ".join(cells[last:])]
    # all have as many decimals: a number without them is that of another column; no name has decimals
    if (
        len(cells) != heading.width
        or any(not _ID.fullmatch(cells[i]) for i in heading.ids)
        or len({_decimals(cells[i]) for i in heading.rates} - {None}) > 1
        or any(_DECIMAL.fullmatch(cells[i]) for i, _ in heading.named)
    ):
        return None
    entity = " ".join([prefix + cells[i] for i, prefix in heading.named]) or heading.of
    if further > 0:
        entity = titles.setdefault(entity.rsplit(maxsplit=further)[0], entity)
    things: dict[str, dict[str, float]] = {}
    try:
        values = {i: number(cells[i], comma) for i, _ in heading.numbers}
    except ValueError:
        return None
    for i, name in heading.numbers:
        # -1: the tool may not read it
        if (value := values[i]) is not None and (value >= 0 or i not in heading.rates):
            thing = heading.shares_of * (i in heading.shares) or entity
            things.setdefault(thing, {})[name] = value
    shares = [values[i] or 0.0 for i in heading.shares]
    step = 10.0 ** -(_decimals(cells[heading.shares[0]]) or 0) if shares else 1.0
    foots = not any(shares) or abs(sum(shares) - 100) <= _SLACK + len(shares) * step / 2
    return (entity, things, foots) if things else None


def names_in(cells: list[str]) -> tuple[str, ...]:
    """The names in a heading; none in a row, which has numbers."""
    names = tuple(itertools.takewhile(lambda cell: cell[:1] != "(", cells))
    # an interrupt is named by its number: 24/s
    return () if any(cell[:1].isdigit() and not cell.endswith("/s") for cell in names) else names


def _decimals(cell: str) -> int | None:
    found = re.search(r"\d(?:[.,](\d+))?$", cell)
    return len(found[1] or "") if found else None
