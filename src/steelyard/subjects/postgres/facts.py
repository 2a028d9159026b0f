"""Facts of a PostgreSQL server: its version, its build and its settings."""

from __future__ import annotations

from typing import Any

import psycopg

from steelyard.host.processes.limits import within

_ANSWER_S = 30.0


def facts_of(dsn: str) -> dict[str, Any]:
    """A server's version and every setting that the user may see.

    settings: name to value with its unit, as SHOW prints it. sources: name to source, of settings that
    differ from the default. Raises psycopg.Error, TimedOut when the server does not answer.
    """
    return within(_ANSWER_S, "reading the server's settings", lambda: _facts(dsn))


def _facts(dsn: str) -> dict[str, Any]:
    # a database in SQL_ASCII would return text as bytes
    with psycopg.connect(dsn, autocommit=True, connect_timeout=5, client_encoding="utf8") as connection:
        version = connection.execute("select version()").fetchone()
        rows = connection.execute(
            "select name, current_setting(name, true), source from pg_settings order by name"
        ).fetchall()
        number = connection.info.server_version
    return {
        "version": f"{number // 10_000}.{number % 10_000}",
        "build": version[0] if version else "",
        "settings": {name: value for name, value, _ in rows},
        "sources": {name: source for name, _, source in rows if source not in ("default", "override")},
    }
