"""Published tables: throughput by number of clients, latch counters.

A TOML file describes the columns of CSV files, and gives the study that they answer;
levels of its factors are the values in the columns of the same names; without factors the tables are of one
server. Where the work of a client is fixed, each load point lasted transactions / throughput; where only
rates are known, the file gives the length of a load point.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from steelyard.errors import InputError, brief, nearest
from steelyard.recordings.cells import exact
from steelyard.recordings.model import ProbeTables, TableRecording
from steelyard.recordings.report import PlacedRun, Report, Work
from steelyard.recordings.tables_of_run import Recording, tables_of_runs
from steelyard.study.load_study import plan_study
from steelyard.study.source import text_of
from steelyard.study.study import Option, Study

_BYTES_MAX = 64 << 20
_TO_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_COUNTERS = ("gets", "misses", "spin_gets", "sleeps")
_SLOWEST_PER_S, _LONGEST_S = 1e-9, 1e9


def recorded(recording: TableRecording, file: Path) -> Recording:
    """The recording that a TOML file describes, of tables in its folder. Raises InputError."""
    version = recording.server.version
    # one server alone: its label is made from its version
    code = re.sub(r"[^A-Za-z0-9.+-]+", "-", version)[:24].strip("-") or "server"
    alone = {"server": {"scope": "server", "levels": {code: version}}}
    text = tomli_w.dumps({"factors": alone, **recording.study})
    study, options = plan_study(text, f"{file}: study")
    runs = [_Tables(file.parent, recording, study, option).run() for option in options]
    server: dict[str, Any] = {"version": version, "origin": "recording", "set": {}}
    environment = {
        **recording.environment,
        "metrics": {},
        "recording": {"source": recording.source, "work": recording.work},
        "servers": {option.label: server for option in options},
    }
    return Recording(file.stem, text, environment, tables_of_runs(runs, study.plan.clients))


class _Row(dict[str, str]):
    """Cells of a row by column. place: file and line, for messages."""

    def __init__(self, place: str, cells: Mapping[str, str]) -> None:
        super().__init__(cells)
        self.place = place

    def __missing__(self, column: str) -> str:
        """Raises InputError."""
        raise InputError(f'{self.place}: no column "{column}"{nearest(column, self)}')

    def number(self, column: str) -> float:
        """Raises InputError for an unknown column, and for a value that is not a number up to 2^53."""
        text = self[column]
        try:
            return exact(text)
        except ValueError:
            said = f'column "{column}": "{brief(text)}" is not a number up to 2^53'
            raise InputError(f"{self.place}: {said}") from None


@dataclass(frozen=True)
class _Tables:
    """The tables in a folder, and the option whose rows are read."""

    folder: Path
    recording: TableRecording
    study: Study
    option: Option

    def rows(self, name: str) -> list[_Row]:
        """Rows of the recording, and of the option where its factors are columns. Raises InputError."""
        file = self.folder / name
        try:
            reader = csv.reader(text_of(file, _BYTES_MAX).splitlines(), strict=True)
            columns = next(reader, list[str]())
            rows = [(f"{file}:{reader.line_num}", cells) for cells in reader if cells]
        except FileNotFoundError:
            raise InputError(f"{file}: cannot be read: no such file") from None
        except csv.Error as error:
            raise InputError(f"{file}: not CSV: {error}") from None
        wanted = dict(self.recording.throughput.where)
        for factor, code in self.option.levels.items():
            if factor in columns:
                wanted[factor] = str(self.study.factors[factor].levels[code])
        found: list[_Row] = []
        for place, cells in rows:
            if len(cells) != len(columns):
                raise InputError(f"{place}: {len(cells)} cells, but the table has {len(columns)} columns")
            row = _Row(place, dict(zip(columns, cells, strict=True)))
            if all(row[name] == value for name, value in wanted.items()):
                found.append(row)
        return found

    def clients(self, row: _Row) -> int:
        """Of the load point of a row. Raises InputError for one that is not in the study."""
        clients = int(row.number(self.recording.throughput.clients))
        if clients not in self.study.plan.clients:
            raise InputError(f"{row.place}: {clients} is not in study.plan.clients")
        return clients

    def run(self) -> PlacedRun:
        """The option's run: one load point per row of its throughput. Raises InputError."""
        recording, label = self.recording, self.option.label
        points = self._throughput()
        first = next(iter(points.values()))
        first.notice("recording", f"a recording: {recording.source}")
        if recording.latches and recording.latches.option == label:
            for row in self.rows(recording.latches.file):
                counters = {name: int(row.number(name)) for name in _COUNTERS if name in row}
                if "wait_time" in row:
                    counters["wait_ns"] = round(row.number("wait_time") * _TO_NS[recording.latches.wait_unit])
                points[self.clients(row)].row("latches", latch=recording.latches.latch, **counters)
        if recording.probes and recording.probes.option == label:
            probes(self, recording.probes, first)
        return PlacedRun(label, 1, [[report] for report in points.values()])

    def _throughput(self) -> dict[int, Report]:
        """By number of clients, in the order of the study."""
        found: dict[int, Report] = {}
        table, label, clients = self.recording.throughput, self.option.label, self.study.plan.clients
        for row in self.rows(table.file):
            if (n := self.clients(row)) in found:
                raise InputError(
                    f"{row.place}: a second row of {label} with clients = {n}",
                    "does the table have a column for each factor?",
                )
            per_s = row.number(table.per_s)
            work = self.recording.transactions(n, per_s)
            if per_s < _SLOWEST_PER_S or work / per_s > _LONGEST_S:
                raise InputError(f"{row.place}: a throughput of {per_s:g} is too low")
            found[n] = Report(row.place, clients=n, seconds=work / per_s, work=Work(work))
        if len(found) < len(clients):
            place, points = self.folder / table.file, f"{len(found)} of the {len(clients)} points"
            raise InputError(f"{place}: {label} has {points} in study.plan.clients")
        return {n: found[n] for n in clients}


def probes(tables: _Tables, found: ProbeTables, report: Report) -> None:
    """Tables of kernprof and lockmeter as rows of `profile` and `locks`, as published.

    kernprof: function, samples; TOTAL_SAMPLES, USER (all of user mode) and functions of the kernel.
    lockmeter: lock, utilisation_pct, contention_pct, hold_mean_us, hold_max_us, wait_mean_us, wait_max_us,
    wait_cpu_pct, total; a blank cell is not available.
    """
    if found.profile:
        report.ticks({row["function"]: int(row.number("samples")) for row in tables.rows(found.profile)})
    # the number of waits is the published share of all acquisitions
    for row in tables.rows(found.locks) if found.locks else ():
        lock, total = row["lock"], int(row.number("total"))
        contended = round(total * row.number("contention_pct") / 100)
        report.lock(
            lock,
            "" if lock.startswith("*") else "spinlock",
            acquisitions=total,
            contended=contended,
            wait_total_ns=round(contended * row.number("wait_mean_us") * 1e3),
            wait_max_ns=round(row.number("wait_max_us") * 1e3),
            wait_cpu_percent=row.number("wait_cpu_pct"),
            utilisation_percent=row.number("utilisation_pct") if row.get("utilisation_pct") else None,
            hold_mean_ns=row.number("hold_mean_us") * 1e3,
            hold_max_ns=row.number("hold_max_us") * 1e3,
        )
