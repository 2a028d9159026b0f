"""PostgreSQL servers that the lab starts: the embedded one, or any version installed on the machine."""

import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import psycopg

from steelyard.host.processes.limits import within
from steelyard.study.key_types import Settings
from steelyard.study.study import Option, Options, Study
from steelyard.study.workloads.of_files import PgbenchWorkload
from steelyard.subjects import SQL_WORK, Bench, Kind, Load, Server, Subject, SubjectFailed
from steelyard.subjects.drivers.connection import UNIX_SOCKETS, by_own_driver
from steelyard.subjects.postgres import binaries, cluster, facts, session, workload_tables
from steelyard.subjects.postgres.pooler import POOLER, PREFIX, Pooler, check_pooler, divided
from steelyard.subjects.postgres.reloaded import at_address
from steelyard.subjects.servers.by_address import check_foreign
from steelyard.subjects.servers.daemon import Daemon, Running, requested
from steelyard.subjects.servers.option_settings import folders_of, programs_of, refuse_lab_settings
from steelyard.subjects.servers.templates import check_directory, copied_from, identity_of, with_levels
from steelyard.workloads import work_of

TEMPLATE = "steelyard_template"
_DATABASE = "steelyard"
_PORT = 5432
_SQL_S = 30

DEFAULTS: Settings = {"max_connections": 200, "logging_collector": False}
_NO_FLUSH: Settings = {"fsync": False, "full_page_writes": False}
# of its JDBC driver for a Unix socket, at `socketFactoryArg`
# https://jdbc.postgresql.org/documentation/use/, https://kohlschutter.github.io/junixsocket/
_DRIVER = {"sslmode": "disable", "socketFactory": "org.newsclub.net.unix.AFUNIXSocketFactory$FactoryArg"}
_DURABILITY_OFF: Settings = {**_NO_FLUSH, "synchronous_commit": False}
# made anew after a crash: no flush; after asynchronous commits the vacuum would not mark rows as visible
_LOADING: Settings = {**DEFAULTS, **_NO_FLUSH, "autovacuum": False, "max_wal_size": "4GB"}


def check(study: Study, options: Options) -> None:
    """Checks that the programs of every version exist, and no setting is the lab's. Raises InputError."""
    refuse_lab_settings(study, "session", "postgres")
    if study.subject.dsn:
        check_foreign(study)
        return
    check_pooler(study, options)
    types: dict[str, str] = {}
    for bindir in programs_of(study, binaries.find_bindir):
        types |= binaries.setting_types(bindir)
    check_directory(work_of(study.workload), "PG_VERSION", cluster.why_in_use, "pg_dump")

    def known(name: str) -> bool:
        return types.get(name, "STRING") != "STRING" or name.startswith((POOLER, PREFIX))

    refuse_lab_settings(study, "server", "postgres", known)
    refuse_lab_settings(study, "server", "pgbouncer", lambda _: False, PREFIX)


def make(bench: Bench) -> Subject:
    """A server that the lab starts, or the server at the study's address."""
    return at_address(bench) if bench.study.subject.dsn else Postgres(bench)


class Postgres:
    """Starts a server for each run, with the same data and the option's settings."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._server = Daemon(
            bench, "PostgreSQL", "server.log", session.SOCKET, _PORT, signal.SIGQUIT, facts.fatal
        )
        self._pooler = Pooler(bench)
        self._database = TEMPLATE if bench.work.read_only else _DATABASE
        self._costs: dict[Path, dict[str, float]] = {}
        self._running: Running | None = None
        self._version = 0
        self._folders = folders_of(bench.study, bench.options)

    def start(self, option: Option) -> Load:
        """A server with the option's settings and the data loaded, or SubjectFailed."""
        bindir, data = self.prepare(option)
        settings = requested(self._bench, DEFAULTS, option)
        self._running = Running(self._launch(bindir, data, divided(settings)[2]), bindir, data, settings)
        return self.join(option)

    def join(self, option: Option) -> Load:
        """The load of an option on the server that runs, its settings read back. Raises SubjectFailed."""
        running = self._running
        assert running is not None
        pooler, pooler_settings, settings = divided(running.settings)
        # the template must have no session while it is copied
        own = TEMPLATE if self._bench.work.read_only else "postgres"
        dsn, network = self._dsn(self._database), self._server.network

        def read_back() -> str:
            with self._session(own) as connection:
                session.refuse_not_taken(connection, settings)
                session.read_back_session(connection, option)
                return session.turn_end(connection)

        turn_end = within(_SQL_S, "reading the settings back", read_back)
        server = Server(
            host=network.address or str(self._server.folder),
            port=network.port,
            password=network.password,
            user=session.SUPERUSER,
            database=self._database,
            protocol="postgres",
            pid=running.pid,
            dsn=dsn,
            latch_names=facts.tranche_names,
            session=session.session_statements(option),
            inspect=session.INSPECT,
            turn_end=turn_end,
            interruption=facts.watched(self._dsn(own), self._server.ended),
            number=partial(facts.number, dsn),
            left_sql=facts.LEFT_SQL,
            sessions=partial(facts.sessions, dsn),
        )
        schema = {"schema": self._costs[running.data]} if option.schema else {}
        found = {"origin": str(running.programs), **facts.facts_of(partial(self._session, own)), **schema}
        if pooler != "none":
            server = self._pooler.before(server, pooler_settings)
        load = Load(server=server, facts=found)
        socket = {} if network.address else {**_DRIVER, "socketFactoryArg": str(self._server.socket)}
        return by_own_driver(load, option, self._bench.study_folder, "postgresql", socket, UNIX_SOCKETS)

    def prepare(self, option: Option) -> tuple[Path, Path]:
        """The option's programs, and a data directory with its data in the database TEMPLATE."""
        bindir = binaries.reachable(binaries.find_bindir(option.bindir))

        def alter(draft: Path, data: Path) -> None:
            self._filled(bindir, draft, data, lambda: self._alter(bindir, data, option))

        return bindir, with_levels(self._cluster(bindir), option, alter)

    def reset(self) -> None:
        """Copies the database from its template, by files; a read-only workload uses the template itself."""
        within(self._server.limit_s, "resetting the data", self._set_back)

    def _set_back(self) -> None:
        if not self._bench.work.read_only:
            with self._session("postgres") as connection:
                connection.execute(f"drop database if exists {_DATABASE}")
                strategy = " strategy file_copy" if connection.info.server_version >= 150000 else ""
                connection.execute(f"create database {_DATABASE} template {TEMPLATE}{strategy}")
        with self._session(self._database) as connection:
            row = connection.execute("show shared_preload_libraries").fetchone()
            if row and "pg_stat_statements" in str(row[0]):
                connection.execute("create extension if not exists pg_stat_statements")
                connection.execute("select pg_stat_statements_reset()")
            connection.execute("checkpoint")

    def stop(self) -> str:
        """Ends the server; its data are never reused without a reset."""
        self._pooler.stop()
        data = self._running.data if self._running else self._bench.folder
        # unlogged tables are emptied by the start after any other end
        unlogged = any(data.glob("base/*/*_init"))
        if unlogged:
            with suppress(SubjectFailed):
                self._server.wait(signal.SIGINT)
        log = self._server.stop()
        if unlogged and ("reinitializing" in log or "database system is shut down" not in log):
            shutil.rmtree(data, ignore_errors=True)
        return log

    def _cluster(self, bindir: Path) -> Path:
        """A data directory of these programs with the template database, created once per study."""
        data = self._bench.folder / f"data-{binaries.version_of(bindir)}-{identity_of(bindir / 'postgres')}"
        if data.exists():
            return data
        bench, draft = self._bench, data.with_suffix(".draft")
        if copied_from(bench.folder.parent / data.name, draft, data):
            return data
        if bench.work.directory is None:
            more = cluster.checksum_arguments(bench.study, bench.options, bindir)
            cluster.make_cluster(self._server, bindir, draft, more)
        else:
            cluster.copy_directory(bench.work.directory, draft, self._server.account)
        cluster.admit(draft, self._server.account, self._server.network.networks)
        self._filled(bindir, draft, data, partial(self._load, bindir))
        return data

    def _filled(self, bindir: Path, draft: Path, data: Path, load: Callable[[], None]) -> None:
        self._launch(bindir, draft, _LOADING)
        self._server.filled(draft, data, load, (psycopg.Error, OSError), by=signal.SIGINT)

    def _load(self, bindir: Path) -> None:
        bench = self._bench
        # one that is renamed may be called postgres, and must have no session
        with self._session("template1") as connection:
            if bench.work.directory is None:
                connection.execute(f"create database {TEMPLATE}")
            else:
                cluster.rename_database(connection, bench.work.database, TEMPLATE)
        with self._session(TEMPLATE) as connection:
            session.set_password(connection, self._server.network.password)
            run = self._server.finish
            load_file = workload_tables.load_file
            workload_tables.load(
                connection, bench.work, bench.folder, lambda file: load_file(connection, file, bindir, run)
            )

    def _alter(self, bindir: Path, data: Path, option: Option) -> None:
        with self._session(TEMPLATE) as connection:
            self._costs[data] = workload_tables.apply_schema(
                connection,
                self._bench.study,
                option,
                lambda script: workload_tables.psql(connection, script, bindir, self._server.finish),
            )

    def _launch(self, bindir: Path, data: Path, settings: Settings) -> int:
        """Starts the server and waits until it answers; its pid."""
        self._version = binaries.major_of(bindir)
        command = [bindir / "postgres", *cluster.server_arguments(settings, data, self._server)]
        dsn = self._dsn("postgres")
        return self._server.start(
            command,
            lambda: psycopg.connect(dsn, connect_timeout=2).close(),
            (psycopg.OperationalError,),
            data,
            self._folders,
        )

    def _session(self, database: str) -> session.Connection:
        return session.own_session(self._dsn(database), self._server.identity)

    def _dsn(self, database: str) -> str:
        return session.own_dsn(self._server.socket, database, self._version)


KIND = Kind(
    "PostgreSQL",
    make=make,
    check=check,
    takes=(*SQL_WORK, PgbenchWorkload),
    turns=True,
    listens=True,
    footprint=cluster.FOOTPRINT,
    checksums=cluster.checksums,
    durability_off=_DURABILITY_OFF,
    monitors=("host", "processes", "disturbance", "postgres", "postgres-waits"),
    load_statements=workload_tables.load_statements,
    driver_errors=(psycopg.Error,),
    # syntax and access rules, features, no such database or schema, wrong types, a read-only server: https://www.postgresql.org/docs/current/errcodes-appendix.html
    statement_errors=("42*", "0A*", "3D*", "3F*", "22P0?", "22007", "25006", "08P01"),
    no_table=("42P01", "3F000"),
    error_meanings={"deadlock detected": "the server rolled one of two back (workload.retries repeats it)"},
    explain=("explain (format json) ", "QUERY PLAN"),
    wrote=facts.WROTE,
    settles=facts.SETTLES,
    client='psql "$DSN"',
    no_sql=workload_tables.restoring,
    findings=binaries.findings,
    latch_program=binaries.latch_program,
    drivers=True,
    sql_monitors=True,
)
