"""Tables that are made side by side."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import duckdb


def at_once(connection: duckdb.DuckDBPyConnection, statements: Iterable[str]) -> None:
    """Executes statements two at a time. DuckDB keeps to one thread per statement. Raises duckdb.Error."""
    # thousands of small files: another thread of DuckDB's own costs more than it saves
    connection.execute("set threads = 1")
    # no `with`: an interrupt would wait for the threads
    pool = ThreadPoolExecutor(2)
    for done in [pool.submit(connection.cursor().execute, statement) for statement in statements]:
        done.result()
