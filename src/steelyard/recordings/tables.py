"""Published tables as a bundle: throughput by number of clients, latch counters, derived figures.

A TOML file says which columns of which CSV files mean what, and gives the study that they answer;
levels of its factors are the values in the columns of the same names. Where the work of a client is
fixed, each point lasted transactions / throughput; of rates alone a point lasts as long as the file says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import tomli_w

from steelyard.bundle.writer import BundleWriter, Rows
from steelyard.recordings.model import Claims, LatchTable, TableRecording, catalogue, read_recording
from steelyard.recordings.probes import locks, profile
from steelyard.recordings.rows import Row, rows_of
from steelyard.study.errors import InputError
from steelyard.study.load_study import plan_study
from steelyard.study.plan import Option, baseline
from steelyard.study.spec import Study

_TO_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_COUNTERS = ("gets", "misses", "spin_gets", "sleeps")
_SLOWEST_PER_S = 1e-9


def write_recording(name: str, path: Path) -> Study:
    """Writes a built-in recording, or the one that a TOML file describes, as a bundle; its study.

    Raises InputError.
    """
    place = catalogue().get(name) or Path(name)
    recording = read_recording(place)
    text = tomli_w.dumps(recording.study)
    study, found = plan_study(text, f"{place}: study")
    # read before anything is written: a wrong table leaves no bundle behind
    runs = [_tables(_Source(place.parent, recording, study, option)) for option in found]
    writer = BundleWriter.create(path, text, found, baseline(study, found), _environment(recording, found))
    for number, (option, tables) in enumerate(zip(found, runs, strict=True), start=1):
        head = _head(option.label, number, max(tables["phases"]["end_ns"]) / 1e9)
        writer.write_run(number, option.levels, {**tables, "runs": head})
    return study


@dataclass(frozen=True)
class _Source:
    """The tables in a folder, and the option whose rows are read."""

    folder: Path
    recording: TableRecording
    study: Study
    option: Option

    def rows(self, name: str) -> list[Row]:
        """Rows of the recording, and of the option where its factors are columns."""
        rows = rows_of(self.folder / name)
        wanted = dict(self.recording.throughput.where)
        for factor, code in self.option.levels.items():
            if rows and factor in rows[0].cells:
                wanted[factor] = str(self.study.factors[factor].levels[code])
        return [row for row in rows if all(row.text(name) == value for name, value in wanted.items())]

    def point(self, row: Row) -> int:
        """Number of the point that a row is about. Raises InputError for one that the study has not."""
        clients = int(row.number(self.recording.throughput.clients))
        if clients not in self.study.plan.clients:
            raise InputError(f"{row.place}: {clients} is not in study.plan.clients")
        return self.study.plan.clients.index(clients)


def _environment(recording: TableRecording, found: Sequence[Option]) -> dict[str, Any]:
    server: dict[str, Any] = {"version": recording.server.version, "origin": "recording", "set": {}}
    return {
        **recording.environment,
        "recording": {"source": recording.source, "work": recording.work},
        "servers": {option.label: server for option in found},
    }


def _head(label: str, run: int, seconds: float) -> Rows:
    return {
        "option": [label],
        "block": [1],
        "slot": [run],
        "attempt": [1],
        "status": ["done"],
        "cause": [""],
        "started_at": [""],
        "seconds": [seconds],
    }


def _tables(source: _Source) -> dict[str, Rows]:
    """The tables of one option's run: a point a row of its throughput."""
    recording, clients = source.recording, source.study.plan.clients
    per_s: dict[int, float] = {}
    for row in source.rows(recording.throughput.file):
        if (point := source.point(row)) in per_s:
            raise InputError(
                f"{row.place}: a second row of {source.option.label} with clients = {clients[point]}",
                "does the table have a column for each factor?",
            )
        per_s[point] = row.number(recording.throughput.per_s)
    if len(per_s) < len(clients) or min(per_s.values()) < _SLOWEST_PER_S:
        raise InputError(
            f"{source.folder / recording.throughput.file}: {source.option.label} has"
            f" {len(per_s)} of the {len(clients)} points in study.plan.clients, or one of nothing"
        )
    work = [recording.transactions(n, per_s[i]) for i, n in enumerate(clients)]
    ends_ns = list(accumulate(round(count / per_s[i] * 1e9) for i, count in enumerate(work)))
    points = range(len(clients))
    tables: dict[str, Rows] = {
        "phases": {
            "point": points,
            "clients": clients,
            "phase": ["measure" for _ in points],
            "start_ns": [0, *ends_ns[:-1]],
            "end_ns": ends_ns,
        },
        "throughput": {
            "point": points,
            "statement": ["transaction" for _ in points],
            "count": work,
            "errors": [0 for _ in points],
        },
        "notices": {"code": ["recording"], "text": [f"a recording: {recording.source}"]},
    }
    if recording.latches is not None and recording.latches.option == source.option.label:
        tables["latches"] = _latches(source, recording.latches)
    if (probes := recording.probes) is not None and probes.option == source.option.label:
        if probes.profile is not None:
            tables["profile"] = profile(source.rows(probes.profile))
        if probes.locks is not None:
            tables["locks"] = locks(source.rows(probes.locks))
    if recording.claims is not None:
        tables["claims"] = _claims(source, recording.claims)
    for name, rows in tables.items():
        for column, values in rows.items():
            if any(isinstance(value, int) and abs(value) >= 2**63 for value in values):
                raise InputError(
                    f"{source.folder}: {source.option.label}: {name}.{column}: a number beyond 64 bits"
                )
    return tables


def _latches(source: _Source, table: LatchTable) -> Rows:
    rows = source.rows(table.file)
    found: dict[str, list[Any]] = {
        "point": [source.point(row) for row in rows],
        "latch": [table.latch for _ in rows],
    }
    known = rows[0].cells.keys() if rows else ()
    for name in _COUNTERS:
        if name in known:
            found[name] = [int(row.number(name)) for row in rows]
    if "wait_time" in known:
        found["wait_ns"] = [round(row.number("wait_time") * _TO_NS[table.wait_unit]) for row in rows]
    return found


def _claims(source: _Source, table: Claims) -> Rows:
    rows = source.rows(table.file)
    return {
        "point": [source.point(row) for row in rows],
        "figure": [row.text("figure") for row in rows],
        "value": [row.number("value") for row in rows],
        "decimals": [len(row.text("value").partition(".")[2]) for row in rows],
    }
