"""Published tables: throughput by number of clients, latch counters, published figures.

A TOML file describes the columns of CSV files, and gives the study that they answer;
levels of its factors are the values in the columns of the same names; without factors the tables are of one
server. Where the work of a client is fixed, each load point lasted transactions / throughput; where only
rates are known, the file gives the length of a load point.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import tomli_w

from steelyard.recordings import RecordedRun, Recording
from steelyard.recordings.model import Claims, LatchTable, TableRecording, read_recording
from steelyard.recordings.probes import locks, profile
from steelyard.recordings.rows import Row, rows_of
from steelyard.run_tables.rows import Columns, Rows, SchemaError, check
from steelyard.run_tables.schema import BY_NAME
from steelyard.study.errors import InputError
from steelyard.study.load_study import plan_study
from steelyard.study.study import Option, Study

_TO_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_COUNTERS = ("gets", "misses", "spin_gets", "sleeps")
_SLOWEST_PER_S = 1e-9


def read(file: Path) -> Recording:
    """The recording that a TOML file describes. Raises InputError."""
    return recording_of(read_recording(file), file)


def recording_of(recording: TableRecording, file: Path) -> Recording:
    """The recording of tables in the folder of a file. Raises InputError."""
    version = recording.server.version
    # one server alone: its label is made from its version
    alone = {"server": {"scope": "server", "levels": {_code(version): version}}}
    text = tomli_w.dumps({"factors": alone, **recording.study})
    study, found = plan_study(text, f"{file}: study")
    runs = [
        RecordedRun(option.label, 1, _tables(_Source(file.parent, recording, study, option)))
        for option in found
    ]
    return Recording(text, _environment(recording, found), runs)


def _code(version: str) -> str:
    return re.sub(r"[^A-Za-z0-9.+-]+", "-", version)[:24].strip("-") or "server"


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
        """Number of the load point of a row. Raises InputError for one that is not in the study."""
        clients = int(row.number(self.recording.throughput.clients))
        if clients not in self.study.plan.clients:
            raise InputError(f"{row.place}: {clients} is not in study.plan.clients")
        return self.study.plan.clients.index(clients)


def _environment(recording: TableRecording, found: Sequence[Option]) -> dict[str, Any]:
    server: dict[str, Any] = {"version": recording.server.version, "origin": "recording", "set": {}}
    return {
        **recording.environment,
        "metrics": {},
        "recording": {"source": recording.source, "work": recording.work},
        "servers": {option.label: server for option in found},
    }


def _tables(source: _Source) -> dict[str, Columns]:
    """The tables of one option's run: one load point per row of its throughput."""
    recording = source.recording
    tables = _throughput(source)
    if recording.latches is not None and recording.latches.option == source.option.label:
        tables["latches"] = _latches(source, recording.latches)
    if (probes := recording.probes) is not None and probes.option == source.option.label:
        if probes.profile is not None:
            tables["profile"] = profile(source.rows(probes.profile))
        if probes.locks is not None:
            tables["locks"] = locks(source.rows(probes.locks))
    if recording.claims is not None:
        tables["claims"] = _claims(source, recording.claims)
    notices = Rows("notices")
    notices.add(code="recording", text=f"a recording: {recording.source}")
    tables["notices"] = notices.columns()
    for name, columns in tables.items():
        try:
            check(BY_NAME[name], columns)
        except SchemaError as error:
            raise InputError(f"{source.folder}: {source.option.label}: {error}") from None
    return tables


def _throughput(source: _Source) -> dict[str, Columns]:
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
            f" {len(per_s)} of the {len(clients)} points in study.plan.clients, or a throughput of 0"
        )
    work = [recording.transactions(n, per_s[i]) for i, n in enumerate(clients)]
    ends_ns = list(accumulate(round(count / per_s[i] * 1e9) for i, count in enumerate(work)))
    phases, throughput = Rows("phases"), Rows("throughput")
    for point, (number, start_ns, end_ns) in enumerate(
        zip(clients, (0, *ends_ns[:-1]), ends_ns, strict=True)
    ):
        phases.add(point=point, clients=number, phase="measure", start_ns=start_ns, end_ns=end_ns)
        throughput.add(point=point, statement="transaction", count=work[point], errors=0)
    return {"phases": phases.columns(), "throughput": throughput.columns()}


def _latches(source: _Source, table: LatchTable) -> Columns:
    rows = Rows("latches")
    for row in source.rows(table.file):
        counters: dict[str, Any] = {name: int(row.number(name)) for name in _COUNTERS if name in row.cells}
        if "wait_time" in row.cells:
            counters["wait_ns"] = round(row.number("wait_time") * _TO_NS[table.wait_unit])
        rows.add(point=source.point(row), latch=table.latch, **counters)
    return rows.columns()


def _claims(source: _Source, table: Claims) -> Columns:
    rows = Rows("claims")
    for row in source.rows(table.file):
        rows.add(
            point=source.point(row),
            figure=row.text("figure"),
            value=row.number("value"),
            decimals=len(row.text("value").partition(".")[2]),
        )
    return rows.columns()
