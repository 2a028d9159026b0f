"""SQLite has no server: its clients are threads of the engine's process, or processes on one file.

The CPU time of the engine's process counts as the server's; it includes the small cost of the lab's own loop.
"""

import json
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from steelyard import _core
from steelyard.errors import InputError
from steelyard.host.processes.limits import TimedOut, within
from steelyard.study.factors import settings_given
from steelyard.study.key_types import Setting, Settings
from steelyard.study.study import Option, Options, Study
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects import Bench, Kind, Load, Subject, SubjectFailed
from steelyard.subjects.servers.daemon import requested
from steelyard.subjects.servers.option_settings import refuse_lab_settings
from steelyard.subjects.servers.templates import (
    apply_levels,
    begins_with,
    data_error,
    script_error,
    with_levels,
)
from steelyard.workloads import DataTable, Work, work_of
from steelyard.workloads.load_plan import check_load

# settings of the connections and their workers; every other setting is a PRAGMA
_OPENING: Settings = {
    "workers": "threads",
    "threading": "serialized",
    "shared_cache": False,
    "begin": "immediate",
    "memory_status": True,
}
_WORDS = {
    "workers": ("threads", "processes"),
    "threading": ("serialized", "multi-thread"),
    "begin": ("deferred", "immediate", "exclusive"),
}
# readers beside a writer, as in applications with concurrent users; commits are as durable as by default
_PRAGMAS: Settings = {"journal_mode": "wal", "synchronous": "full"}
_DURABILITY_OFF: Settings = {"synchronous": "off"}
# they only take effect when the file is created
_FILE_PRAGMAS = ("page_size", "auto_vacuum", "encoding")

_SIZES = """
select coalesce(sum(pgsize) filter (where name not in indexes), 0),
       coalesce(sum(pgsize) filter (where name in indexes), 0)
from dbstat
"""
_INDEXES = "with indexes as (select name from sqlite_master where type = 'index')"

_HEAD = b"SQLite format 3\0"  # https://www.sqlite.org/fileformat.html


def check(study: Study, options: Options) -> None:
    """Checks that no setting is the lab's, and the work is supported. Raises InputError."""
    for at, key, value in settings_given(study, "server"):
        if key in _OPENING and value not in (words := _WORDS.get(key, (True, False))):
            raise InputError(f"{key} = {value}: expected {', '.join(map(str, words)).lower()}", at=at)
    refuse_lab_settings(study, "server", "sqlite", _OPENING.__contains__)
    if work_of(study.workload).directory is not None:
        hint = "data_file takes an SQLite file, which is copied"
        raise InputError("SQLite has no data directory", hint, ("workload", "data_directory"))
    for option in options:
        database = _database({**_OPENING, **_PRAGMAS, **option.server}, _FILE)
        check_load(study, option, work_of(option.workload), {"sqlite": database})


class SQLite(Subject):
    """A fresh copy of the same file for each run, and a plan for the engine that opens it."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._folder = bench.folder / "data"
        self._costs: dict[Path, dict[str, float]] = {}

    def start(self, option: Option) -> Load:
        """The data in place and every setting read back, or SubjectFailed."""
        settings = requested(self._bench, {**_OPENING, **_PRAGMAS}, option)
        shutil.rmtree(self._folder, ignore_errors=True)

        def alter(draft: Path, data: Path) -> None:
            execute = partial(_apply_schema, draft / _FILE, self._bench.study, option)
            limit_s = self._bench.study.plan.set_up_limit_s
            try:
                self._costs[data] = within(limit_s, "executing the SQL of scope schema", execute)
            except sqlite3.Error as error:
                raise SubjectFailed(f"option {option.label}: {error}") from None
            except TimedOut as error:
                raise SubjectFailed(f"{error} (plan.set_up_limit_s)") from None
            draft.rename(data)

        template = with_levels(self._template(settings), option, alter)
        shutil.copytree(template, self._folder)
        database = _database(settings, str(self._folder / _FILE))
        try:
            # journal_mode is stored in the file: later connections use it too
            facts = json.loads(_core.sqlite_facts(json.dumps(database)))
        except _core.LoadError as error:
            raise SubjectFailed(f"option {option.label}: {error}") from None
        opening = {key: settings[key] for key in _OPENING}
        return Load(
            "load",
            {"sqlite": database},
            facts={
                "version": f"SQLite {facts['version']}",
                "build": "; ".join(facts["compile_options"]),
                "settings": facts["settings"] | opening,
                "sources": dict.fromkeys(settings.keys() - (opening.keys() - option.server.keys()), "study"),
                **({"schema": self._costs[template]} if option.schema else {}),
            },
        )

    def _template(self, settings: Settings) -> Path:
        """A folder with the file and its tables, created once per combination of file settings."""
        made = {key: settings[key] for key in _FILE_PRAGMAS if key in settings}
        template = self._bench.folder / "-".join(["template", *map(_written, made.values())])
        if template.exists():
            return template
        draft = template.with_suffix(".draft")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        try:
            load(draft / _FILE, {key: _written(value) for key, value in made.items()}, self._bench.work)
        except sqlite3.Error as error:
            raise SubjectFailed(f"the data could not be loaded: {error}") from None
        return draft.rename(template)


_FILE = "steelyard.sqlite"


def _database(settings: Settings, file: str) -> dict[str, Any]:
    pragmas = [[key, _written(value)] for key, value in settings.items() if key not in _OPENING]
    return {"file": file, "pragmas": pragmas, **{key: settings[key] for key in _OPENING}}


def _written(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _apply_schema(database: Path, study: Study, option: Option) -> dict[str, float]:
    """Executes the levels' SQL, then ANALYZE; costs by name with unit. Raises sqlite3.Error, InputError."""
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:

        def execute(sql: str) -> tuple[str, int]:
            try:
                connection.executescript(sql)
            except sqlite3.Error as error:
                return str(error), 0
            return "", 0

        seconds = apply_levels(study, option, execute)
        connection.execute("analyze")
        return {"sql_s": seconds, **_sizes(connection)}


def _sizes(connection: sqlite3.Connection) -> dict[str, float]:
    """Of tables and indexes; of the file where this SQLite was built without the table dbstat."""
    try:
        tables_bytes, indexes_bytes = connection.execute(_INDEXES + _SIZES).fetchone()
    except sqlite3.OperationalError:
        (pages,), (page_bytes,) = (
            connection.execute(f"pragma {name}").fetchone() for name in ("page_count", "page_size")
        )
        return {"file_bytes": pages * page_bytes}
    return {"tables_bytes": tables_bytes, "indexes_bytes": indexes_bytes}


def load(database: Path, pragmas: Mapping[str, str], work: Work) -> None:
    """Makes a database file with pragmas. Raises sqlite3.Error, OSError; InputError: script or data fail."""
    if work.data is not None and begins_with(work.data, _HEAD):
        # with what the last writer has not yet written into the file itself
        for suffix in ("", "-wal"):
            if (source := Path(f"{work.data}{suffix}")).exists():
                shutil.copyfile(source, f"{database}{suffix}")
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        for key, value in pragmas.items():
            connection.execute(f"pragma {key} = '{value}'")
        for part in load_statements(work):
            if not isinstance(part, Path):
                try:
                    connection.executescript(part)
                except sqlite3.Error as error:
                    if part != work.script:
                        raise
                    raise script_error(work, str(error)) from None
            elif not begins_with(part, _HEAD):
                try:
                    connection.executescript(part.read_text(encoding="utf-8"))
                except (sqlite3.Error, UnicodeDecodeError) as error:
                    raise data_error(part, str(error)) from None


def load_statements(work: Work) -> list[str | Path]:
    """SQL, and a file of data, that make and fill the tables of a workload, in order."""
    return [*work.loading(_create), "analyze"]


def _create(table: DataTable) -> list[str]:
    key, *others = table.columns
    # an integer primary key is the number of the row itself: the table is its index
    columns = ", ".join(
        [f"{key.name} {key.type} primary key", *(f"{c.name} {c.type} not null" for c in others)]
    )
    values = ", ".join(c.value for c in table.columns)
    return [
        f"create table {table.name} ({columns})",
        f"insert into {table.name} with recursive numbers(n) as"
        f" (select 1 union all select n + 1 from numbers where n < {table.rows})"
        f" select {values} from numbers",
    ]


KIND = Kind(
    "SQLite",
    make=SQLite,
    check=check,
    takes=(StatementWorkload,),
    why_no_turns="its clients are threads or processes that work from the start of a load point to its end",
    durability_off=_DURABILITY_OFF,
    lacks={
        "session": "a PRAGMA is a setting: [subject.settings]",
        "bindir": "leave it out: the library is built in",
        "dsn": "leave it out: the file is made for each run",
    },
    scopes={
        "server": "how it is opened, and its PRAGMAs",
        "schema": "SQL after the data",
        "client": "the workload's",
        "host": "this machine's",
    },
    in_process=True,
    load_statements=load_statements,
    wrote="select total_changes(), total_changes(), 0, 0, null",
    # SQLITE_ERROR, SQLITE_MISMATCH, SQLITE_RANGE: https://www.sqlite.org/rescode.html
    statement_errors=("SQLITE_1", "SQLITE_20", "SQLITE_25", "SQLITE_READONLY", "SQLITE_MISUSE"),
)
