"""a table of CSV with the columns clients and per_s. One server alone, its throughput by number of clients.

The first line names the columns; others are ignored. Only rates are known, so each load point gets a length.
"""

from steelyard.errors import InputError
from steelyard.recordings.cells import exact, whole
from steelyard.recordings.lines import Lines, NotMine, Now, has
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source
from steelyard.recordings.tables import Row, cell

_SLOWEST_PER_S = 1e-9

sniff = has(*(rf'\A(?:.*,)?"? ?{name} ?"?(?:,|\s*$)' for name in ("clients", "per_s")))


def read(source: Source) -> list[Report]:
    """A report per row. Raises InputError where the table has no row."""
    found: list[Report] = []

    def take(now: Now, row: Row) -> None:
        clients, per_s = whole(row.cells["clients"]), exact(row.cells["per_s"])
        if clients < 1 or not per_s >= _SLOWEST_PER_S:
            raise NotMine
        found.append(Report(source.place(row.line), clients=clients))
        found[-1].rate(per_s)
        # a column that names systems would make them one
        now.texts.add(row, {name: cell(text) for name, text in row.cells.items()})

    (table,) = Lines((), table=take)(source)
    if not found:
        raise InputError(f"{source.path}: no rows")
    found[0].notices += table.notices
    return found
