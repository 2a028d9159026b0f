"""Every table of a bundle, with its columns, types and units: `schema.toml` is the one definition.

A table is one Parquet file per run (`runs/0007/latency.parquet`); the reader joins the files of all
runs into one view. Times `*_ns` count from the run's origin (its set-up began), unless a
column's meaning says otherwise. A metric whose name ends in `_total` is a counter that only grows; every
other metric is a gauge; a gauge `x` may have a companion `x_limit`, its upper limit.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMAT_VERSION = 3
RUN = "run"
_FILE = Path(__file__).with_suffix(".toml")


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


_CONTENT: dict[str, Any] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
_COMMON: dict[str, list[str]] = {column[0]: column for column in _CONTENT.pop("common")}
_OF_ENGINE = _CONTENT.pop("of_engine")


def _defined(tables: Mapping[str, Any]) -> Iterator[Table]:
    for name, table in tables.items():
        columns = (_COMMON[column] if isinstance(column, str) else column for column in table["columns"])
        yield Table(
            name,
            table["row"],
            tuple(Column(its, kind.rstrip("?"), text, kind.endswith("?")) for its, kind, text in columns),
        )


TABLES = tuple(_defined(_CONTENT))
BY_NAME = {table.name: table for table in TABLES}
# the lab converts these to samples, notices and columns of other tables: they are not in a bundle
ENGINE_TABLES = {table.name: table for table in _defined(_OF_ENGINE)}

# of a histogram, by column; the last column of the table is the highest value
QUANTILES = {"p50_ns": 0.5, "p90_ns": 0.9, "p95_ns": 0.95, "p99_ns": 0.99, "p999_ns": 0.999}

PERCENTILES = Table(
    "percentiles",
    "latency of one statement over the measure phase, or of the transactions of one client; derived from"
    " `latency` and `clients`",
    (
        *BY_NAME["latency"].columns[:3],
        Column("client", "INTEGER", "number of the client; NULL: all clients", nullable=True),
        *(
            Column(name, "DOUBLE", f"{100 * quantile:g} % were quicker; of a client only p99", nullable=True)
            for name, quantile in QUANTILES.items()
        ),
        Column("max_ns", "DOUBLE", "the slowest", nullable=True),
    ),
)

# what `sql` and `export` derive from the tables of a bundle: no files of their own
DERIVED = (PERCENTILES,)
