"""What a server of the lab takes of memory and disk, estimated before it starts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.host.room import Room
from steelyard.study.key_types import Setting
from steelyard.workloads import Work

_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
# of a short row with its index; half of it is the server's own
_ROW_BYTES = 250
# a dump without indexes, perhaps compressed
_GROWTH_OF_DATA_FILE = 5


@dataclass(frozen=True)
class Footprint:
    """Of a server: memory of its own processes, of each session, and disk without tables.

    buffers, log: the settings of the size of its buffers and of its log, each with the default in bytes and
    the unit of a bare number.
    """

    memory_bytes: int
    session_bytes: int
    disk_bytes: int
    buffers: tuple[str, int, int]
    log: tuple[str, int, int]

    def room(self, work: Work, settings: Mapping[str, Setting], sessions: int) -> Room:
        """Of a server with these settings; buffers hold at most the data, and only writes fill the log."""
        data_bytes = _data_bytes(work)
        buffers = min(_size(settings, *self.buffers), data_bytes)
        log = _size(settings, *self.log) if _writes(work) else 0
        memory = self.memory_bytes + sessions * self.session_bytes + buffers
        return Room(memory, self.disk_bytes + data_bytes + log)


def _writes(work: Work) -> bool:
    texts = (statement.sql.split(maxsplit=1)[0].lower() for statement in work.statements.values())
    return not work.read_only and any(first != "select" for first in texts)


def _data_bytes(work: Work) -> int:
    tables = sum(table.rows for table in work.tables) * _ROW_BYTES
    file = work.data.stat().st_size * _GROWTH_OF_DATA_FILE if work.data is not None else 0
    return tables + file + (_folder_bytes(work.directory) if work.directory is not None else 0)


def _folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _size(settings: Mapping[str, Setting], name: str, default: int, unit: int) -> int:
    """A size as servers take it: `256MB`, `128M`, `16384` of the unit; the default for any other text."""
    match = re.fullmatch(r"(\d+)\s*([kmgt]?)i?b?", str(settings.get(name, "")).strip().lower())
    if match is None:
        return default
    return int(match[1]) * (_UNITS[match[2]] if match[2] else unit)
