"""Starts and stops real PostgreSQL servers, whoever we are."""

import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from steelyard.monitors import Sample, Target
from steelyard.subjects.postgres.binaries import (
    embedded_bindir,
    installed_bindirs,
    reachable,
)
from steelyard.subjects.servers.identity import account_of_servers

ENTRIES_MAX = 100
PORT = 5499


@dataclass
class Server:
    """A running server. pid: its postmaster."""

    folder: Path
    process: "subprocess.Popen[bytes]"

    @property
    def pid(self) -> int:
        return self.process.pid

    def dsn(self, database: str = "postgres", user: str = "postgres", more: str = "") -> str:
        return f"host={self.folder} port={PORT} user={user} dbname={database} {more}"

    def target(self, **pids: int) -> Target:
        return Target(pids={"server": self.pid, **pids}, dsn=self.dsn())

    def connect(self, **options: Any) -> "psycopg.Connection[Any]":
        return psycopg.connect(self.dsn(**options), autocommit=True)


def bindirs() -> list[Path]:
    embedded = embedded_bindir()
    return ([embedded] if embedded else []) + installed_bindirs()


def start_server(bindir: Path) -> Server:
    account = account_of_servers()
    bindir = reachable(bindir)
    folder = Path(tempfile.mkdtemp(prefix="steelyard-test-"))
    account.own(folder)
    subprocess.run(
        [bindir / "initdb", "-D", folder / "data", "-A", "trust", "-U", "postgres", "--no-sync"],
        check=True,
        capture_output=True,
        cwd=folder,
        **account.arguments,
    )
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(folder),
        "fsync": "off",
        "shared_preload_libraries": "pg_stat_statements",
        "pg_stat_statements.max": str(ENTRIES_MAX),
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    process = subprocess.Popen(
        [bindir / "postgres", "-D", folder / "data", "-p", str(PORT), *options],
        stdout=subprocess.DEVNULL,
        stderr=(folder / "log").open("wb"),
        cwd=folder,
        **account.arguments,
    )
    server = Server(folder, process)
    for _ in range(300):
        try:
            server.connect().close()
        except psycopg.OperationalError:
            assert process.poll() is None, (folder / "log").read_text()
            time.sleep(0.05)
        else:
            break
    return server


def stop_server(server: Server) -> None:
    server.process.send_signal(signal.SIGINT)
    server.process.wait(20)
    shutil.rmtree(server.folder)


Values = dict[tuple[str, str], float]


def values(samples: "list[Sample] | Any") -> Values:
    return {(sample.entity, sample.metric): sample.value for sample in samples}
