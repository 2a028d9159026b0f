"""Creates a PostgreSQL data directory that admits only the lab.

Clients connect by Unix socket with peer authentication: there is no password that could leak, and no other
user of the machine is admitted.
"""

from __future__ import annotations

from pathlib import Path

from steelyard.host.processes.guard import Guard
from steelyard.subjects import SubjectFailed
from steelyard.subjects.servers.account import Account
from steelyard.subjects.servers.daemon import finish
from steelyard.subjects.servers.room import Footprint

# background processes, a session that has cached its catalogue, an empty cluster
FOOTPRINT = Footprint(
    memory_bytes=40 << 20,
    session_bytes=4 << 20,
    disk_bytes=60 << 20,
    buffers=("shared_buffers", 128 << 20, 8 << 10),
    log=("max_wal_size", 1 << 30, 1 << 20),
)

SUPERUSER = "postgres"
_MAP = "steelyard"


def make_cluster(bindir: Path, data: Path, account: Account, guard: Guard, limit_s: float) -> None:
    """Runs initdb in the new folder `data`. Raises SubjectFailed."""
    account.private(data)
    made = finish(
        guard,
        account,
        [
            bindir / "initdb", "--pgdata", data, "--username", SUPERUSER, "--auth", "peer",
            "--encoding", "UTF8", "--no-locale", "--no-sync",
        ],
        data,
        limit_s,
    )  # fmt: skip
    if made.returncode:
        raise SubjectFailed(f"initdb failed: {made.stderr.strip() or made.stdout.strip()}")
    admit(data, account)


def admit(data: Path, account: Account) -> None:
    """Lets the lab in, and nobody else."""
    (data / "pg_hba.conf").write_text(f"local all all peer map={_MAP}\n", encoding="utf-8")
    lines = [f'{_MAP} "{name}" {SUPERUSER}' for name in account.admitted]
    (data / "pg_ident.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
