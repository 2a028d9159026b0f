"""Creates a PostgreSQL data directory that admits only the lab.

Clients connect by Unix socket with peer authentication: there is no password that could leak, and no other
user of the machine is admitted. Hosts of a fleet connect by TCP, with a password of this server alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from steelyard.study.key_types import Setting
from steelyard.subjects import Bench
from steelyard.subjects.postgres.settings_read_back import written
from steelyard.subjects.servers.account import Account
from steelyard.subjects.servers.network import Listening
from steelyard.subjects.servers.room import Footprint, Size
from steelyard.subjects.servers.templates import make_data

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

SUPERUSER = "postgres"
_INITDB = ("--username", SUPERUSER, "--auth", "peer", "--encoding", "UTF8", "--no-locale", "--no-sync")
_MAP = "steelyard"
# subscriptions and jobs of copied data do not run; archive_mode keeps its cost, and WAL reaches no archive
_QUIET: Mapping[str, Setting] = {
    "max_logical_replication_workers": 0,
    "cron.launch_active_jobs": False,
    "archive_command": "/bin/true",
}


def make_cluster(bench: Bench, account: Account, bindir: Path, data: Path, more: Sequence[str]) -> None:
    """Makes the data directory `data` with initdb, or from its template. Raises SubjectFailed.

    more: further arguments of initdb.
    """
    options = (*_INITDB, *more)
    make_data(bench, account, bindir / "postgres", bindir / "initdb", options, (f"--pgdata={data}",), data)


def admit(data: Path, account: Account, networks: Sequence[str] = ()) -> None:
    """Lets the lab in, the clients in these networks by password, and nobody else."""
    rules = [f"local all all peer map={_MAP}"]
    rules += [f"host all {SUPERUSER} {network} scram-sha-256" for network in networks]
    (data / "pg_hba.conf").write_text("\n".join(rules) + "\n", encoding="utf-8")
    lines = [f'{_MAP} "{name}" {SUPERUSER}' for name in account.admitted]
    (data / "pg_ident.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")


def server_arguments(
    settings: Mapping[str, Setting], data: Path, socket: Path, network: Listening
) -> list[str]:
    """Arguments of `postgres` for these settings; the lab's own come last, because the last value counts."""
    own: dict[str, Setting] = {
        **settings,
        **_QUIET,
        "data_directory": str(data),
        "port": network.port,
        "listen_addresses": network.address,
        "unix_socket_directories": str(socket.parent),
        "unix_socket_permissions": "0700",
    }
    return ["-D", str(data), *(f"--{name}={written(value)}" for name, value in own.items())]
