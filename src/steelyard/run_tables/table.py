"""What a table of a bundle is made of."""

from __future__ import annotations

from dataclasses import dataclass

RUN = "run"


@dataclass(frozen=True)
class Column:
    """One column: its DuckDB type and meaning. nullable: NULL where it is not available."""

    name: str
    type: str
    text: str
    nullable: bool = False


@dataclass(frozen=True)
class Table:
    """One table: the meaning of a row, and its columns."""

    name: str
    row: str
    columns: tuple[Column, ...]

    @property
    def own_columns(self) -> tuple[Column, ...]:
        """All columns but `run`, which the writer of the bundle adds."""
        return tuple(column for column in self.columns if column.name != RUN)


RUN_COLUMN = Column(RUN, "INTEGER", "number of the run, from 1 in the order executed")
POINT_COLUMN = Column(
    "point", "INTEGER", "number of the load point (a number of clients) within the run, from 0"
)
