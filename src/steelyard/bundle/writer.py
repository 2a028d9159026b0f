"""Writes a bundle: the head once, then each run whole.

A run is written beside its place and renamed into it, so whatever ends the process (kill -9, a
full disk) costs the run in progress and nothing else.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import numpy as np

from steelyard import __version__
from steelyard.bundle.schema import BY_NAME, FORMAT_VERSION, Column
from steelyard.study.errors import InputError
from steelyard.study.plan import Option

Rows = Mapping[str, Sequence[Any]]


class BundleWriter:
    """Adds runs to the bundle at `path`; no other writer can, as long as this one lives.

    Raises InputError when there is another already.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = _lock(path)
        self._duckdb = duckdb.connect()

    @classmethod
    def create(
        cls,
        path: Path,
        study_text: str,
        options: Sequence[Option],
        baseline: str,
        environment: Mapping[str, Any],
    ) -> BundleWriter:
        """A new bundle. Raises InputError when something is at path already, or it cannot be made."""
        if path.is_file() or (path.exists() and any(path.iterdir())):
            raise InputError(
                f"{path}: is there already; a bundle is never written over",
                f"choose another with --bundle, or `steelyard resume {path}`",
            )
        head = {
            "format": FORMAT_VERSION,
            "steelyard": __version__,
            "baseline": baseline,
            "options": [{"label": o.label, "levels": dict(o.levels)} for o in options],
        }
        try:
            (path / "runs").mkdir(parents=True)
            _write_text(path / "study.toml", study_text)
            _write_text(path / "environment.json", json.dumps(environment, indent=2))
            # the head comes last: a folder with bundle.json is a bundle
            _write_text(path / "bundle.json", json.dumps(head, indent=2))
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror}") from error
        return cls(path)

    def next_run(self) -> int:
        """Number of the next run: one more than the last written."""
        return 1 + max((int(run.name) for run in (self.path / "runs").glob("[0-9]*")), default=0)

    def write_run(self, run: int, levels: Mapping[str, str], tables: Mapping[str, Rows]) -> None:
        """Keeps one run: all its tables, or none when this raises OSError.

        tables: columns (equal lengths) by table, without `run`, which is added to each; None where
        a nullable column has no value, and such a column may be left out; levels: code by factor,
        kept as columns of `runs`.
        """
        place = self.path / "runs" / f"{run:04d}"
        draft = place.with_name(f".{place.name}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        try:
            draft.mkdir()
            for name, rows in tables.items():
                extra = [Column(factor, "VARCHAR", "") for factor in levels] if name == "runs" else []
                filled = {**rows, **{f: [code] for f, code in levels.items()}} if extra else rows
                self._write_table(draft / f"{name}.parquet", run, (*BY_NAME[name].columns, *extra), filled)
            _sync(draft)
            draft.rename(place)
            _sync(place.parent)
        except (OSError, duckdb.Error) as error:
            shutil.rmtree(draft, ignore_errors=True)
            raise OSError(f"run {run} could not be kept in {self.path}: {error}") from error

    def write_log(self, run: int, text: str) -> Path:
        """Keeps the tail of a server's log beside the runs; returns where."""
        place = self.path / "logs" / f"{run:04d}.log"
        place.parent.mkdir(exist_ok=True)
        _write_text(place, text)
        return place

    def add_to_environment(self, name: str, facts: Mapping[str, Any]) -> None:
        """Adds to a list of facts in environment.json, on the disk when this returns."""
        place = self.path / "environment.json"
        known = json.loads(place.read_text(encoding="utf-8"))
        known.setdefault(name, []).append(facts)
        _write_text(place, json.dumps(known, indent=2))

    def add_server(self, option: str, facts: Mapping[str, Any]) -> None:
        """Adds an option's server to environment.json: the first whole, each by what was set in it.

        facts: version, settings by name, sources by name of those that are not the default;
        calibration, what things cost on this machine, by name with unit; guest, what a virtual
        machine says of itself.
        """
        place = self.path / "environment.json"
        known = json.loads(place.read_text(encoding="utf-8"))
        servers = known.setdefault("servers", {})
        if option in servers:
            return
        settings = facts.get("settings", {})
        servers[option] = {
            **({"guest": facts["guest"]} if "guest" in facts else {}),
            "version": facts.get("version", ""),
            "origin": facts.get("origin", ""),
            "set": {name: settings[name] for name in facts.get("sources", {})},
        }
        known.setdefault("server", {name: fact for name, fact in facts.items() if name != "calibration"})
        if "calibration" in facts:
            known.setdefault("calibration", facts["calibration"])
        _write_text(place, json.dumps(known, indent=2))

    def _write_table(self, place: Path, run: int, columns: Sequence[Column], rows: Rows) -> None:
        length = len(next(iter(rows.values()), ()))
        data: dict[str, np.ndarray[Any, Any]] = {"run": np.full(length, run, dtype=np.int32)}
        for column in columns:
            if column.nullable and column.name not in rows:
                data[column.name] = _array([None] * length, column)
            elif column.name != "run":
                data[column.name] = _array(rows[column.name], column)
        select = ", ".join(f'"{c.name}"::{c.type} as "{c.name}"' for c in columns)
        target = str(place).replace("'", "''")
        self._duckdb.execute(f"copy (select {select} from data) to '{target}' (format parquet)")
        with place.open("rb") as file:
            os.fsync(file.fileno())


def _array(values: Sequence[Any], column: Column) -> np.ndarray[Any, Any]:
    if column.type in ("VARCHAR", "BLOB") or (column.nullable and any(v is None for v in values)):
        # object arrays keep None, and bytes whole: a fixed-width numpy string drops trailing zeros
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.asarray(values, dtype=np.float64 if column.type == "DOUBLE" else np.int64)


def _write_text(place: Path, text: str) -> None:
    draft = place.with_name(f".{place.name}.draft")
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(place)
    with suppress(OSError):
        _sync(place.parent)


def _lock(bundle: Path) -> BinaryIO:
    """Holds the bundle while the file is open: also kill -9 lets it go, and no lock file stays behind."""
    try:
        file = (bundle / "bundle.json").open("r+b")  # for writing: NFS locks no other exclusively
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            f"{bundle}: another steelyard is writing to it", "wait until it has ended, or stop it first"
        ) from None
    except OSError as error:
        raise InputError(f"{bundle}: cannot be written: {error.strerror}") from error
    return file


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
