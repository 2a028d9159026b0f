"""A running PostgreSQL at an address, with data of the lab's own in a schema that it loads for each run."""

from contextlib import suppress
from dataclasses import replace
from functools import partial

import psycopg
from psycopg.conninfo import make_conninfo

from steelyard.errors import InputError
from steelyard.host.processes.limits import TimedOut, within
from steelyard.study.passwords import expand
from steelyard.study.study import Option
from steelyard.subjects import Bench, Load, Subject, SubjectFailed
from steelyard.subjects.postgres.by_address import ForeignPostgres, session_at
from steelyard.subjects.postgres.facts import number
from steelyard.subjects.postgres.session import Connection
from steelyard.subjects.postgres.workload_tables import load
from steelyard.subjects.servers.daemon import loaded

SCHEMA = "steelyard_load"
# a schema without it is not ours to drop
_MARK = "made by Steelyard: dropped and loaded again for each run"
_FOUND = "select obj_description(oid, 'pg_namespace') from pg_namespace where nspname = %s"
_PATH = f"set search_path = {SCHEMA}"
# one study at a time: session-level, so it ends with the connection
_LOCK = f"select pg_try_advisory_lock(hashtext('{SCHEMA}'))"


def at_address(bench: Bench) -> Subject:
    """A server at an address, used as it is or with data of its own."""
    reloads = bench.study.subject.restore == "reload"
    return _ReloadedPostgres(bench) if reloads else ForeignPostgres(bench)


class _ReloadedPostgres(ForeignPostgres):
    """Starts nothing, changes no settings; makes and drops one schema, which holds a mark as its comment."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._limit_s = bench.study.plan.set_up_limit_s
        self._own: Connection | None = None

    def start(self, option: Option) -> Load:
        """The server at the address, whose sessions see the lab's schema alone. Raises InputError."""
        if "search_path" in option.session:
            raise InputError(
                f"the data are in the schema {SCHEMA} (subject.restore), which search_path would hide",
                "leave search_path out",
                ("subject", "session"),
            )
        found = super().start(option)
        assert found.server is not None
        if self._own is None:
            own = session_at(expand(found.server.dsn))
            row = own.execute(_LOCK).fetchone()
            if row is None or not row[0]:
                own.close()
                raise SubjectFailed(f"another study uses the schema {SCHEMA} of this database now")
            self._own = own
        # libpq's option, of our own connections; the engine's sessions execute the SQL
        dsn = make_conninfo(found.server.dsn, options=f"-c search_path={SCHEMA}")
        server = replace(found.server, session=(_PATH, *found.server.session), number=partial(number, dsn))
        return replace(found, server=server)

    def reset(self) -> None:
        """Drops the schema and loads it. Raises SubjectFailed."""
        loaded(self._limit_s, self._reload, (psycopg.Error, OSError))

    def stop(self) -> str:
        """Drops the schema; the server keeps running, and its log is not available."""
        if self._own is not None:
            with suppress(psycopg.Error, SubjectFailed, TimedOut):
                within(self._limit_s, "dropping the data", self._drop)
            self._own.close()
            self._own = None
        return ""

    def _reload(self) -> None:
        self._drop()
        own = self._own
        assert own is not None
        own.execute(f"create schema {SCHEMA}")
        own.execute(f"comment on schema {SCHEMA} is '{_MARK}'")
        own.execute(_PATH)
        load(own, self._bench.work, self._bench.folder, lambda _: None)

    def _drop(self) -> None:
        own = self._own
        assert own is not None
        row = own.execute(_FOUND, [SCHEMA]).fetchone()
        if row is None:
            return
        if row[0] != _MARK:
            raise SubjectFailed(
                f"the database has a schema {SCHEMA} that Steelyard did not make: rename it, or use another"
                " database"
            )
        own.execute(f"drop schema {SCHEMA} cascade")
