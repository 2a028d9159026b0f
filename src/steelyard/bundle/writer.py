"""Writes a bundle: the head once, then each run atomically.

A run is written under a temporary name, with its identity, and renamed, so that the end of the process
(kill -9, a full disk) loses only the run in progress.
"""

import fcntl
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import duckdb

from steelyard.bundle.evidence import Facts
from steelyard.bundle.storage.checksum import seal
from steelyard.bundle.storage.files import Place, sync, write_whole
from steelyard.bundle.storage.head import read_environment, read_facts, study_sha256
from steelyard.bundle.storage.inventory import RUN_FILE, run_folders
from steelyard.bundle.storage.study_files import Files, copy_files
from steelyard.errors import InputError, shown, typed
from steelyard.run_tables.questions import arrays, in_types
from steelyard.run_tables.rows import Columns, check_names
from steelyard.run_tables.schema import BY_NAME, FORMAT_VERSION, Column
from steelyard.study.study import Option
from steelyard.version import VERSION

_ANOTHER = "name another folder"


class BundleWriter:
    """Adds runs to the bundle at `path`, which it locks. Raises InputError: locked by another, or damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._facts = read_facts(path)
        self._lock = _lock(path)
        self._runs = Place(path / "runs")
        self._duckdb = duckdb.connect()

    @classmethod
    def create(
        cls,
        path: Path,
        study_text: str,
        options: Sequence[Option],
        baseline: str,
        environment: Facts,
        files: Files | None = None,
    ) -> "BundleWriter":
        """A new bundle. files: the study's, by its names. Raises InputError: path exists, cannot be made."""
        head: dict[str, Any] = {
            "format": FORMAT_VERSION,
            "id": uuid.uuid4().hex,
            "steelyard": VERSION,
            "baseline": baseline,
            "options": [{"label": o.label, "levels": dict(o.levels)} for o in options],
            "study_sha256": study_sha256(study_text.encode("utf-8")),
        }
        existed = os.path.lexists(path)
        try:
            refuse_existing(path)
            (path / "runs").mkdir(parents=True)
        except (OSError, ValueError) as error:
            with suppress(OSError, ValueError):
                # its folder `runs` may be another process's, made at this moment: then it is not empty
                if not existed:
                    path.rmdir()
            raise _not_written(path, error) from None
        try:
            with suppress(OSError):
                # a folder may be writable without being readable
                sync(path.absolute().parent)
            write_whole(path / "study.toml", study_text)
            if files:
                head["files"] = copy_files(path, files)
            _write_sealed(path / "environment.json", environment)
            # bundle.json is written last: a folder that has it is a bundle
            _write_sealed(path / "bundle.json", head)
        except OSError as error:
            shutil.rmtree(path, ignore_errors=True)
            raise _not_written(path, error) from None
        return cls(path)

    def next_run(self) -> int:
        """Number of the next run: one more than the last written."""
        return 1 + max(run_folders(self.path / "runs")[0], default=0)

    def write_run(self, run: int, levels: Mapping[str, str], tables: Mapping[str, Columns]) -> None:
        """Writes one run: all its tables, or none when this raises OSError.

        tables: columns (equal lengths) by table, without `run`, which is added to each; None where
        a nullable column has no value, and such a column may be left out; levels: code by factor,
        kept as columns of `runs`. Raises SchemaError for an unknown or missing column.
        """
        for name, columns in tables.items():
            check_names(BY_NAME[name], columns)
        place = self.path / "runs" / f"{run:04d}"
        draft = place.with_name(f".{place.name}.draft")
        try:
            # of this run, or an unfinished one of a killed process
            for left in place.parent.glob(".*.draft"):
                shutil.rmtree(left)
            draft.mkdir()
            checksums: dict[str, str] = {}
            for name, rows in tables.items():
                extra = [Column(factor, "VARCHAR", "") for factor in levels] if name == "runs" else []
                filled = {**rows, **{f: [code] for f, code in levels.items()}} if extra else rows
                columns = (*BY_NAME[name].columns, *extra)
                checksums[name] = self._write_table(f"{draft.name}/{name}.parquet", run, columns, filled)
            head = {name: tables["runs"][name][0] for name in ("option", "block", "attempt", "status")}
            identity = {"bundle": self._facts["id"], "run": run, **head, "tables": checksums}
            _write_sealed(draft / RUN_FILE, identity)
            sync(draft)
            draft.rename(place)
            self._runs.sync()
        except (OSError, duckdb.Error) as error:
            shutil.rmtree(draft, ignore_errors=True)
            why = self._runs.named(str(error))
            raise OSError(f"run {run} could not be written to {self.path}: {why}") from error

    def write_log(self, run: int, text: str) -> None:
        """Writes the tail of a server's log beside the runs."""
        place = self.path / "logs" / f"{run:04d}.log"
        place.parent.mkdir(exist_ok=True)
        write_whole(place, text)

    def add_to_environment(self, name: str, facts: Facts) -> None:
        """Adds to a list of facts in environment.json, flushed to disk."""
        known = read_environment(self.path)
        known.setdefault(name, []).append(facts)
        self._write_environment(known)

    def add_server(self, option: str, facts: Facts) -> None:
        """Adds an option's server to environment.json: the first whole, each by what was set in it and what
        differs from the first (null: not in this version).

        facts: version, settings by name, sources by name of those that are not the default;
        calibration, costs of operations on this machine, by name with unit; guest, facts of a virtual
        machine; schema, what the SQL of scope schema took, by name with unit.
        """
        known = read_environment(self.path)
        servers = known.setdefault("servers", {})
        if option in servers:
            return
        settings = facts.get("settings", {})
        servers[option] = {
            **{key: facts[key] for key in ("guest", "schema") if key in facts},
            "version": facts.get("version", ""),
            "origin": facts.get("origin", ""),
            "set": {name: settings[name] for name in facts.get("sources", {})},
        }
        first = known.get("server", {}).get("settings", settings)
        names = [name for name in {**first, **settings} if settings.get(name) != first.get(name)]
        if differs := {name: settings.get(name) for name in names}:
            servers[option]["differs"] = differs
        known.setdefault(
            "server", {name: fact for name, fact in facts.items() if name not in ("calibration", "schema")}
        )
        if "calibration" in facts:
            known.setdefault("calibration", facts["calibration"])
        self._write_environment(known)

    def _write_environment(self, known: Facts) -> None:
        _write_sealed(self.path / "environment.json", known)

    def _write_table(self, name: str, run: int, columns: Sequence[Column], rows: Columns) -> str:
        """name: of the file, within the folder `runs`. Returns its checksum."""
        length = len(next(iter(rows.values()), ()))
        self._duckdb.register("data", arrays(columns, {**rows, "run": [run] * length}))
        self._duckdb.execute(
            f"copy (select {in_types(columns)} from data) to '{self._runs.path}/{name}' (format parquet)"
        )
        with (self.path / "runs" / name).open("rb") as file:
            os.fsync(file.fileno())
            return hashlib.file_digest(file, "sha256").hexdigest()


def refuse_existing(path: Path) -> None:
    """Raises InputError where a bundle would overwrite something."""
    if os.path.lexists(path) and (not path.is_dir() or any(path.iterdir())):
        raise InputError(
            f"{path}: already exists; a bundle is never overwritten",
            f"{_ANOTHER}; an unfinished study goes on with `steelyard resume {typed(path)}`",
        )


def _not_written(path: Path, error: OSError | ValueError) -> InputError:
    # ValueError: a name that no file can have
    why = error.strerror if isinstance(error, OSError) else error
    return InputError(f"{shown(path)}: cannot be written: {why}", _ANOTHER)


def _write_sealed(place: Path, content: Facts) -> None:
    write_whole(place, json.dumps(seal(content), indent=2))


def _lock(bundle: Path) -> BinaryIO:
    """Locks the bundle while the file is open: the kernel releases it also after kill -9."""
    try:
        file = (bundle / "bundle.json").open("r+b")  # for writing: NFS locks only such files exclusively
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            f"{bundle}: another steelyard process is writing to it", "wait for it to end, or stop it"
        ) from None
    except OSError as error:
        raise InputError(f"{bundle}: cannot be written: {error.strerror}") from error
    return file
