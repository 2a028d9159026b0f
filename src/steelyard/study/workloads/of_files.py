"""Workloads whose transactions are in files: scripts of pgbench, which comes with PostgreSQL; captures."""

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from steelyard.study.key_types import FileName, Form, Idle, KeyName, Setting, Toml
from steelyard.study.workloads.transactions import DrivenWorkload, Handle, SqlWorkload

BUILTINS = ("tpcb-like", "simple-update", "select-only")
_ENTRY = re.compile(r"(?P<name>.*?)(?:@(?P<weight>\d{1,6}))?")

_ScriptEntry = Annotated[str, Form(r"^[^\x00]+$", "invalid script: use FILE or FILE@WEIGHT, a whole number")]


class PgbenchWorkload(SqlWorkload, DrivenWorkload):
    """Scripts of pgbench, each a transaction, chosen by weight."""

    SMALLEST = {"scale": 1}

    kind: Literal["pgbench"]
    script: list[_ScriptEntry] = Field(default=["tpcb-like"], min_length=1, max_length=64)
    """scripts of pgbench, FILE or FILE@WEIGHT from the folder of the study file, or built in: tpcb-like,
    simple-update, select-only"""
    script_texts: dict[str, str] = {}
    """texts of the files under script, which are read otherwise"""
    scale: int = Field(default=1, ge=1, le=21_000)
    """pgbench's scale factor, :scale: 100,000 accounts each; the tables pgbench_* are made where the study
    has no schema and no data of its own"""
    variables: dict[KeyName, Setting] = {}
    """variables of the scripts by name, as pgbench's -D; a text stands for a part of the SQL"""
    handle: Handle = "none"
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

    def summary(self) -> dict[str, str]:
        """Scripts and scale, arrival, threads."""
        return {
            "workload": f"{self.kind}, {', '.join(self.script)}, scale {self.scale:,}",
            "arrival": self.arrival.summary(),
            "threads": str(self.threads),
        }


class ReplayWorkload(SqlWorkload):
    """A capture, executed once at each load point. Each client plays one session after another.

    Its unit of work is the statement. At the original pace latency counts from the moment at which the
    statement was executed in the capture, so it contains what the server is late by.
    """

    WORK = "statement"
    steady = False
    counts_transactions = False
    CLIENT = "handle threads deadline_ms pace speed"
    ONLY_IF = {"speed": "pace = original"}

    kind: Literal["replay"]
    capture: FileName
    """file of a capture by `steelyard capture-load`, from the folder of the study file"""
    pace: Literal["original", "asap"] = "original"
    """original: each statement when it was executed in the capture, or as soon as those before it in its
    session have ended; asap: a session without pauses"""
    speed: float = Field(default=1.0, ge=1e-3, le=1e6)
    """pace = 'original': 2 plays an hour in half an hour"""
    handle: Handle = "named"
    """of statements that were captured with bound values, as of statements; others are sent as they were; not
    none"""

    @model_validator(mode="after")
    def _binds_values(self) -> Self:
        if self.handle == "none":
            raise ValueError("handle: 'none' binds no values: use unnamed, named, per-use or left")
        return self

    def idle(self) -> Idle:
        """Keys of workloads that draw their transactions."""
        for key in ("mix", "retries", "arrival"):
            yield (key,), "a replay executes what was captured, in its order"
        yield from super().idle()

    def load_keys(self) -> Toml:
        """Handle, capture and pace, limits."""
        return {
            **super().load_keys(),
            "capture": self.capture,
            "arrival": {"kind": "replay", "speed": None if self.pace == "asap" else self.speed},
        }

    @property
    def open_loop(self) -> bool:
        """Whether statements are due at given times."""
        return self.pace == "original"

    def summary(self) -> dict[str, str]:
        """The capture and its pace, threads."""
        pace = "as fast as each session allows" if self.pace == "asap" else f"{self.speed:g} x original"
        return {
            "workload": f"{self.kind} of {Path(self.capture).name}",
            "pace": pace,
            "threads": str(self.threads),
        }
