"""What a PostgreSQL reports of itself: its version, its build and its settings."""

from __future__ import annotations

from typing import Any

import psycopg

from steelyard.host.processes.limits import within

_ANSWER_S = 30.0


def facts_of(dsn: str) -> dict[str, Any]:
    """A server's version and every setting that our user may see.

    settings: name to value with its unit, as SHOW gives it. sources: name to where it was set, of those
    that are not the default. Raises psycopg.Error, TimedOut when the server does not answer.
    """
    return within(_ANSWER_S, "asking the server for its settings", lambda: _facts(dsn))


def _facts(dsn: str) -> dict[str, Any]:
    # from a database in SQL_ASCII text would come as bytes
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
