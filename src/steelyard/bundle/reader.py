"""Reads a bundle: every table as an SQL view, and the evidence for the analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from steelyard.bundle.evidence import queries
from steelyard.bundle.evidence.evidence import Columns, Evidence, Topology, counts_instructions, placement_of
from steelyard.bundle.evidence.histograms import file_of, quantiles, summary
from steelyard.bundle.evidence.hold_times import holds
from steelyard.bundle.evidence.host_load import host_load
from steelyard.bundle.evidence.probes import probed
from steelyard.bundle.storage.head import read_head
from steelyard.bundle.storage.inventory import Inventory, take_inventory
from steelyard.bundle.storage.open_folder import Place, readable
from steelyard.bundle.storage.study_files import identity_of_data, kept_files
from steelyard.bundle.storage.views import connect
from steelyard.declared_metrics import Declared, parsed
from steelyard.study.errors import InputError, typed
from steelyard.study.files import StudyFiles
from steelyard.study.load_study import plan_study
from steelyard.study.plan import Option
from steelyard.study.source import toml_of
from steelyard.study.study import Study

# what a data directory is made with, as settings show it
FIXED = ("data_checksums", "block_size", "wal_segment_size", "server_encoding", "innodb_page_size")
_QUANTILES = {"p50_ns": 0.5, "p95_ns": 0.95, "p99_ns": 0.99, "p999_ns": 0.999}


class Bundle:
    """A bundle opened for reading. Raises InputError when path is not a bundle, or of a newer format."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.head, self.environment, self.study_text = read_head(path)

    @property
    def files(self) -> StudyFiles:
        """Copies of the files that the study names. Raises InputError."""
        return kept_files(self.path, self.head)

    @cached_property
    def study(self) -> Study:
        """The study that was run. Raises InputError."""
        return self._planned[0]

    @property
    def options(self) -> tuple[Option, ...]:
        """The options that were run, in the order of the study. Raises InputError."""
        return self._planned[1]

    @cached_property
    def _planned(self) -> tuple[Study, tuple[Option, ...]]:
        origin = str(self.path / "study.toml")
        study, resolved = plan_study(self.study_text, origin, self.files)
        by_levels = {tuple(option.levels.items()): option for option in resolved}
        found: list[Option] = []
        for head in self.head["options"]:
            option = by_levels.get(tuple((name, head["levels"].get(name)) for name in study.factors))
            if option is None:
                raise InputError(
                    f"{self.path / 'bundle.json'}: option {head['label']} is not in study.toml",
                    "take both files from one copy of the bundle",
                )
            found.append(replace(option, label=head["label"]))
        return study, tuple(found)

    @cached_property
    def declared(self) -> Declared:
        """The metrics that the monitors declared when the bundle was written."""
        return parsed(self.environment["metrics"])

    def setting(self, option: str, name: str) -> str | None:
        """A setting of an option's server; None where its version has none of this name, or it is unknown."""
        first, server = self.environment.get("server", {}), self._servers[option]
        if name in server["set"]:
            return str(server["set"][name])
        known: dict[str, Any] = {**first.get("settings", {}), **server.get("differs", {})}
        value = known.get(name)
        return None if value is None else str(value)

    def _fixed(self, option: str) -> dict[str, str]:
        values = {name: self.setting(option, name) for name in FIXED}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def _servers(self) -> dict[str, Any]:
        return self.environment.get("servers", {})

    @cached_property
    def inventory(self) -> Inventory:
        """The readable runs, and what is left out. Raises InputError."""
        options = {option["label"] for option in self.head["options"]}
        return take_inventory(self.path / "runs", self.head["id"], options)

    @cached_property
    def duckdb(self) -> duckdb.DuckDBPyConnection:
        """A connection in which every table of the bundle is a view. Raises InputError."""
        inventory = self.inventory
        with readable(self.path, self._runs):
            return connect(self._runs, inventory)

    @cached_property
    def _runs(self) -> Place:
        return Place(self.path / "runs")

    def columns(self, query: str, given: Mapping[str, Any] | None = None) -> Columns:
        """The result of a query, as numpy arrays by column. given: its parameters by name."""
        with readable(self.path, self._runs):
            cursor: Any = self.duckdb.execute(query, given)
            result: dict[str, Any] = cursor.fetchnumpy()
        return {name: _plain(values) for name, values in result.items()}

    def evidence(self) -> Evidence:
        """The evidence for the analysis. Raises InputError without a finished and readable run."""
        runs = self.columns("select run, option, block, slot, seconds from used_runs order by run")
        if not len(runs["run"]):
            again = f"steelyard resume {typed(self.path)}"
            if left_out := [text for _, text in self.inventory.notices]:
                raise InputError(f"{self.path}: no usable run: {'; '.join(left_out)}", again)
            raise InputError(f"{self.path}: no finished run yet", again)
        with readable(self.path, self._runs):
            self.duckdb.execute(queries.READINGS)
        return Evidence(
            study=self.study,
            options=self.options,
            baseline=self.head["baseline"],
            runs=runs,
            points=self.columns(queries.POINTS),
            seconds=self.columns(queries.SECONDS),
            latency=self._latency(),
            kinds=self.columns(queries.KINDS),
            clients=self.columns(
                "select c.* from clients c join used_runs using (run) order by run, point, client"
            ),
            rates=self.columns(queries.RATES),
            gauges=self.columns(queries.GAUGES),
            peaks=self.columns(queries.PEAKS),
            silence=self.columns(queries.SILENCE),
            notices=self.columns("select run, code, text from notices order by run"),
            latches=self.columns(queries.LATCHES),
            latch_gets=self.columns(queries.LATCH_GETS),
            holds=holds(self.duckdb),
            claims=self.columns("select claims.* from claims join used_runs using (run) order by run, point"),
            probed=probed(self),
            # the CPUs of a server at an address are unknown
            topology=Topology() if self.study.subject.dsn else Topology.of(self.environment),
            placement={} if self.study.subject.dsn else placement_of(self.environment),
            turns=self.columns(
                "select run, point, deal, round, position, start_ns, transactions, first_half"
                " from turns join used_runs using (run) order by start_ns, run"
            ),
            redone=self.columns(queries.REDONE),
            calibration=self.environment.get("calibration", {}),
            storage={} if self.study.subject.dsn else self.environment.get("storage", {}),
            versions={label: str(server["version"]) for label, server in self._servers.items()},
            fixed={label: self._fixed(label) for label in self._servers},
            schemas={label: s["schema"] for label, s in self._servers.items() if "schema" in s},
            declared=self.declared,
            data=identity_of_data(self.head, toml_of(self.study_text, str(self.path / "study.toml"))),
            instruction_time=counts_instructions(self.environment),
            rehearsal=self.columns(
                "select option, step, statement, answer, rows, draws, plan from rehearsal order by run"
            ),
            marks=self.columns("select m.* from marks m join used_runs using (run) order by run, execution"),
            host_load=host_load(self.duckdb),
            scores=self.columns(
                "select scores.* from scores join used_runs using (run) order by run, point, instance"
            ),
            further_scores=self.columns(
                "select s.* from further_scores s join used_runs using (run) order by run, point, instance"
            ),
        )

    def _latency(self) -> Columns:
        rows = self.duckdb.execute(
            "select run, point, statement, count, histogram from latency join used_runs using (run)"
            " where count > 0 order by run, point, statement"
        ).fetchall()
        columns: dict[str, list[Any]] = {
            name: [] for name in ("run", "point", "statement", "count", "mean_ns", *_QUANTILES, "max_ns")
        }
        for run, point, statement, count, histogram in rows:
            where = f"{self.path}/{file_of(run, 'latency')}"
            _, _, mean, highest = summary(histogram, where)
            found = quantiles(histogram, tuple(_QUANTILES.values()), where)
            values = (run, point, statement, count, mean, *found, highest)
            for name, value in zip(columns, values, strict=True):
                columns[name].append(value)
        return {name: np.asarray(values) for name, values in columns.items()}


def _plain(values: Any) -> np.ndarray[Any, Any]:
    """Masked values (SQL null) become NaN."""
    masked: Any = np.ma.asarray(values)
    if masked.mask is np.ma.nomask:
        return np.asarray(values)
    return masked.astype(np.float64).filled(np.nan) if masked.dtype.kind in "fiu" else masked.filled("")
