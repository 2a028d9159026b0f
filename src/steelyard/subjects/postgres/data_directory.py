"""A data directory of another server as the start of a study's data: copied, never changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from steelyard.study.errors import InputError
from steelyard.subjects.servers.account import Account
from steelyard.subjects.servers.directory import copied, refuse_links
from steelyard.workloads import Work

_AT = ("workload", "data_directory")
# settings are those of the study; the copy starts as a primary
_LEFT_OUT = ("postgresql.auto.conf", "postmaster.opts", "standby.signal", "recovery.signal")


def check_directory(work: Work) -> None:
    """It is one, of a server that does not run. Raises InputError."""
    directory = work.directory
    if directory is None:
        return
    try:
        (directory / "PG_VERSION").read_text()
        running = (directory / "postmaster.pid").exists()
    except OSError as error:
        hint = "the folder that holds PG_VERSION, readable for you"
        raise InputError(f"{directory}: no data directory: {error.strerror}", hint, _AT) from None
    if running:
        raise InputError(
            f"{directory}: a server runs on it, or did not end by itself: postmaster.pid is there",
            "stop the server first, or dump the database with pg_dump",
            _AT,
        )
    refuse_links(directory, "dump the database with pg_dump", _AT)


def copy_directory(directory: Path, to: Path, account: Account) -> None:
    """Copies it for the user of the servers, with no settings of its own. Raises SubjectFailed."""
    copied(directory, to, account)
    for name in _LEFT_OUT:
        (to / name).unlink(missing_ok=True)
    for name in ("postgresql.conf", "pg_hba.conf", "pg_ident.conf"):
        (to / name).unlink(missing_ok=True)
        (to / name).touch(mode=0o600)
        account.own(to / name)


def rename_database(connection: psycopg.Connection[Any], name: str, to: str) -> None:
    """Calls the database as the lab does; nobody may be connected to it. Raises InputError."""
    try:
        connection.execute(sql.SQL("alter database {} rename to {}").format(*map(sql.Identifier, (name, to))))
        if name == "postgres":
            connection.execute("create database postgres")
    except psycopg.errors.InvalidCatalogName:
        rows = connection.execute("select datname from pg_database where not datistemplate").fetchall()
        others = ", ".join(str(other) for (other,) in rows)
        raise InputError(
            f'data_directory has no database "{name}"', f"it has: {others}", ("workload", "data_database")
        ) from None
