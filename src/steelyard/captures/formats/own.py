"""A capture that `steelyard capture-load` has written."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from steelyard.captures.entry import Entry, How, Records
from steelyard.captures.tokens import Dialect
from steelyard.workloads.replay.capture_file import read_capture, sessions

_HOW: dict[str, How] = {"text": "text", "parsed-text": "parsed", "values": "values", "text-values": "values"}


@dataclass(frozen=True)
class OwnFormat:
    """Captures of one dialect."""

    DIALECT: Dialect
    NAME: str = "steelyard capture"
    NOTE: str = ""

    def sniff(self, head: bytes) -> bool:
        """Its header, with the dialect near its begin."""
        begin = head[:256]
        return begin.startswith(b'{"format":"steelyard capture"') and f'"{self.DIALECT}"'.encode() in begin

    def read(self, path: Path, records: Records) -> Iterator[Entry]:
        """The statements. Raises InputError."""
        header = read_capture(path)
        for reason, count in header.left_out.items():
            records.leave(reason, header.first.get(reason, str(path)), count)
        for number, events in enumerate(sessions(path)):
            for at_us, class_, values in events:
                one = header.classes[class_]
                sql = one.sql if one.takes == "values" else values[0] or ""
                bound = tuple(values) if one.takes == "values" else ()
                yield Entry(str(number), at_us, None, sql, _HOW[one.takes], bound)
