"""Creates a PostgreSQL data directory that admits only the lab.

Clients connect by Unix socket with peer authentication: there is no password that could leak, and no other
user of the machine is admitted. Hosts of a fleet connect by TCP, with a password of this server alone.
"""

from collections.abc import Sequence
from pathlib import Path

import psycopg
from psycopg import sql

from steelyard.errors import InputError
from steelyard.study.key_types import Settings
from steelyard.study.study import Options, Study
from steelyard.subjects.postgres.binaries import find_bindir, major_of
from steelyard.subjects.postgres.session import SUPERUSER, Connection, written
from steelyard.subjects.servers.daemon import Daemon
from steelyard.subjects.servers.identity import Account
from steelyard.subjects.servers.room import Footprint, Size
from steelyard.subjects.servers.templates import copied, make_data
from steelyard.workloads import work_of

# background processes, a session that has cached its catalogue, an empty cluster
FOOTPRINT = Footprint(
    memory_bytes=40 << 20,
    session_bytes=4 << 20,
    disk_bytes=60 << 20,
    buffers=Size("shared_buffers", 128 << 20, 8 << 10),
    log=Size("max_wal_size", 1 << 30, 1 << 20),
    own=(Size("wal_buffers", 16 << 20, 8 << 10), Size("maintenance_work_mem", 64 << 20, 1 << 10)),
    of_session=(Size("work_mem", 4 << 20, 1 << 10), Size("temp_buffers", 8 << 20, 8 << 10)),
    make_s=2.0,
    rows_per_s=300_000,
)

_INITDB = ("--username", SUPERUSER, "--auth", "peer", "--encoding", "UTF8", "--no-locale", "--no-sync")
_MAP = "steelyard"
# subscriptions and jobs of copied data do not run; archive_mode keeps its cost, and WAL reaches no archive
_QUIET: Settings = {
    "max_logical_replication_workers": 0,
    "cron.launch_active_jobs": False,
    "archive_command": "/bin/true",
}

# https://www.postgresql.org/docs/18/release-18.html: initdb enables them by default
_ON_SINCE = 18

# settings are those of the study; the copy starts as a primary
_LEFT_OUT = ("postgresql.auto.conf", "postmaster.opts", "standby.signal", "recovery.signal")


def make_cluster(daemon: Daemon, bindir: Path, data: Path, more: Sequence[str]) -> None:
    """Makes the data directory `data` with initdb, or from its template. Raises SubjectFailed.

    more: further arguments of initdb.
    """
    options = (*_INITDB, *more)
    make_data(daemon, bindir / "postgres", bindir / "initdb", options, (f"--pgdata={data}",), data)


def admit(data: Path, account: Account, networks: Sequence[str]) -> None:
    """Lets the lab in, the clients in these networks by password, and nobody else."""
    rules = [f"local all all peer map={_MAP}"]
    rules += [f"host all {SUPERUSER} {network} scram-sha-256" for network in networks]
    (data / "pg_hba.conf").write_text("\n".join(rules) + "\n", encoding="utf-8")
    lines = [f'{_MAP} "{name}" {SUPERUSER}' for name in account.admitted]
    (data / "pg_ident.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")


def server_arguments(settings: Settings, data: Path, daemon: Daemon) -> list[str]:
    """Arguments of `postgres` for these settings; the lab's own come last, because the last value counts."""
    own = {
        **settings,
        **_QUIET,
        "data_directory": str(data),
        "port": daemon.network.port,
        "listen_addresses": daemon.network.address,
        "unix_socket_directories": str(daemon.folder),
        "unix_socket_permissions": "0700",
    }
    return ["-D", str(data), *(f"--{name}={written(value)}" for name, value in own.items())]


def checksum_arguments(study: Study, options: Options, bindir: Path) -> list[str]:
    """Arguments of this version's initdb for what the study wants; []: its own default."""
    wanted = _wanted(study, options)
    if wanted == "server" or wanted == _default(bindir):
        return []
    # versions before have no argument to switch off what is off
    return ["--data-checksums" if wanted == "on" else "--no-data-checksums"]


def checksums(study: Study, options: Options) -> str:
    """`data checksums are on in every option: ...`; '' where each server has its own default.

    Raises InputError where a copied data directory has its own.
    """
    subject, wanted = study.subject, _wanted(study, options)
    if wanted == "server":
        if subject.data_checksums in ("on", "off"):
            raise InputError(
                "has no effect: a data directory keeps its own",
                "leave it out, or change a copy of the data directory with pg_checksums",
                ("subject", "data_checksums"),
            )
        return ""
    why = "" if subject.data_checksums != "auto" else ": the versions' defaults differ"
    return f"data checksums are {wanted} in every option{why} (subject.data_checksums)"


def _wanted(study: Study, options: Options) -> str:
    """on, off or server. A copied data directory, or a server at an address, has what it has."""
    subject = study.subject
    if subject.dsn or work_of(study.workload).directory is not None:
        return "server"
    if subject.data_checksums != "auto":
        return subject.data_checksums
    return "on" if len({_default(find_bindir(option.bindir)) for option in options}) > 1 else "server"


def _default(bindir: Path) -> str:
    return "on" if major_of(bindir) >= _ON_SINCE else "off"


def why_in_use(version: Path) -> str:
    """A sentence where a server runs on the directory of this file; '' where none does. Raises OSError."""
    version.read_text()
    running = (version.parent / "postmaster.pid").exists()
    return "a server runs on it, or did not end by itself: postmaster.pid is there" if running else ""


def copy_directory(directory: Path, to: Path, account: Account) -> None:
    """Copies it for the user of the servers, with no settings of its own. Raises SubjectFailed."""
    copied(directory, to, account)
    for name in _LEFT_OUT:
        (to / name).unlink(missing_ok=True)
    for name in ("postgresql.conf", "pg_hba.conf", "pg_ident.conf"):
        (to / name).unlink(missing_ok=True)
        (to / name).touch(mode=0o600)
        account.own(to / name)


def rename_database(connection: Connection, name: str, to: str) -> None:
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
