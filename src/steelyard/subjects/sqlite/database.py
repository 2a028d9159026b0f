"""SQLite has no server: its clients are threads of the engine's process, or processes on one file.

The CPU time of the engine's process counts as the server's; it includes the small cost of the lab's own loop.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard import _core
from steelyard.host.processes.limits import TimedOut, within
from steelyard.study.errors import InputError
from steelyard.study.factors import settings_given
from steelyard.study.key_types import Setting
from steelyard.study.plan import Option
from steelyard.study.study import Study
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects import Bench, Kind, Load, SubjectFailed
from steelyard.subjects.servers.option_settings import refuse_lab_settings
from steelyard.subjects.servers.schema_levels import place_of
from steelyard.subjects.sqlite.schema_levels import apply_schema
from steelyard.subjects.sqlite.workload_tables import load, load_statements
from steelyard.workloads import work_of
from steelyard.workloads.load_plan import check_load

# settings of the connections and their workers; every other setting is a PRAGMA
_OPENING: dict[str, Setting] = {
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
_PRAGMAS: dict[str, Setting] = {"journal_mode": "wal", "synchronous": "full"}
_DURABILITY_OFF: dict[str, Setting] = {"synchronous": "off"}
# they only take effect when the file is created
_FILE_PRAGMAS = ("page_size", "auto_vacuum", "encoding")


def check(study: Study, options: Sequence[Option]) -> None:
    """Checks that no setting is the lab's, and the work is supported. Raises InputError."""
    for at, key, value in settings_given(study, "server"):
        if key in _OPENING and value not in (words := _WORDS.get(key, (True, False))):
            raise InputError(f"{key} = {value}: expected {', '.join(map(str, words)).lower()}", at=at)
    refuse_lab_settings(study, "server", "sqlite", _OPENING.__contains__)
    if work_of(study.workload).directory is not None:
        hint = "data_file takes an SQLite file, which is copied"
        raise InputError("SQLite has no data directory", hint, ("workload", "data_directory"))
    for option in options:
        database = _database(_settings(option), _FILE)
        check_load(study, option, work_of(option.workload), {"sqlite": database})


class SQLite:
    """A fresh copy of the same file for each run, and a plan for the engine that opens it."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._folder = bench.folder / "data"
        self._costs: dict[Path, dict[str, float]] = {}

    def start(self, option: Option) -> Load:
        """The data in place and every setting read back, or SubjectFailed."""
        durability = _DURABILITY_OFF if self._bench.study.subject.durability == "off" else {}
        settings = {**_settings(option), **durability, **option.server}
        shutil.rmtree(self._folder, ignore_errors=True)
        template = self._with_schema(settings, option)
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
                "sources": dict.fromkeys({**_PRAGMAS, **durability, **option.server}, "study"),
                **({"schema": self._costs[template]} if option.schema else {}),
            },
        )

    def reset(self) -> None:
        """Nothing to do: each start copies the data."""

    def stop(self) -> str:
        """The engine has closed the file; SQLite keeps no log."""
        return ""

    def _with_schema(self, settings: Mapping[str, Setting], option: Option) -> Path:
        """The template, or its copy with the SQL of the option's levels, made once per study."""
        base = self._template(settings)
        data = place_of(base, option)
        if not data.exists():
            draft = base.with_name("schema.draft")
            shutil.rmtree(draft, ignore_errors=True)
            shutil.copytree(base, draft)
            limit_s = self._bench.study.plan.set_up_limit_s
            try:
                self._costs[data] = within(
                    limit_s,
                    "executing the SQL of scope schema",
                    lambda: apply_schema(draft / _FILE, self._bench.study, option),
                )
            except sqlite3.Error as error:
                raise SubjectFailed(f"option {option.label}: {error}") from None
            except TimedOut as error:
                raise SubjectFailed(f"{error} (plan.set_up_limit_s)") from None
            draft.rename(data)
        return data

    def _template(self, settings: Mapping[str, Setting]) -> Path:
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


def _settings(option: Option) -> dict[str, Setting]:
    return {**_OPENING, **_PRAGMAS, **option.server}


def _database(settings: Mapping[str, Setting], file: str) -> dict[str, Any]:
    pragmas = [[key, _written(value)] for key, value in settings.items() if key not in _OPENING]
    return {"file": file, "pragmas": pragmas, **{key: settings[key] for key in _OPENING}}


def _written(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


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
