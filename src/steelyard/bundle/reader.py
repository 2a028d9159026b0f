"""Reads a bundle: every table as an SQL view, and the evidence for the analysis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
from pydantic import TypeAdapter

from steelyard.bundle.evidence import Columns, Evidence, Facts, Topology, counts_instructions, placement_of
from steelyard.bundle.evidence.published import Published, add_published
from steelyard.bundle.evidence.queries import add_views, over_views
from steelyard.bundle.storage.files import Place, readable
from steelyard.bundle.storage.head import read_environment, read_facts, read_study
from steelyard.bundle.storage.inventory import Inventory, take_inventory
from steelyard.bundle.storage.study_files import identity_of_data, kept_files
from steelyard.bundle.storage.views import connect
from steelyard.declared_metrics import Declared
from steelyard.errors import InputError, typed
from steelyard.study.files import StudyFiles
from steelyard.study.load_study import plan_study
from steelyard.study.source import toml_of
from steelyard.study.study import Option, Study
from steelyard.study.workloads.published import PublishedWorkload

# what a data directory is made with, as settings show it
FIXED = ("data_checksums", "block_size", "wal_segment_size", "server_encoding", "innodb_page_size")


class Bundle:
    """A bundle opened for reading. Raises InputError when path is not a bundle, or of a newer format."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.head, self.environment = read_facts(path), read_environment(path)
        self.study_text = read_study(path, self.head)

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
        study, resolved = plan_study(self.study_text, str(self.path / "study.toml"), self.files)
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
        return TypeAdapter(Declared).validate_python(self.environment["metrics"])

    def setting(self, option: str, name: str) -> str | None:
        """A setting of an option's server; None where its version has none of this name, or it is unknown."""
        first, server = self.environment.get("server", {}), self.servers[option]
        if name in server["set"]:
            return str(server["set"][name])
        known: dict[str, Any] = {**first.get("settings", {}), **server.get("differs", {})}
        value = known.get(name)
        return None if value is None else str(value)

    @property
    def servers(self) -> Facts:
        """The facts of each option's server, by its label."""
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
            connection = connect(self._runs, inventory)
        if self._published:
            add_published(connection, self.files.kept)
        return connection

    @property
    def _published(self) -> PublishedWorkload | None:
        work = self.study.workload
        return work if isinstance(work, PublishedWorkload) and (work.tables or work.claims) else None

    @cached_property
    def _runs(self) -> Place:
        return Place(self.path / "runs")

    def columns(self, query: str) -> Columns:
        """The result of a query over the tables, as numpy arrays by column; NULL is masked."""
        with readable(self.path, self._runs):
            found: Any = self.duckdb.execute(query)
            return found.fetchnumpy()

    def records(self, query: str, given: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Rows by column, over the views of the analysis (evidence/queries.py), then over the tables.

        A number that is not finite is None. Safe in several threads after evidence().
        """
        with readable(self.path, self._runs):
            found = over_views(self._measured).execute(query, given)
            names = [name for name, *_ in found.description or ()]
            return [dict(zip(names, map(_finite, row), strict=True)) for row in found.fetchall()]

    def evidence(self) -> Evidence:
        """The evidence for the analysis. Raises InputError without a finished and readable run."""
        tables = over_views(self._measured)
        if not tables.execute("from runs").fetchone():
            again = f"steelyard resume {typed(self.path)}"
            if left_out := [text for _, text in self.inventory.notices]:
                raise InputError(f"{self.path}: no usable run: {'; '.join(left_out)}", again)
            raise InputError(f"{self.path}: no finished run yet", again)
        # the CPUs and the storage of a server at an address are unknown
        machine = {} if self.study.subject.dsn else self.environment
        return Evidence(
            tables=tables,
            study=self.study,
            options=self.options,
            baseline=self.head["baseline"],
            declared=self.declared,
            probed_cpus=self.environment.get("cpu", {}).get("cpus_online") or 0,
            topology=Topology.of(machine),
            placement=placement_of(machine),
            calibration=self.environment.get("calibration", {}),
            storage=machine.get("storage", {}),
            versions={label: str(server["version"]) for label, server in self.servers.items()},
            fixed={
                label: {name: one for name in FIXED if (one := self.setting(label, name)) is not None}
                for label in self.servers
            },
            schemas={label: s["schema"] for label, s in self.servers.items() if "schema" in s},
            data=identity_of_data(self.head, toml_of(self.study_text, str(self.path / "study.toml"))),
            instruction_time=counts_instructions(self.environment),
            published=Published.of(work, self.files.kept) if (work := self._published) else None,
        )

    @cached_property
    def _measured(self) -> duckdb.DuckDBPyConnection:
        with readable(self.path, self._runs):
            add_views(self.duckdb)
        return self.duckdb


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
