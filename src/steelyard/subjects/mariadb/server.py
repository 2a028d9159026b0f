"""MariaDB servers that the lab starts: installed programs, never the system's instance or its data."""

import re
import shutil
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pymysql
from pymysql.constants import CLIENT

from steelyard.host.mariadb_login import error_text
from steelyard.host.processes.limits import TimedOut, within
from steelyard.study.key_types import Settings
from steelyard.study.study import Option, Options, Study
from steelyard.subjects import SQL_WORK, Bench, Kind, Load, Server, SharedSubject, Subject, SubjectFailed
from steelyard.subjects.drivers.connection import NATIVE_ACCESS, by_own_driver
from steelyard.subjects.mariadb import data_directory, session
from steelyard.subjects.mariadb.by_address import ForeignMariaDB
from steelyard.subjects.servers.by_address import check_foreign
from steelyard.subjects.servers.daemon import Daemon, Running, requested
from steelyard.subjects.servers.option_settings import folders_of, programs_of, refuse_lab_settings
from steelyard.subjects.servers.templates import copied, copy_files, identity_of, with_levels
from steelyard.workloads import work_of

_DATABASE = "steelyard"
_PORT = 3306
_SQL_S = 30.0
_CONNECT_S = 5.0
_ERROR = re.compile(r"\[ERROR\] (?:Buffered error: )?(?:\S*mariadbd: )?(.*)")
_LATCHES = ("mutex", "rwlock", "sxlock")

# what the lab needs, and no load of the buffer pool during a run; all else is the server's own default
_DEFAULTS: Settings = {
    "innodb_buffer_pool_load_at_startup": False,
    "innodb_buffer_pool_dump_at_shutdown": False,
    "max_connections": 200,
    "performance_schema": False,
}
_DURABILITY_OFF: Settings = {"innodb_flush_log_at_trx_commit": 0, "innodb_doublewrite": False}


def check(study: Study, options: Options) -> None:
    """Checks that the programs of every version exist, and no setting is the lab's. Raises InputError."""
    refuse_lab_settings(study, "session", "mariadb")
    if study.subject.dsn:
        check_foreign(study)
        return
    programs_of(
        study, lambda bindir: data_directory.beside(data_directory.find_server(bindir), "mariadb-install-db")
    )
    data_directory.check_directory(work_of(study.workload))
    refuse_lab_settings(study, "server", "mariadb", lambda _: False)


def make(bench: Bench) -> Subject:
    """A server that the lab starts, or the server at the study's address."""
    return ForeignMariaDB(bench) if bench.study.subject.dsn else MariaDB(bench)


class MariaDB(SharedSubject):
    """Starts a server for each run on a fresh copy of the same data."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._server = Daemon(bench, "MariaDB", "server.log", "mariadb.sock", _PORT, reason=_error)
        self._user = self._server.account.caller  # admitted without a password, by its socket
        self._data = bench.folder / "data"
        self._database = bench.work.database or _DATABASE
        self._costs: dict[Path, dict[str, float]] = {}
        self._running: Running | None = None
        self._folders = folders_of(bench.study, bench.options)

    def start(self, option: Option) -> Load:
        """A server with the option's settings and the same pages at the same places, or SubjectFailed."""
        server = data_directory.find_server(option.bindir)

        def alter(draft: Path, data: Path) -> None:
            self._filled(server, draft, data, lambda: self._alter(data, option))

        template = with_levels(self._template(server), option, alter)
        shutil.rmtree(self._data, ignore_errors=True)
        copy_files(template, self._data)
        settings = requested(self._bench, _DEFAULTS, option)
        self._running = Running(self._launch(server, self._data, settings), server, template, settings)
        return self.join(option)

    def join(self, option: Option) -> Load:
        """The load of an option on the server that runs, its settings read back. Raises SubjectFailed."""
        running = self._running
        assert running is not None
        connect, network = partial(self._connect, self._database), self._server.network

        def read_back() -> tuple[dict[str, Any], bool]:
            with closing(connect()) as connection:
                shown = session.variables(connection, "global")
                session.refuse_not_taken(connection, shown, running.settings, running.programs)
                escapes = session.read_back_session(connection, option)
                sources = session.sources_of(connection)
                return {"build": shown["version"], "settings": shown, "sources": sources}, escapes

        try:
            facts, escapes = within(_SQL_S, "reading the settings back", read_back)
            interruption = session.watched(connect, self._server.ended)
        except pymysql.MySQLError as error:
            raise SubjectFailed(f"option {option.label}: {error_text(error)}") from error
        under_load = Server(
            protocol="mysql",
            escapes=escapes,
            socket=None if network.address else str(self._server.socket),
            host=network.address or "localhost",
            port=network.port,
            user=data_directory.LOAD_USER if network.address else self._user,
            password=network.password,
            database=self._database,
            pid=running.pid,
            dsn=f"mysql://{quote(self._user)}@localhost/{quote(self._database)}?socket={self._server.socket}",
            session=session.session_statements(option),
            inspect=session.INSPECT,
            interruption=interruption,
            number=partial(session.number, connect),
            left_sql=session.LEFT_SQL,
        )
        programs = {"origin": str(running.programs), "version": data_directory.version_of(running.programs)}
        schema = {"schema": self._costs[running.data]} if option.schema else {}
        load = Load(server=under_load, facts={**programs, **facts, **schema})
        # https://mariadb.com/docs/connectors/mariadb-connector-j/about-mariadb-connector-j
        socket = {"localSocket": under_load.socket} if under_load.socket else {}
        return by_own_driver(load, option, self._bench.study_folder, "mariadb", socket, NATIVE_ACCESS)

    def stop(self) -> str:
        """Ends the server at once; its data are never used again."""
        return self._server.stop()

    def _template(self, server: Path) -> Path:
        template = self._bench.folder / f"template-{data_directory.version_of(server)}-{identity_of(server)}"
        if template.exists():
            return template
        if (made := self._bench.folder.parent / template.name).is_dir():
            return made  # by another server of this study
        draft = template.with_suffix(".draft")
        shutil.rmtree(draft, ignore_errors=True)
        if self._bench.work.directory is None:
            data_directory.make_directory(self._server, server, draft)
        else:
            copied(self._bench.work.directory, draft, self._server.account)
            self._launch(server, draft, {**_DEFAULTS, "skip_grant_tables": True})
            limit_s = self._server.limit_s
            try:
                within(limit_s, "opening data", lambda: data_directory.admit(self._connect(""), self._user))
                self._server.wait()
            finally:
                self.stop()
        self._filled(server, draft, template, partial(self._load, server))
        return template

    def _filled(self, server: Path, draft: Path, data: Path, load: Callable[[], None]) -> None:
        self._launch(server, draft, {**_DEFAULTS, **_DURABILITY_OFF, "innodb_fast_shutdown": 0})
        self._server.filled(draft, data, load, (pymysql.MySQLError, OSError), error_text)

    def _alter(self, data: Path, option: Option) -> None:
        with closing(self._connect(self._database, CLIENT.MULTI_STATEMENTS)) as connection:
            self._costs[data] = data_directory.apply_schema(connection, self._bench.study, option)
            with connection.cursor() as cursor:
                cursor.execute("shutdown")

    def _load(self, server: Path) -> None:
        bench, loader = self._bench, self._server.account.owner
        with closing(self._connect("", CLIENT.MULTI_STATEMENTS)) as connection, connection.cursor() as cursor:
            if bench.work.directory is None:
                cursor.execute(f"create database {_DATABASE}")
            cursor.execute(f"use `{self._database}`")
            if loader != self._user:
                cursor.execute(f"create or replace user '{loader}'@'localhost' identified via unix_socket")
                cursor.execute(f"grant all on *.* to '{loader}'@'localhost'")
            data_directory.load(
                connection,
                bench.work,
                bench.folder,
                lambda file: data_directory.load_file(file, server, loader, self._database, self._server),
            )
            if loader != self._user:
                cursor.execute(f"drop user '{loader}'@'localhost'")
            data_directory.admit_hosts(connection, self._server.network)
            cursor.execute("shutdown")

    def _launch(self, server: Path, data: Path, settings: Settings) -> int:
        """Starts the server and waits until it answers; its pid."""
        arguments = [session.argument(name, value) for name, value in settings.items()]
        if session.taken(True, session.written(settings["performance_schema"])):
            # instruments are not among the server's settings
            arguments += [f"--performance-schema-instrument=wait/synch/{kind}/%=ON" for kind in _LATCHES]
        return self._server.start(
            [
                server, "--no-defaults", "--skip-log-bin", f"--tmpdir={self._server.folder}", *arguments,
                # the last of several values counts: the lab's
                f"--datadir={data}", f"--socket={self._server.socket}", f"--pid-file={data / 'pid'}",
                "--secure-file-priv=", *data_directory.listen_arguments(self._server.network),
            ],
            lambda: within(_CONNECT_S, "connecting", self._answer),
            (pymysql.MySQLError, TimedOut), data, self._folders,
        )  # fmt: skip

    def _answer(self) -> None:
        session.own_session(self._server.socket, self._user).close()

    def _connect(self, database: str, flags: int = 0) -> session.Connection:
        return session.own_session(self._server.socket, self._user, database, flags, self._server.identity)


def _error(log: str) -> str:
    found = _ERROR.search(log)
    return found[1] if found else log


KIND = Kind(
    "MariaDB",
    make=make,
    check=check,
    takes=SQL_WORK,
    turns=True,
    listens=True,
    footprint=data_directory.FOOTPRINT,
    protocol="mysql",
    durability_off=_DURABILITY_OFF,
    monitors=("host", "processes", "disturbance", "mariadb"),
    set_up_s=2.0,
    round_s=65.0,
    load_statements=data_directory.load_statements,
    statement_errors=("07*", "42*", "0A*", "3D*", "21S01", "22007", "25006", "08S01"),
    no_table=("42S02",),
    explain=("explain format=json ", "EXPLAIN"),
    wrote=session.WROTE,
    client="mariadb DATABASE",
    error_meanings={
        "(1461)": "max_prepared_stmt_count is reached: statements were prepared and never closed; failed"
        " statements cost little, so the results of this run do not describe the workload",
        "(1213)": "deadlocks: the server rolled one of two transactions back (workload.retries repeats it)",
        "(1205)": "waits for row locks reached innodb_lock_wait_timeout",
    },
    drivers=True,
    sql_monitors=True,
)
