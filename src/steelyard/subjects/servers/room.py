"""What a server of the lab takes of memory, disk and time, estimated before it starts."""

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from steelyard import quantities as fmt
from steelyard.host.cpus.control_group import around
from steelyard.study.key_types import Settings
from steelyard.workloads import Work


@dataclass(frozen=True)
class Room:
    """An amount of memory and of disk."""

    memory_bytes: int
    disk_bytes: int

    def __str__(self) -> str:
        memory, disk = (fmt.quantity(size, "B") for size in (self.memory_bytes, self.disk_bytes))
        return f"{memory} of memory and {disk} of disk"


def free_room(folder: Path, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> Room:
    """Memory that programs can take without swapping, within the control groups, and disk of the folder."""
    available = re.search(r"^MemAvailable:\s+(\d+) kB", (proc / "meminfo").read_text(), re.MULTILINE)
    memory = [int(available[1]) * 1024] if available else []
    return Room(min((*memory, *_left(proc, sys)), default=0), shutil.disk_usage(folder).free)


# of version 2 of control groups, and of version 1
_MEMORY = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def _left(proc: Path, sys: Path) -> Iterator[int]:
    """What each control group of this process leaves of its limit, the page cache not counted."""
    for folder in around("memory", proc, sys):
        for limit, usage, cache in _MEMORY:
            # version 2 writes `max` for none, and the root has no files
            with suppress(OSError, ValueError):
                free = int((folder / limit).read_text()) - int((folder / usage).read_text())
                found = re.search(rf"^{cache} (\d+)$", (folder / "memory.stat").read_text(), re.MULTILINE)
                yield max(0, free + (int(found[1]) if found else 0))


_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
# of a short row with its index; half of it is the server's own
_ROW_BYTES = 250
# a dump without indexes, perhaps compressed
_GROWTH_OF_DATA_FILE = 5
# rows that a script generates, the usual ways in PostgreSQL and MariaDB
_GENERATED = re.compile(r"generate_series\s*\(\s*\d+\s*,\s*(\d+)|\bseq_\d+_to_(\d+)", re.IGNORECASE)
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_SCRIPT_CHARACTERS_MAX = 1 << 20


@dataclass(frozen=True)
class Size:
    """A setting that is a size: its default, and the unit of a bare number."""

    name: str
    default_bytes: int
    unit_bytes: int = 1

    def of(self, settings: Settings) -> int:
        """As servers take it: `256MB`, `1.5G`, `16384` of the unit; the default for any other text."""
        text = str(settings.get(self.name, "")).strip().lower()
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", text)
        if match is None:
            return self.default_bytes
        return round(float(match[1]) * (_UNITS[match[2]] if match[2] else self.unit_bytes))

    def beyond(self, settings: Settings) -> int:
        """By how much it exceeds its default."""
        return max(0, self.of(settings) - self.default_bytes)


@dataclass(frozen=True)
class Footprint:
    """Of a server with default settings: memory of its own, of each session, and disk without tables.

    buffers, log: settings of the size of its buffers for data and of its log. own, of_session: settings of
    further memory, whose defaults are within memory_bytes and session_bytes. make_s: to make an empty data
    directory with a server on it, rows_per_s: to fill it, on two cores.
    """

    memory_bytes: int
    session_bytes: int
    disk_bytes: int
    buffers: Size
    log: Size
    own: tuple[Size, ...]
    of_session: tuple[Size, ...]
    make_s: float
    rows_per_s: float

    def room(self, work: Work, settings: Settings, sessions: int) -> Room:
        """The most that a server with these settings takes, as far as the size of its data is known.

        Only readers of data of known size leave buffers empty; only writes fill the log.
        """
        data_bytes = _data_bytes(work)
        texts = (_COMMENT.sub(" ", one.sql).split(maxsplit=1) for one in work.statements.values())
        writes = not work.read_only and any(words and words[0].lower() != "select" for words in texts)
        buffers = self.buffers.of(settings)
        # SQL of the user's own may generate any number of rows
        if not (writes or work.script or work.files or work.data is not None):
            buffers = min(buffers, data_bytes)
        own = self.memory_bytes + sum(size.beyond(settings) for size in self.own)
        each = self.session_bytes + sum(size.beyond(settings) for size in self.of_session)
        log = self.log.of(settings) if writes else 0
        return Room(own + sessions * each + buffers, self.disk_bytes + data_bytes + log)

    def data_s(self, work: Work) -> float:
        """Typical time to make a data directory with the data in it."""
        return self.make_s + _data_bytes(work) / _ROW_BYTES / self.rows_per_s


def _data_bytes(work: Work) -> int:
    rows = sum(table.rows for table in work.tables) + _generated_rows(work.script)
    file = 0
    if work.data is not None:
        with work.data.open("rb") as data:
            rows += _generated_rows(data.read(_SCRIPT_CHARACTERS_MAX).decode(errors="replace"))
        file = work.data.stat().st_size * _GROWTH_OF_DATA_FILE
    places = work.directory.rglob("*") if work.directory is not None else ()
    folder = sum(path.stat().st_size for path in places if path.is_file())
    return rows * _ROW_BYTES + sum(table.loaded_bytes for table in work.files) + file + folder


def _generated_rows(script: str) -> int:
    return sum(int(found[1] or found[2]) for found in _GENERATED.finditer(_COMMENT.sub(" ", script)))
