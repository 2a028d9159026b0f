"""The workload of scripts of pgbench, the program that comes with PostgreSQL."""

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from steelyard.study.key_types import Form, KeyName, Setting
from steelyard.study.workloads.transactions import DrivenWorkload, SqlWorkload

BUILTINS = ("tpcb-like", "simple-update", "select-only")
_ENTRY = re.compile(r"(?P<name>.*?)(?:@(?P<weight>\d{1,6}))?")

ScriptEntry = Annotated[str, Form(r"^[^\x00]+$", "invalid script: use FILE or FILE@WEIGHT, a whole number")]


class PgbenchWorkload(SqlWorkload, DrivenWorkload):
    """Scripts of pgbench, each a transaction, chosen by weight."""

    SMALLEST: ClassVar[Mapping[str, float]] = {"scale": 1}

    kind: Literal["pgbench"]
    script: list[ScriptEntry] = Field(default=["tpcb-like"], min_length=1, max_length=64)
    """scripts of pgbench, FILE or FILE@WEIGHT from the folder of the study file, or built in: tpcb-like,
    simple-update, select-only"""
    script_texts: dict[str, str] = Field(default_factory=dict[str, str])
    """texts of the files under script, which are read otherwise"""
    scale: int = Field(default=1, ge=1, le=21_000)
    """pgbench's scale factor, :scale: 100,000 accounts each; the tables pgbench_* are made where the study
    has no schema and no data of its own"""
    variables: dict[KeyName, Setting] = Field(default_factory=dict[KeyName, Setting])
    """variables of the scripts by name, as pgbench's -D; a text stands for a part of the SQL"""
    handle: Literal["none", "unnamed", "named", "per-use", "left"] = "none"
    """none: pgbench's protocol simple; unnamed: extended; named: prepared; per-use, left: as of statements"""

    @model_validator(mode="after")
    def _has_texts(self) -> Self:
        for entry in self.script:
            name, _ = self.weighted(entry)
            if name not in BUILTINS and name not in self.script_texts:
                raise ValueError(f'script: no text of "{name}"; built in: {", ".join(BUILTINS)}')
        return self

    @staticmethod
    def weighted(entry: str) -> tuple[str, int]:
        """File, or name of a built-in script, and weight of an entry of `script`."""
        found = _ENTRY.fullmatch(entry)
        return (found["name"], int(found["weight"] or 1)) if found else (entry, 1)

    @property
    def sends_parameters(self) -> bool:
        """Whether values are bound: as in pgbench, by every protocol but the simple one."""
        return self.handle != "none"

    def summary(self) -> dict[str, str]:
        """Scripts and scale, arrival, threads."""
        return {
            "workload": f"{self.kind}, {', '.join(self.script)}, scale {self.scale:,}",
            "arrival": self.arrival.summary(),
            "threads": str(self.threads),
        }
