"""Creates and fills the tables of a workload in PostgreSQL."""

import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, LiteralString, cast

import psycopg
from psycopg import sql

from steelyard.errors import typed
from steelyard.study.study import Option, Study
from steelyard.subjects import SubjectFailed
from steelyard.subjects.postgres.session import Connection
from steelyard.subjects.servers.templates import (
    apply_levels,
    begins_with,
    data_error,
    script_error,
    tables_created,
)
from steelyard.workloads import DataTable, FileTable, Work

Finished = subprocess.CompletedProcess[str]

_NO_PROGRAM = "install the server's client programs"
# what `pg_dump --format=custom` begins with
_CUSTOM = b"PGDMP"
# what else than text a file may begin with: gzip, zstd, bzip2, and pg_dump --format=tar
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"toc.dat\0")
_NAME = rb'(?:"([^"]+)"|(\w+))'
# owners and rights of a dump, each on a line of its own
_WORDS = (b"ALTER", b"GRANT", b"REVOKE", b"SET SESSION")
_ROLE = re.compile(
    rb"(?:ALTER [^;]* OWNER TO|(?:GRANT|REVOKE) [^;]* (?:TO|FROM)|SET SESSION AUTHORIZATION) " + _NAME
)

_PLACE = re.compile(r"psql:<stdin>:(\d+): (?:ERROR|FATAL):\s*")
_SIZES = """
select coalesce(sum(pg_table_size(c.oid)), 0)::bigint, coalesce(sum(pg_indexes_size(c.oid)), 0)::bigint
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'm') and n.nspname <> 'information_schema' and n.nspname !~ '^pg_'
"""


def load(connection: Connection, work: Work, folder: Path, load_file: Callable[[Path], None]) -> None:
    """Fills an empty database. folder: for temporary files; load_file: loads a data file.

    Raises psycopg.Error, OSError; InputError where the study's own script fails.
    """
    for table in work.files:
        _fill(connection, table, folder)
    for part in work.loading(_create):
        if isinstance(part, Path):
            load_file(part)
        elif part == work.script:
            _run_script(connection, work)
        else:
            connection.execute(cast(LiteralString, part))
    connection.execute("vacuum (freeze, analyze)")


def load_statements(work: Work) -> list[str | Path]:
    """SQL and a data file for the tables of a workload, in order, without those from programs.

    For any user: of other tables, VACUUM would only warn that it skips them.
    """
    tables = ", ".join(dict.fromkeys([*(table.name for table in work.tables), *tables_created(work)]))
    # pg_dump empties the search path, in which the script's own tables are
    path = ["reset search_path"] if work.data is not None and tables else []
    return [*work.loading(_create), *path, *([f"vacuum (freeze, analyze) {tables}"] if tables else [])]


def _run_script(connection: Connection, work: Work) -> None:
    try:
        connection.execute(cast(LiteralString, work.script))
    except psycopg.Error as error:
        position = error.diag.statement_position
        line = 1 + work.script.count("\n", 0, int(position) - 1) if position else 0
        hint = "data_file takes COPY ... FROM stdin" if "COPY" in str(error).upper() else ""
        words = error.diag.message_primary or str(error)
        raise script_error(work, f"{words} ({error.sqlstate})", hint, line) from None


def _create(table: DataTable) -> list[str]:
    columns = ", ".join(f"{c.name} {c.type} not null" for c in table.columns)
    values = ", ".join(f"({c.value})::{c.type}" for c in table.columns)
    return [
        f"create table {table.name} ({columns})",
        f"insert into {table.name} select {values} from generate_series(1, {table.rows}) as n",
        f"alter table {table.name} add primary key ({table.columns[0].name})",
    ]


def _fill(connection: Connection, table: FileTable, folder: Path) -> None:
    """Loads rows first and builds indexes afterwards: this takes half the time."""
    path = table.write(folder)

    def execute(text: str) -> None:
        connection.execute(cast(LiteralString, text))

    with connection.transaction():
        execute(f"create table {table.name} ({table.columns})")
        # frozen: otherwise the first query would set hint bits, and so write
        copy = f"copy {table.name} from stdin (format csv, header, null 'NULL', freeze)"
        with path.open("rb") as rows, connection.cursor().copy(cast(LiteralString, copy)) as sink:
            while part := rows.read(1 << 20):
                sink.write(part)
    path.unlink()
    execute("set maintenance_work_mem = '256MB'")
    if table.key:
        execute(f"alter table {table.name} add primary key ({table.key})")
    for columns in table.indexes:
        execute(f"create index on {table.name} ({columns})")
    execute("reset maintenance_work_mem")


def restoring(file: Path) -> str:
    """The commands that load and analyze a dump in the custom format on a server by address; '' for SQL."""
    restore = f'pg_restore --no-owner --dbname "$DSN" {typed(file)} && psql "$DSN" --command=analyze'
    return restore if begins_with(file, _CUSTOM) else ""


def load_file(connection: Connection, file: Path, bindir: Path, run: Callable[..., Finished]) -> None:
    """Loads it into the database of the connection. Raises InputError with the words of the program.

    run: runs a command to its end, with `stdin` to read.
    """
    custom = begins_with(file, _CUSTOM)
    program = bindir / ("pg_restore" if custom else "psql")
    if not program.exists():
        raise data_error(file, f"there is no {program}", _NO_PROGRAM)
    if not custom:
        if begins_with(file, *_PACKED):
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


def psql(connection: Connection, script: BinaryIO, bindir: Path, run: Callable[..., Finished]) -> str:
    """Executes a script in the database of the connection; psql's words where it fails, '' otherwise.

    run: as for load_file.
    """
    program = bindir / "psql"
    if not program.exists():
        raise SubjectFailed(f"there is no {program}: {_NO_PROGRAM}")
    options = ["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--output", "/dev/null", "--file", "-"]
    done = run([program, *options, *_into(connection)], stdin=script)
    return (done.stderr.strip() or f"exit code {done.returncode}") if done.returncode else ""


def _into(connection: Connection) -> list[str]:
    info = connection.info
    return ["--host", info.host, "--port", str(info.port), "--username", info.user, "--dbname", info.dbname]


def _make_roles(connection: Connection, file: Path) -> None:
    """Roles that a dump names and this new server does not have: without them it would not load."""
    named = set[str]()
    with file.open("rb") as lines:
        for line in lines:
            if line.startswith(_WORDS) and (found := _ROLE.match(line)):
                named.add((found[1] or found[2].lower()).decode(errors="replace"))
    known = {str(name) for (name,) in connection.execute("select rolname from pg_roles").fetchall()}
    for name in sorted(named - known - {"public", "default", "current_user"}):
        connection.execute(sql.SQL("create role {}").format(sql.Identifier(name)))


def apply_schema(
    connection: Connection, study: Study, option: Option, psql: Callable[[BinaryIO], str]
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
    tables_bytes, indexes_bytes = connection.execute(_SIZES).fetchone() or (0, 0)
    return {"sql_s": seconds, "tables_bytes": tables_bytes, "indexes_bytes": indexes_bytes}
