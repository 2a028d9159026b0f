"""Data directories of MariaDB: a new one, or a copy of another server's, which is never changed."""

from __future__ import annotations

import fcntl
from contextlib import closing
from pathlib import Path
from typing import Any

import pymysql

from steelyard.study.errors import InputError
from steelyard.subjects import Bench
from steelyard.subjects.mariadb.binaries import beside
from steelyard.subjects.mariadb.session import error_text
from steelyard.subjects.servers.account import Account
from steelyard.subjects.servers.directory import refuse_links
from steelyard.subjects.servers.room import Footprint, Size
from steelyard.subjects.servers.templates import make_data
from steelyard.workloads import Work

# the server itself, a session's thread and buffers, system tables with temporary ones and undo
FOOTPRINT = Footprint(
    memory_bytes=150 << 20,
    session_bytes=1 << 20,
    disk_bytes=60 << 20,
    buffers=Size("innodb_buffer_pool_size", 128 << 20),
    log=Size("innodb_log_file_size", 96 << 20),
    own=(
        Size("innodb_log_buffer_size", 16 << 20),
        Size("key_buffer_size", 128 << 20),
        Size("aria_pagecache_buffer_size", 128 << 20),
    ),
    of_session=(
        Size("sort_buffer_size", 2 << 20),
        Size("join_buffer_size", 256 << 10),
        Size("tmp_memory_table_size", 16 << 20),
    ),
    make_s=6.0,
    rows_per_s=200_000,
)

_AT = ("workload", "data_directory")
_TABLESPACE = "ibdata1"


def check_directory(work: Work) -> None:
    """It is one, of a server that does not run. Raises InputError."""
    directory = work.directory
    if directory is None:
        return
    try:
        with (directory / _TABLESPACE).open("rb") as tablespace:
            # InnoDB holds a lock on it as long as a server runs
            fcntl.lockf(tablespace, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            f"{directory}: a server runs on it", "stop it first, or dump the database with mysqldump", _AT
        ) from None
    except OSError as error:
        hint = f"the folder that holds {_TABLESPACE}, readable for you"
        raise InputError(f"{directory}: no data directory: {error.strerror}", hint, _AT) from None
    if not (directory / work.database).is_dir():
        others = ", ".join(sorted(place.name for place in directory.iterdir() if place.is_dir()))
        raise InputError(
            f'data_directory has no database "{work.database}"',
            f"it has: {others}",
            (_AT[0], "data_database"),
        )
    refuse_links(directory, "dump the database with mysqldump", _AT)


def make_directory(bench: Bench, account: Account, server: Path, data: Path, scratch: Path) -> None:
    """Makes the data directory `data` with mariadb-install-db or from its template.

    scratch: for temporary files. Raises SubjectFailed.
    """
    make_data(
        bench,
        account,
        server,
        beside(server, "mariadb-install-db"),
        (
            "--no-defaults", "--auth-root-authentication-method=socket",
            f"--auth-root-socket-user={account.caller}", "--skip-test-db",
        ),
        (f"--datadir={data}", f"--tmpdir={scratch}"),
        data,
        [scratch],
    )  # fmt: skip


def admit(connection: pymysql.Connection[Any], user: str) -> None:
    """Lets the lab in by its user of the system; the server was started without a look at its users."""
    with closing(connection), connection.cursor() as cursor:
        try:
            cursor.execute("flush privileges")
            cursor.execute(f"create or replace user '{user}'@'localhost' identified via unix_socket")
            cursor.execute(f"grant all on *.* to '{user}'@'localhost' with grant option")
            cursor.execute("shutdown")
        except pymysql.MySQLError as error:
            raise InputError(f"data_directory: {error_text(error)}", at=_AT) from None
