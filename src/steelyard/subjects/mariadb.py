"""MariaDB of our own: the programs found on the machine, never the system's instance or its data."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pymysql

from steelyard.host.guard import stop
from steelyard.host.placement import pin
from steelyard.study.errors import InputError
from steelyard.study.factors import settings_of
from steelyard.study.model import Setting
from steelyard.study.plan import Option
from steelyard.study.spec import Study
from steelyard.study.statements import StatementWorkload
from steelyard.subjects import Bench, Endpoint, SubjectFailed
from steelyard.subjects.mariadb_settings import taken, written
from steelyard.subjects.mariadb_tables import load_statements

_START_S = 60.0
_DATABASE = "steelyard"
_LOG_TAIL = 4000

# what a laboratory wants unless the study says otherwise: no work that comes at its own times
_DEFAULTS: dict[str, Setting] = {
    "innodb_buffer_pool_size": "256M",
    "innodb_flush_log_at_trx_commit": 2,
    "innodb_log_file_size": "64M",
    "innodb_buffer_pool_load_at_startup": False,
    "innodb_buffer_pool_dump_at_shutdown": False,
    "max_connections": 200,
    "performance_schema": False,
}

# what one session shows of itself
_STATUS = "(select variable_value from information_schema.session_status where variable_name = '{}')"
INSPECT = {
    "prepared": "select "
    + ", ".join(
        f"{_STATUS.format(f'Com_stmt_{name}')} as {name}s" for name in ("prepare", "execute", "close")
    ),
    "memory": f"select {_STATUS.format('Memory_used')} as session_bytes",
}


def check(study: Study) -> None:
    """The programs are there, and every setting has a place to act. Raises InputError."""
    if not isinstance(study.workload, StatementWorkload):
        raise InputError("MariaDB executes statements", 'kind = "lookup"', ("workload", "kind"))
    if study.subject.dsn:
        raise InputError("MariaDB at an address is not supported yet", "leave it out", ("subject", "dsn"))
    places: list[tuple[tuple[str, ...], str | None]] = [(("subject", "bindir"), study.subject.bindir)]
    for name, factor in study.factors.items():
        if factor.scope == "version":
            places = [
                (("factors", name, "levels", code), str(settings["bindir"]))
                for code, settings in settings_of(name, factor).items()
            ]
    for at, named in places:
        _programs(named, at)


def make(bench: Bench) -> MariaDB:
    """A server of ours."""
    return MariaDB(bench)


class MariaDB:
    """Starts a server for each run on a fresh copy of the same data."""

    monitors: tuple[str, ...] = ("host", "processes", "mariadb")

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._user = _server_user()
        self._server: subprocess.Popen[bytes] | None = None
        self._promise = 0
        self._log = bench.folder / "server.log"
        self._socket = bench.folder / "mariadb.sock"
        self._data = bench.folder / "data"
        bench.folder.chmod(0o711)
        if len(str(self._socket)) > 100:
            raise InputError(
                f"{bench.folder}: too long a path for a Unix socket", "set TMPDIR to a shorter one"
            )

    def start(self, option: Option) -> Endpoint:
        """A server with the option's settings and the data loaded, or SubjectFailed."""
        subject = self._bench.study.subject
        version = option.changes.get("version", {})
        server = _programs(str(version["bindir"]) if "bindir" in version else subject.bindir)
        template = self._template(server)
        shutil.rmtree(self._data, ignore_errors=True)
        # a copy of files: the same pages at the same places for every run
        subprocess.run(["cp", "-a", "--reflink=auto", template, self._data], check=True)
        settings = {**_DEFAULTS, **subject.settings, **option.changes.get("server", {})}
        self._launch(server, self._data, settings)
        try:
            shown = self._read_back(settings, option)
        except BaseException:
            self.stop()
            raise
        session = {**subject.session, **option.changes.get("session", {})}
        assert self._server is not None
        return Endpoint(
            protocol="mysql",
            socket=str(self._socket),
            host="localhost",
            port=3306,
            user="root",
            database=_DATABASE,
            pid=self._server.pid,
            dsn=f"mysql://root@localhost/{_DATABASE}?socket={self._socket}",
            session=tuple(f"set session {name} = {_literal(value)}" for name, value in session.items()),
            inspect=INSPECT,
            facts={
                "origin": str(server),
                "version": shown["version"],
                "settings": shown,
                "sources": dict.fromkeys(settings, "study"),
            },
        )

    def reset(self) -> None:
        """The data came anew with the start."""

    def stop(self) -> str:
        """Ends the server at once; its data are never used again."""
        if self._server is not None:
            with suppress(ProcessLookupError):
                stop(self._server.pid, signal.SIGKILL)
            self._server.wait()
            self._server = None
            self._bench.guard.forget(self._promise)
        try:
            return self._log.read_bytes()[-_LOG_TAIL:].decode(errors="replace").strip()
        except OSError:
            return ""

    def _template(self, server: Path) -> Path:
        """A data directory of this version with the tables in it, made once a study."""
        template = self._bench.folder / f"template-{_version(server)}"
        if template.exists():
            return template
        draft = template.with_suffix(".draft")
        draft.mkdir(mode=0o700)
        if self._user is not None:
            os.chown(draft, self._user.pw_uid, self._user.pw_gid)
            os.chown(self._bench.folder, self._user.pw_uid, self._user.pw_gid)
        made = subprocess.run(
            [
                _beside(server, "mariadb-install-db"), "--no-defaults", f"--datadir={draft}",
                "--auth-root-authentication-method=normal", "--skip-test-db",
                *(f"--{name}={written(_DEFAULTS[name])}" for name in ("innodb_log_file_size",)),
            ],
            capture_output=True,
            text=True,
            cwd="/",
            **self._as_user(),
        )  # fmt: skip
        if made.returncode:
            raise SubjectFailed(f"mariadb-install-db failed: {(made.stderr or made.stdout).strip()[-500:]}")
        self._launch(server, draft, {**_DEFAULTS, "innodb_fast_shutdown": 0})
        try:
            with closing(self._connect("")) as connection, connection.cursor() as cursor:
                cursor.execute(f"create database {_DATABASE}")
                cursor.execute(f"use {_DATABASE}")
                for statement in load_statements(self._bench.work):
                    cursor.execute(statement)
                cursor.execute("shutdown")
            assert self._server is not None
            self._server.wait()
        except pymysql.MySQLError as error:
            raise SubjectFailed(f"the data could not be loaded: {error}") from error
        finally:
            self.stop()
        draft.rename(template)
        return template

    def _launch(self, server: Path, data: Path, settings: dict[str, Setting]) -> None:
        arguments = [f"--{name.replace('_', '-')}={written(value)}" for name, value in settings.items()]
        with self._log.open("wb") as log:
            process = subprocess.Popen[bytes](
                [
                    server, "--no-defaults", f"--datadir={data}", f"--socket={self._socket}",
                    "--skip-networking", f"--pid-file={data / 'pid'}", "--skip-log-bin", *arguments,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
                **self._as_user(),
            )  # fmt: skip
        self._server = process
        self._promise = self._bench.guard.stop_process(process.pid, signal.SIGKILL)
        pin(process.pid, self._bench.placement.server)
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise SubjectFailed(f"MariaDB did not start: {_error(self.stop())}")
            with suppress(pymysql.MySQLError):
                self._connect("").close()
                return
            time.sleep(0.02)
        raise SubjectFailed(f"MariaDB did not answer within {_START_S:.0f} s: {self.stop()}")

    def _read_back(self, settings: dict[str, Setting], option: Option) -> dict[str, str]:
        with closing(self._connect(_DATABASE)) as connection, connection.cursor() as cursor:
            cursor.execute("show global variables")
            shown = {str(name): str(value) for name, value in cursor.fetchall()}
        for name, asked in settings.items():
            if name not in shown:
                raise SubjectFailed(f"option {option.label}: this server has no setting {name}")
            if not taken(asked, shown[name]):
                raise SubjectFailed(
                    f"option {option.label}: the server did not take {name} = {written(asked)}:"
                    f" it has {shown[name]}"
                )
        return shown

    def _connect(self, database: str) -> pymysql.Connection[Any]:
        return pymysql.connect(
            unix_socket=str(self._socket), user="root", database=database or None, connect_timeout=2
        )

    def _as_user(self) -> dict[str, Any]:
        if self._user is None:
            return {}
        return {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}


def _programs(bindir: str | None, at: tuple[str, ...] = ()) -> Path:
    """The server's program. Raises InputError."""
    if bindir is None:
        found = next((Path(p) for p in map(shutil.which, ("mariadbd", "/usr/sbin/mariadbd")) if p), None)
        if found is None:
            raise InputError(
                "MariaDB is not installed here", "apt-get install mariadb-server", ("subject", "kind")
            )
        return found
    for folder in (Path(bindir), Path(bindir).parent / "sbin"):
        if (folder / "mariadbd").exists():
            return folder / "mariadbd"
    raise InputError(f"{bindir}: no program `mariadbd` in it", "apt-get install mariadb-server", at)


def _beside(server: Path, name: str) -> Path:
    """Another program of the same installation: Debian puts the server into sbin, the others into bin."""
    for folder in (server.parent, server.parent.parent / "bin", server.parent.parent / "scripts"):
        if (folder / name).exists():
            return folder / name
    raise InputError(f"{server}: no program `{name}` of the same installation")


def _version(server: Path) -> str:
    shown = subprocess.run([server, "--no-defaults", "--version"], capture_output=True, text=True, check=True)
    # such as: mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64
    return shown.stdout.partition("Ver ")[2].partition("-")[0]


def _server_user() -> pwd.struct_passwd | None:
    """Who runs the server: None for ourselves; as root, `mysql` or else `nobody`."""
    if os.geteuid() != 0:
        return None
    for name in ("mysql", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise InputError("MariaDB refuses to run as root, and there is no user `mysql`", "adduser --system mysql")


def _literal(value: Setting) -> str:
    return str(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"


def _error(log: str) -> str:
    lines = [line for line in log.splitlines() if "[ERROR]" in line]
    return lines[0] if lines else log
