"""MariaDB for tests: one that the engine talks to; whether it and the pooler are there at all."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
import pytest

from servers import free_port, make_certificates
from steelyard.study.errors import InputError
from steelyard.subjects.mariadb.binaries import beside, find_server
from steelyard.subjects.servers.account import account_of_servers


def needs_mariadb() -> Path:
    """The server's program; skips the test on a user's machine without one, never in CI."""
    try:
        return find_server(None)
    except InputError as missing:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"{missing}: {missing.hint}")


def needs_pgbouncer() -> None:
    """Skips the test on a user's machine without it, never in CI."""
    if not shutil.which("pgbouncer") and not shutil.which("/usr/sbin/pgbouncer"):
        assert os.environ.get("CI") != "true", "pgbouncer is not installed"
        pytest.skip("pgbouncer is not installed: apt-get install pgbouncer")


@dataclass(frozen=True)
class Server:
    """A MariaDB server: Unix socket, and TCP with TLS."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def socket(self) -> str:
        return str(self.folder / "m.sock")

    def endpoint(self, **changes: Any) -> dict[str, Any]:
        """The plan's server, by Unix socket unless changed."""
        endpoint = {
            "protocol": "mysql", "socket": self.socket, "host": "127.0.0.1", "port": self.port,
            "user": "root", "password": None, "database": "lab", "tls": "disable", "ca_file": None,
        }  # fmt: skip
        return endpoint | changes

    def ask(self, sql: str) -> Any:
        """The first column of the first row, None when there is none."""
        connection = pymysql.connect(unix_socket=self.socket, user="root", database="mysql", autocommit=True)
        with closing(connection), connection.cursor() as cursor:
            cursor.execute(sql)
            row = cursor.fetchone()
            return row[0] if row else None

    def status(self, variable: str) -> int:
        """A counter of the whole server."""
        where = f"where variable_name = '{variable}'"
        return int(self.ask(f"select variable_value from information_schema.global_status {where}"))


@contextmanager
def mariadb(*settings: str) -> Iterator[Server]:
    """A server with a table `item` of 1000 rows, TLS, and users with passwords."""
    program = needs_mariadb()
    account = account_of_servers()
    folder = Path(tempfile.mkdtemp(prefix="steelyard-test-"))
    account.own(folder)
    process: subprocess.Popen[bytes] | None = None
    try:
        make_certificates(folder, account)
        install = [
            beside(program, "mariadb-install-db"), "--no-defaults", f"--datadir={folder / 'data'}",
            "--auth-root-authentication-method=normal", "--skip-test-db",
        ]  # fmt: skip
        subprocess.run(install, check=True, capture_output=True, cwd="/", **account.arguments)
        port = free_port()
        process = subprocess.Popen(
            [
                program, "--no-defaults", f"--datadir={folder / 'data'}", f"--socket={folder / 'm.sock'}",
                f"--port={port}", "--bind-address=127.0.0.1", f"--ssl-cert={folder / 'server.crt'}",
                f"--ssl-key={folder / 'server.key'}", f"--ssl-ca={folder / 'ca.crt'}",
                "--innodb-flush-log-at-trx-commit=2", *settings,
            ],
            stdout=subprocess.DEVNULL,
            stderr=(folder / "log").open("wb"),
            cwd="/",
            start_new_session=True,
            **account.arguments,
        )  # fmt: skip
        server = Server(folder, port, process)
        _await(server)
        for statement in (
            "create database lab",
            "create table lab.item (id int primary key, filler varchar(20) not null)",
            "insert into lab.item select seq, 'x' from seq_1_to_1000",
            "create user native@'%' identified by 'opensesame'",
            "grant all on *.* to native@'%'",
        ):
            server.ask(statement)
        yield server
    finally:
        if process is not None:
            process.send_signal(signal.SIGKILL)
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _await(server: Server) -> None:
    for _ in range(1200):
        assert server.process.poll() is None, (server.folder / "log").read_text(encoding="utf-8")
        try:
            server.ask("select 1")
            return
        except pymysql.OperationalError:
            time.sleep(0.05)
    raise AssertionError("MariaDB does not answer")
