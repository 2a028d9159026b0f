"""SQL of the factors of scope schema in a PostgreSQL: executed by psql, statement by statement."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from typing import Any, BinaryIO

import psycopg

from steelyard.study.plan import Option
from steelyard.study.study import Study
from steelyard.subjects.servers.schema_levels import apply_levels

_PLACE = re.compile(r"psql:<stdin>:(\d+): (?:ERROR|FATAL):\s*")
_SIZES = """
select coalesce(sum(pg_table_size(c.oid)), 0)::bigint, coalesce(sum(pg_indexes_size(c.oid)), 0)::bigint
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'm') and n.nspname <> 'information_schema' and n.nspname !~ '^pg_'
"""


def apply_schema(
    connection: psycopg.Connection[Any], study: Study, option: Option, psql: Callable[[BinaryIO], str]
) -> dict[str, float]:
    """Executes the SQL of the option's levels, then VACUUM ANALYZE; what it took, by name with unit.

    psql: executes a script; gives psql's words where it fails, '' otherwise. Raises psycopg.Error,
    InputError.
    """

    def execute(sql: str) -> tuple[str, int]:
        with tempfile.TemporaryFile() as script:
            script.write(sql.encode())
            script.seek(0)
            words = psql(script)
        found = _PLACE.search(words)
        return _PLACE.sub("", words), int(found[1]) if found else 0

    seconds = apply_levels(study, option, execute)
    connection.execute("vacuum (freeze, analyze)")
    connection.execute("checkpoint")
    row = connection.execute(_SIZES).fetchone()
    tables_bytes, indexes_bytes = row or (0, 0)
    return {"sql_s": seconds, "tables_bytes": tables_bytes, "indexes_bytes": indexes_bytes}
