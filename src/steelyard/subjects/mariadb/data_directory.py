"""Data of a MariaDB: a new directory, or a copy of another server's, never changed; and who is let in."""

import fcntl
import os
import re
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pymysql
from pymysql.cursors import Cursor

from steelyard.errors import InputError, brief
from steelyard.host.mariadb_login import error_text
from steelyard.study.study import Option, Study
from steelyard.subjects.mariadb.session import Connection
from steelyard.subjects.servers import templates
from steelyard.subjects.servers.daemon import Daemon
from steelyard.subjects.servers.network import Listening
from steelyard.subjects.servers.option_settings import version_said
from steelyard.subjects.servers.room import Footprint, Size
from steelyard.workloads import DataTable, FileTable, Work

_INSTALL = "apt-get install mariadb-server"


def find_server(bindir: str | None) -> Path:
    """The program `mariadbd`, of a study's bindir or of this machine. Raises InputError."""
    if bindir is None:
        # sbin is not on every user's PATH
        found = shutil.which("mariadbd") or shutil.which("/usr/sbin/mariadbd")
        if found is None:
            raise InputError("MariaDB is not installed on this machine", _INSTALL, ("subject", "kind"))
        return Path(found)
    named = Path(bindir).expanduser()
    # Debian has the server in sbin, the other programs in bin
    for folder in (named, named.parent / "sbin") if os.path.isdir(named) else ():  # noqa: PTH112  too long a name
        if (folder / "mariadbd").exists():
            return folder / "mariadbd"
    raise InputError(f"{brief(str(named))}: no program `mariadbd` in it", _INSTALL)


def beside(server: Path, name: str) -> Path:
    """Another program of the installation: Debian has the server in sbin, the other programs in bin."""
    for folder in (server.parent, server.parent.parent / "bin", server.parent.parent / "scripts"):
        if (folder / name).exists():
            return folder / name
    raise InputError(f"{server}: no program `{name}` of the same installation", _INSTALL)


def version_of(server: Path) -> str:
    """The version from `mariadbd --version`, such as '10.11.14'. Raises InputError."""
    # such as: mariadbd  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu on x86_64
    return version_said(server, "--no-defaults").partition("Ver ")[2].partition("-")[0].strip()


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

_TYPES = {"integer": "int", "text": "varchar(255)"}

_OURS = "from information_schema.tables where table_schema = database() and table_type = 'BASE TABLE'"
_LINE = re.compile(r" at line (\d+)$")


def check_directory(work: Work) -> None:
    """It is one, of a server that does not run, with the database of the study. Raises InputError."""
    templates.check_directory(work, "ibdata1", _why_in_use, "mysqldump")
    directory = work.directory
    if directory is not None and not (directory / work.database).is_dir():
        others = ", ".join(sorted(place.name for place in directory.iterdir() if place.is_dir()))
        raise InputError(
            f'data_directory has no database "{work.database}"',
            f"it has: {others}",
            (_AT[0], "data_database"),
        )


def _why_in_use(tablespace: Path) -> str:
    try:
        with tablespace.open("rb") as file:
            # InnoDB holds a lock on it as long as a server runs
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return "a server runs on it"
    return ""


def make_directory(daemon: Daemon, server: Path, data: Path) -> None:
    """Makes the data directory `data` with mariadb-install-db or from its template. Raises SubjectFailed."""
    templates.make_data(
        daemon,
        server,
        beside(server, "mariadb-install-db"),
        (
            "--no-defaults", "--auth-root-authentication-method=socket",
            f"--auth-root-socket-user={daemon.account.caller}", "--skip-test-db",
        ),
        (f"--datadir={data}", f"--tmpdir={daemon.folder}"),
        data,
        [daemon.folder],
    )  # fmt: skip


def admit(connection: Connection, user: str) -> None:
    """Lets the lab in by its user of the system; the server was started without a look at its users."""
    with closing(connection), connection.cursor() as cursor:
        try:
            cursor.execute("flush privileges")
            cursor.execute(f"create or replace user '{user}'@'localhost' identified via unix_socket")
            cursor.execute(f"grant all on *.* to '{user}'@'localhost' with grant option")
            cursor.execute("shutdown")
        except pymysql.MySQLError as error:
            raise InputError(f"data_directory: {error_text(error)}", at=_AT) from None


def load(connection: Connection, work: Work, folder: Path, load_file: Callable[[Path], None]) -> None:
    """Fills an empty database over a connection that takes several statements at once.

    folder: for files, where the server can read them; load_file: takes a file of data. Raises
    pymysql.MySQLError, OSError; InputError where the study's own script fails.
    """
    with connection.cursor() as cursor:
        for table in work.files:
            path = table.write(folder)
            for statement in _fill(table, path):
                cursor.execute(statement)
            connection.commit()
            path.unlink()
        for part in load_statements(work):
            if isinstance(part, Path):
                connection.commit()
                load_file(part)
            elif part == work.script:
                if words := _execute(cursor, part):
                    raise templates.script_error(work, words)
            else:
                cursor.execute(part)
        connection.commit()


def _execute(cursor: Cursor, script: str) -> str:
    """Executes several statements; the server's words where one fails, '' otherwise."""
    try:
        cursor.execute(script)
        while cursor.nextset():
            pass
    except pymysql.MySQLError as error:
        return error_text(error) or type(error).__name__
    return ""


def load_statements(work: Work) -> list[str | Path]:
    """SQL and a data file for the tables of a workload, in order, without those from programs."""
    # values are written in standard SQL, where || joins texts
    statements = ["set session sql_mode = concat(@@sql_mode, ',PIPES_AS_CONCAT')", *work.loading(_create)]
    names = [*(table.name for table in (*work.files, *work.tables)), *templates.tables_created(work)]
    return [*statements, f"analyze table {', '.join(dict.fromkeys(names))}"] if names else statements


def _create(table: DataTable) -> list[str]:
    columns = ", ".join(f"{c.name} {_TYPES[c.type]} not null" for c in table.columns)
    values = ", ".join(c.value for c in table.columns)
    return [
        f"create table {table.name} ({columns}, primary key ({table.columns[0].name})) engine = InnoDB",
        # n is the number of the row, by MariaDB's table of numbers
        f"insert into {table.name} select {values} from"
        f" (select seq as n from seq_1_to_{table.rows}) as numbers",
    ]


def _fill(table: FileTable, path: Path) -> list[str]:
    """Rows are stored in the primary key, so it exists first; other indexes are built afterwards."""
    key = f", primary key ({table.key})" if table.key else ""
    return [
        f"create table {table.name} ({table.columns}{key}) engine = InnoDB",
        f"load data infile '{path}' into table {table.name} character set utf8mb4"
        " fields terminated by ',' optionally enclosed by '\"' escaped by '' ignore 1 lines",
        *(f"alter table {table.name} add index ({columns})" for columns in table.indexes),
    ]


def load_file(file: Path, server: Path, user: str, database: str, daemon: Daemon) -> None:
    """Loads it into the database. Raises InputError with the words of the client."""
    try:
        client = beside(server, "mariadb")
    except InputError as error:
        raise templates.data_error(file, str(error), "apt-get install mariadb-client") from None
    options = ["--no-defaults", f"--socket={daemon.socket}", f"--user={user}", f"--database={database}"]
    # the client runs as the user of the servers, who may not be let to the file
    with file.open("rb") as content:
        done = daemon.finish([client, *options, "--batch", "--silent"], stdin=content)
    if done.returncode:
        raise templates.data_error(file, done.stderr)


def apply_schema(connection: Connection, study: Study, option: Option) -> dict[str, float]:
    """Executes the SQL of the option's levels, then ANALYZE TABLE; what it took, by name with unit.

    connection: takes several statements at once. Raises pymysql.MySQLError, InputError.
    """
    with connection.cursor() as cursor:

        def execute(sql: str) -> tuple[str, int]:
            words = _execute(cursor, sql)
            found = _LINE.search(words)
            return words, int(found[1]) if found else 0

        seconds = templates.apply_levels(study, option, execute)
        connection.commit()
        cursor.execute(f"select table_name {_OURS}")
        for (name,) in cursor.fetchall():
            quoted = str(name).replace("`", "``")
            cursor.execute(f"analyze table `{quoted}`")
        cursor.execute(f"select coalesce(sum(data_length), 0), coalesce(sum(index_length), 0) {_OURS}")
        tables_bytes, indexes_bytes = cursor.fetchone() or (0, 0)
    return {"sql_s": seconds, "tables_bytes": int(tables_bytes), "indexes_bytes": int(indexes_bytes)}


# who the hosts of a fleet are
LOAD_USER = "steelyard_load"
# replication and events of copied data do not start
_QUIET = ("--skip-slave-start", "--event-scheduler=OFF")


def listen_arguments(network: Listening) -> list[str]:
    """Of the server: it listens on the address of its host, or on its socket alone; no replication."""
    if not network.address:
        return [*_QUIET, "--skip-networking"]
    return [*_QUIET, "--skip-networking=OFF", f"--bind-address={network.address}", f"--port={network.port}"]


def admit_hosts(connection: Connection, network: Listening) -> None:
    """Lets the clients in, each from its own address alone, and nobody else by the network."""
    if not network.address:
        return
    with connection.cursor() as cursor:
        # a copied data directory brings the users of its server
        cursor.execute("select user, host from mysql.user where host not in ('', 'localhost')")
        for user, host in cursor.fetchall():
            cursor.execute("drop user %s@%s", (user, host))
        for client in network.clients:
            cursor.execute(
                "create or replace user %s@%s identified by %s", (LOAD_USER, client, network.password)
            )
            cursor.execute("grant all on *.* to %s@%s", (LOAD_USER, client))
