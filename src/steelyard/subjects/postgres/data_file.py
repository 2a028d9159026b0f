"""Loads a file of data into a PostgreSQL: SQL by psql, a custom dump by pg_restore."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import psycopg
from psycopg import sql

from steelyard.study.errors import typed
from steelyard.subjects import SubjectFailed
from steelyard.subjects.servers.scripts import data_error

Finished = subprocess.CompletedProcess[str]

_NO_PROGRAM = "install the server's client programs"
# what `pg_dump --format=custom` begins with
_CUSTOM = b"PGDMP"
_HEAD_BYTES = 1024
# what else than text a file may begin with: gzip, zstd, bzip2, and pg_dump --format=tar
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"toc.dat\0")
_NAME = rb'(?:"([^"]+)"|(\w+))'
# owners and rights of a dump, each on a line of its own
_WORDS = (b"ALTER", b"GRANT", b"REVOKE", b"SET SESSION")
_ROLE = re.compile(
    rb"(?:ALTER [^;]* OWNER TO|(?:GRANT|REVOKE) [^;]* (?:TO|FROM)|SET SESSION AUTHORIZATION) " + _NAME
)


def is_custom(file: Path) -> bool:
    """Whether a file is a dump in the custom format."""
    with file.open("rb") as content:
        return content.read(len(_CUSTOM)) == _CUSTOM


def restoring(file: Path) -> str:
    """The commands that load and analyze a dump in the custom format on a server by address; '' for SQL."""
    restore = f'pg_restore --no-owner --dbname "$DSN" {typed(file)} && psql "$DSN" --command=analyze'
    return restore if is_custom(file) else ""


def load_file(
    connection: psycopg.Connection[Any], file: Path, bindir: Path, run: Callable[..., Finished]
) -> None:
    """Loads it into the database of the connection. Raises InputError with the words of the program.

    run: runs a command to its end, with `stdin` to read.
    """
    custom = is_custom(file)
    program = bindir / ("pg_restore" if custom else "psql")
    if not program.exists():
        raise data_error(file, f"there is no {program}", _NO_PROGRAM)
    if not custom:
        with file.open("rb") as content:
            if content.read(_HEAD_BYTES).startswith(_PACKED):
                raise data_error(file, "it is compressed or an archive", "unpack it first")
        _make_roles(connection, file)
    # the program runs as the user of the servers, who may not be let to the file
    with file.open("rb") as content:
        if custom:
            options = ["--no-owner", "--no-privileges", "--exit-on-error"]
            done = run([program, *options, *_into(connection)], stdin=content)
            words = done.stderr if done.returncode else ""
        else:
            words = psql(connection, content, bindir, run)
    if words:
        raise data_error(file, words.replace("psql:<stdin>:", "line "))


def psql(
    connection: psycopg.Connection[Any], script: BinaryIO, bindir: Path, run: Callable[..., Finished]
) -> str:
    """Executes a script in the database of the connection; psql's words where it fails, '' otherwise.

    run: as for load_file.
    """
    program = bindir / "psql"
    if not program.exists():
        raise SubjectFailed(f"there is no {program}: {_NO_PROGRAM}")
    options = ["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--output", "/dev/null", "--file", "-"]
    done = run([program, *options, *_into(connection)], stdin=script)
    return (done.stderr.strip() or f"exit code {done.returncode}") if done.returncode else ""


def _into(connection: psycopg.Connection[Any]) -> list[str]:
    info = connection.info
    return ["--host", info.host, "--port", str(info.port), "--username", info.user, "--dbname", info.dbname]


def _make_roles(connection: psycopg.Connection[Any], file: Path) -> None:
    """Roles that a dump names and this new server does not have: without them it would not load."""
    named: set[str] = set()
    with file.open("rb") as lines:
        for line in lines:
            if line.startswith(_WORDS) and (found := _ROLE.match(line)):
                named.add((found[1] or found[2].lower()).decode(errors="replace"))
    known = {str(name) for (name,) in connection.execute("select rolname from pg_roles").fetchall()}
    for name in sorted(named - known - {"public", "default", "current_user"}):
        connection.execute(sql.SQL("create role {}").format(sql.Identifier(name)))
