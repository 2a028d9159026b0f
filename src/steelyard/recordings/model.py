"""The keys of a recording's TOML file, the catalogue of recordings, an example."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from steelyard.errors import InputError, nearest
from steelyard.study.key_types import Strict
from steelyard.study.source import text_of, toml_of


class Throughput(Strict):
    """Meaning of columns. Columns with the name of a factor give the option of a row."""

    file: str
    """CSV, in the folder of the recording's file; the first line names the columns"""
    where: dict[str, str] = Field(default_factory=dict)
    """value by column: only these rows count, in all tables"""
    clients: str = "clients"
    """column of the number of clients (study.plan.clients)"""
    per_s: str = "per_s"
    """column of the throughput, in study.workload.unit"""


class LatchTable(Strict):
    """Columns gets, misses, spin_gets, sleeps, wait_time, each optional; of one option."""

    file: str
    """CSV"""
    latch: str
    """its name"""
    option: str
    """label of the option whose latch it is: codes joined by _"""
    wait_unit: Literal["ns", "us", "ms", "s"] = "us"
    """of wait_time"""


class ProbeTables(Strict):
    """Tables of kernprof and lockmeter, of one option: see the end of this page for their columns."""

    option: str
    """label of the option that was profiled"""
    profile: str | None = None
    """CSV: function, samples"""
    locks: str | None = None
    """CSV: one row per lock"""


class Server(Strict):
    """What was measured."""

    version: str
    """name and version, in the source's words"""


class TableRecording(Strict):
    """The whole file: transactions_per_client, or as_if_measured_s where only rates were published."""

    source: str
    """who published it, where and when"""
    transactions_per_client: int | None = Field(default=None, gt=0, le=10**12)
    """transactions of each client, where their number was fixed"""
    as_if_measured_s: float | None = Field(default=None, ge=0.001, le=1e9)
    """length of a load point where only its rate is known"""
    throughput: Throughput
    latches: LatchTable | None = None
    probes: ProbeTables | None = None
    server: Server
    environment: dict[str, Any] = Field(default_factory=dict)
    """facts of the machine, as environment.json of a bundle has them"""
    study: dict[str, Any]
    """the study that the tables answer, as in a study file: subject.kind recording, workload.kind published,
    and one block; without factors the tables are of one server alone"""

    @model_validator(mode="after")
    def _one_length(self) -> TableRecording:
        if (self.transactions_per_client is None) == (self.as_if_measured_s is None):
            raise ValueError("give either transactions_per_client or as_if_measured_s")
        return self

    @property
    def work(self) -> str:
        """Length of a load point, as text."""
        if self.transactions_per_client is not None:
            return f"{self.transactions_per_client:,} transactions per client"
        return f"rates alone were published; counts are those of {self.as_if_measured_s:g} s"

    def transactions(self, clients: int, per_s: float) -> int:
        """Transactions of a load point."""
        if self.transactions_per_client is not None:
            return clients * self.transactions_per_client
        return round(per_s * (self.as_if_measured_s or 0))


def catalogue() -> dict[str, Path]:
    """Built-in recordings: file by name."""
    folder = Path(str(resources.files("steelyard.catalog"))) / "published"
    return {place.stem: place for place in sorted(folder.glob("*.toml"))}


def example() -> str:
    """The text of a recording that can be imported from any folder."""
    place = catalogue()["dc3-specjbb2005"]
    file = "dc3-specjbb2005.csv"
    elsewhere = json.dumps(str(place.parent / file), ensure_ascii=False)
    return (
        "# What the columns of published tables mean, and the study that they answer.\n"
        '# Your tables are in the folder of this file: file = "mine.csv".\n\n'
        + place.read_text().replace(json.dumps(file), elsewhere)
    )


def questions() -> Iterator[tuple[str, str]]:
    """Name and question of each built-in recording."""
    for name, place in catalogue().items():
        raw = toml_of(text_of(place), str(place))
        yield name, str(raw.get("study", raw)["question"])


def not_found(place: Path) -> InputError:
    """For a file that is not there: perhaps it is the name of a recording."""
    return InputError(
        f"{place}: no such file, and no recording of that name{nearest(str(place), catalogue())}"
    )
