"""Creates a PostgreSQL data directory that admits only the lab.

Clients connect by Unix socket with peer authentication: there is no password that could leak, and no other
user of the machine is admitted. Hosts of a fleet connect by TCP, with a password of this server alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from steelyard.host.processes.guard import Guard
from steelyard.subjects import SubjectFailed
from steelyard.subjects.servers.account import Account
from steelyard.subjects.servers.daemon import finish
from steelyard.subjects.servers.room import Footprint, Size

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
_MAP = "steelyard"


def make_cluster(
    bindir: Path, data: Path, account: Account, guard: Guard, limit_s: float, more: Sequence[str]
) -> None:
    """Runs initdb in the new folder `data`, with more arguments. Raises SubjectFailed."""
    account.private(data)
    made = finish(
        guard,
        account,
        [
            bindir / "initdb", "--pgdata", data, "--username", SUPERUSER, "--auth", "peer",
            "--encoding", "UTF8", "--no-locale", "--no-sync", *more,
        ],
        data,
        limit_s,
    )  # fmt: skip
    if made.returncode:
        raise SubjectFailed(f"initdb failed: {made.stderr.strip() or made.stdout.strip()}")


def admit(data: Path, account: Account, networks: Sequence[str] = ()) -> None:
    """Lets the lab in, the clients in these networks by password, and nobody else."""
    rules = [f"local all all peer map={_MAP}"]
    rules += [f"host all {SUPERUSER} {network} scram-sha-256" for network in networks]
    (data / "pg_hba.conf").write_text("\n".join(rules) + "\n", encoding="utf-8")
    lines = [f'{_MAP} "{name}" {SUPERUSER}' for name in account.admitted]
    (data / "pg_ident.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
