"""SQL of the factors of scope schema in a MariaDB."""

from __future__ import annotations

import re
from typing import Any

import pymysql

from steelyard.study.plan import Option
from steelyard.study.study import Study
from steelyard.subjects.mariadb.session import error_text
from steelyard.subjects.servers.schema_levels import apply_levels

_OURS = "from information_schema.tables where table_schema = database() and table_type = 'BASE TABLE'"
_LINE = re.compile(r" at line (\d+)$")


def apply_schema(connection: pymysql.Connection[Any], study: Study, option: Option) -> dict[str, float]:
    """Executes the SQL of the option's levels, then ANALYZE TABLE; what it took, by name with unit.

    connection: takes several statements at once. Raises pymysql.MySQLError, InputError.
    """
    with connection.cursor() as cursor:

        def execute(sql: str) -> tuple[str, int]:
            try:
                cursor.execute(sql)
                while cursor.nextset():
                    pass
            except pymysql.MySQLError as error:
                words = error_text(error)
                found = _LINE.search(words)
                return words, int(found[1]) if found else 0
            return "", 0

        seconds = apply_levels(study, option, execute)
        connection.commit()
        cursor.execute(f"select table_name {_OURS}")
        for (name,) in cursor.fetchall():
            quoted = str(name).replace("`", "``")
            cursor.execute(f"analyze table `{quoted}`")
        cursor.execute(f"select coalesce(sum(data_length), 0), coalesce(sum(index_length), 0) {_OURS}")
        tables_bytes, indexes_bytes = cursor.fetchone() or (0, 0)
    return {"sql_s": seconds, "tables_bytes": int(tables_bytes), "indexes_bytes": int(indexes_bytes)}
