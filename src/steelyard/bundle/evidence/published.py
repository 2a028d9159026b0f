"""Tables that a source published, as a bundle keeps them: `published.NAME` in SQL, and functions for text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

import duckdb

from steelyard.errors import InputError
from steelyard.quantities import significant
from steelyard.study.workloads.published import Answered

_FUNCTIONS = """
    create schema published;
    create macro whole(x) as format('{:,}', x::bigint);
    create macro change(a, b) as figure(abs(100 * (a / b - 1))) || ' %';
    create macro more(a, b) as change(a, b) || if(a >= b, ' more', ' less');
    create macro many(a, b) as change(a, b) || if(a >= b, ' more', ' fewer')
"""
# a version such as 2.4.17 is no date
_TABLE = """
    create table published."{}" as
    from read_csv($file, header = true, hive_partitioning = false,
        auto_type_candidates = ['BIGINT', 'DOUBLE', 'VARCHAR'])
"""
# queries come with a bundle: they read its tables, no other files, and have a time limit
_SEALED = """
    set memory_limit = '500MB'; set temp_directory = '';
    set enable_external_access = false; set lock_configuration = true
"""
_LONGEST_S = 20.0


@dataclass(frozen=True)
class Published:
    """What a recording says that its tables answer, and a connection that knows these tables alone."""

    work: Answered
    tables: duckdb.DuckDBPyConnection

    @classmethod
    def of(cls, work: Answered, files: Mapping[str, Path]) -> "Published":
        """files: copies of its tables, by name. Raises InputError for one that is no table."""
        connection = duckdb.connect()
        add_published(connection, files)
        connection.execute(_SEALED)
        return cls(work, connection)

    def first(self, query: str) -> tuple[tuple[Any, ...], str]:
        """The first row of a query, and why there is none."""
        timer = Timer(_LONGEST_S, self.tables.interrupt)
        timer.start()
        try:
            kinds = [statement.type for statement in self.tables.extract_statements(query)]
            if kinds != [duckdb.StatementType.SELECT]:
                return (), "the query is not one SELECT"
            row = self.tables.execute(query).fetchone()
        except duckdb.InterruptException:
            return (), f"the query takes longer than {_LONGEST_S:g} s"
        except duckdb.Error as error:
            return (), str(error).splitlines()[0].partition(": ")[2].rstrip(".!")
        finally:
            timer.cancel()
        if row is None or row[0] is None:
            return (), "the tables have no such figure"
        return row, ""


def one_file(place: Path) -> str:
    """The path for DuckDB, which reads `[`, `*` and `?` in it as a pattern of several files."""
    return re.sub(r"([\[*?])", r"[\1]", str(place))


def add_published(connection: duckdb.DuckDBPyConnection, files: Mapping[str, Path]) -> None:
    """Adds the tables in these CSV files. Raises InputError for one that is no table."""
    untyped: Any = connection
    untyped.create_function("figure", _figure, ["DOUBLE"], "VARCHAR")
    connection.execute(_FUNCTIONS)
    for name, place in files.items():
        table = Path(name).stem.replace("-", "_").replace('"', "")
        try:
            connection.execute(_TABLE.format(table), {"file": one_file(place)})
        except duckdb.Error as error:
            raise InputError(f"{place}: not a table in CSV: {str(error).splitlines()[0]}") from None


def _figure(value: float) -> str:
    # a function with a default argument would need two arguments in SQL
    return significant(value)
