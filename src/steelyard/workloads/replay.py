"""Captured traffic: the file of a capture, and the workload of which each class is a statement.

The load engine reads the file (crates/load/src/statements/capture.rs): a header of one line in JSON; then
the sessions in the order of their begin, each its events in order, a line each: [begin us, class, [values]].
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from steelyard.errors import InputError
from steelyard.study.key_types import Strict
from steelyard.study.workloads.of_files import ReplayWorkload
from steelyard.study.workloads.statements import Statement
from steelyard.workloads import Work
from steelyard.workloads.sql import own_data

_HEADER_BYTES_MAX = 256 << 20

Event = tuple[int, int, list[str | None]]


class CapturedClass(Strict):
    """Statements that differ in their values alone.

    sql: without values; as it was sent where takes is `values`. takes: what an event gives: its text as a
    simple query, its text to be parsed, its bound values, or its text and bound values. count: of values, the
    most. captured_us: of all executions where the log says it.
    """

    name: str
    sql: str
    takes: Literal["text", "parsed-text", "values", "text-values"]
    count: int = Field(default=0, ge=0, le=65_535)
    executions: int = Field(ge=0)
    captured_us: int = Field(ge=0)


class Capture(Strict):
    """The header. sessions: begin in us, offset from the header's end and length in bytes of each.

    clients: the largest number of sessions at one time. left_out, notes: counts by what they count, of
    statements that are not in the capture, and of those whose replay differs from what was captured. first:
    the place of the first that is left out; beside: counts of records that are no statement.
    """

    format: Literal["steelyard capture"] = "steelyard capture"
    version: Literal[1] = 1
    source: str
    dialect: str
    read_only: bool
    clients: int = Field(ge=1)
    duration_us: int = Field(ge=0)
    events: int = Field(ge=1)
    classes: list[CapturedClass] = Field(min_length=1)
    left_out: dict[str, int]
    first: dict[str, str] = {}
    beside: dict[str, int] = {}
    notes: dict[str, int]
    sessions: list[tuple[int, int, int]] = Field(min_length=1)

    @property
    def duration_s(self) -> float:
        """From the first statement's begin to the last one's."""
        return self.duration_us / 1e6


def read_capture(path: Path) -> Capture:
    """The header of a capture's file. Raises InputError."""
    try:
        with path.open("rb") as file:
            line = file.readline(_HEADER_BYTES_MAX)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    try:
        return Capture.model_validate_json(line)
    except ValidationError as error:
        first: Any = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(
            f"{path}: no file of a capture: {f'{where}: ' if where else ''}{first['msg']}",
            "steelyard capture-load FILE -o FOLDER writes one from a server's log",
        ) from None


def sessions(path: Path) -> Iterator[list[Event]]:
    """The events of each session. Raises InputError."""
    header = read_capture(path)
    with path.open("rb") as file:
        body = len(file.readline())
        for _, offset, length in header.sessions:
            file.seek(body + offset)
            try:
                events = map(json.loads, file.read(length).splitlines())
                yield [(int(at_us), int(number), list(values)) for at_us, number, values in events]
            except (ValueError, TypeError, RecursionError):
                raise InputError(f"{path}: the session at byte {body + offset} is damaged") from None


def replay(workload: ReplayWorkload) -> Work:
    """The classes of the capture, and the data as they were when it began. Raises InputError."""
    header = read_capture(Path(workload.capture))
    left_out = [f"left out of the capture: {count:,} {what}" for what, count in header.left_out.items()]
    notes = [f"differs in a replay: {count:,} {what}" for what, count in header.notes.items()]
    return Work(
        # what was captured keeps to no rules for texts of a study
        {one.name: Statement.model_construct(sql=one.sql) for one in header.classes},
        captured={
            one.name: one.model_dump(include={"takes", "count"} if "values" in one.takes else {"takes"})
            for one in header.classes
        },
        **own_data(workload),
        read_only=header.read_only,
        remarks=(*left_out, *notes),
    )
