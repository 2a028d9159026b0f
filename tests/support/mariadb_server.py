"""MariaDB for tests: one that the engine talks to."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
from needs import needs
from servers import free_port, make_certificates
from session_folder import copy_of

from steelyard.subjects.mariadb.data_directory import beside, find_server
from steelyard.subjects.servers.identity import account_of_servers

_CONTENT = (
    "create database lab",
    "create table lab.item (id int primary key, filler varchar(20) not null)",
    "insert into lab.item select seq, 'x' from seq_1_to_1000",
    "create user native@'%' identified by 'opensesame'",
    "grant all on *.* to native@'%'",
)


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
    needs("MariaDB", "openssl")
    with copy_of("mariadb", _make) as folder, serving(folder, settings) as server:
        try:
            yield server
        finally:
            server.process.send_signal(signal.SIGKILL)


def _make(folder: Path) -> None:
    account = account_of_servers()
    make_certificates(folder, account)
    install = [
        beside(find_server(None), "mariadb-install-db"), "--no-defaults", f"--datadir={folder / 'data'}",
        "--auth-root-authentication-method=normal", "--skip-test-db", f"--tmpdir={folder}",
    ]  # fmt: skip
    subprocess.run(install, check=True, capture_output=True, cwd="/", **account.arguments)
    with serving(folder, ()) as server:
        for statement in _CONTENT:
            server.ask(statement)


@contextmanager
def serving(folder: Path, settings: Sequence[str]) -> Generator[Server]:
    """A server on the data of a folder, which is shut down at the end."""
    port = free_port()
    process = subprocess.Popen(
        [
            find_server(None), "--no-defaults", f"--datadir={folder / 'data'}",
            f"--socket={folder / 'm.sock'}", f"--port={port}", "--bind-address=127.0.0.1",
            f"--ssl-cert={folder / 'server.crt'}",
            f"--ssl-key={folder / 'server.key'}", f"--ssl-ca={folder / 'ca.crt'}",
            "--innodb-flush-log-at-trx-commit=2", f"--tmpdir={folder}", *settings,
        ],
        stdout=subprocess.DEVNULL,
        stderr=(folder / "log").open("wb"),
        cwd="/",
        start_new_session=True,
        **account_of_servers().arguments,
    )  # fmt: skip
    server = Server(folder, port, process)
    try:
        _await(server)
        yield server
    finally:
        process.terminate()
        process.wait()


def _await(server: Server) -> None:
    for _ in range(1200):
        assert server.process.poll() is None, (server.folder / "log").read_text(encoding="utf-8")
        try:
            server.ask("select 1")
            return
        except pymysql.OperationalError:
            time.sleep(0.05)
    raise AssertionError("MariaDB does not answer")
