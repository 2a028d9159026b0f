"""One server alone: a table of CSV with its throughput by number of clients.

The first line names the columns: `clients`, `per_s`; others are ignored. Only rates are known, so each
load point gets the same length.
"""

from __future__ import annotations

import re
from pathlib import Path

from steelyard.recordings import Recording
from steelyard.recordings.formats import described
from steelyard.recordings.model import Server, TableRecording, Throughput
from steelyard.recordings.rows import rows_of
from steelyard.study.errors import InputError

_COLUMNS = {"clients", "per_s"}
_LENGTH_S = 100.0


def sniff(head: str) -> bool:
    """Whether the first line names both columns."""
    return {cell.strip('" ') for cell in head.partition("\n")[0].split(",")} >= _COLUMNS


def read(file: Path) -> Recording:
    """The recording of one server, named after the file. Raises InputError."""
    clients = sorted({int(row.number("clients")) for row in rows_of(file)})
    if not clients:
        raise InputError(f"{file}: no rows")
    name = re.sub(r"[^a-z0-9]+", "-", file.stem.lower()).strip("-")[:64] or "series"
    study = {
        "name": name,
        "question": f"How does the throughput of {name} grow with the number of clients?",
        "subject": {"kind": "recording"},
        "plan": {"clients": clients, "warm_up_s": 0, "cool_down_s": 0, "blocks": 1},
    }
    recording = TableRecording(
        source=f"{file.name}: only rates",
        as_if_measured_s=_LENGTH_S,
        throughput=Throughput(file=file.name),
        server=Server(version=name),
        study=study,
    )
    return described.recording_of(recording, file)
