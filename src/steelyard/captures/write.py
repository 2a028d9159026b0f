"""The file of a capture from logs: read, selected, classed, written by session."""

from __future__ import annotations

import errno
import heapq
import json
import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from steelyard.captures.entry import Entry
from steelyard.captures.formats.registry import format_of
from steelyard.captures.selection import WRITES, Selection
from steelyard.captures.store import Store
from steelyard.captures.tokens import Dialect, normalised
from steelyard.study.errors import InputError
from steelyard.workloads.replay.capture_file import Capture, CapturedClass

# each class that is measured needs a histogram of 100 KB per thread of the load engine
_TEXT_CLASSES_MAX = 64
_OTHERS = "other statements"
_NAME_CHARACTERS_MAX = 60

_Takes = Literal["text", "parsed-text", "values"]


@dataclass
class _Class:
    """values: how many its events have, where they are bound."""

    number: int
    takes: _Takes
    sql: str
    values: int = 0
    executions: int = 0
    captured_us: int = 0


@dataclass
class _Classes:
    """The classes of a capture, numbered as they come; `ranked` orders and merges them."""

    dialect: Dialect
    _found: dict[tuple[_Takes, str], _Class] = field(default_factory=dict[tuple[_Takes, str], _Class])

    def number(self, entry: Entry) -> int:
        """The number of the entry's class, which counts it."""
        takes: _Takes = (
            "values" if entry.how == "values" else "text" if entry.how == "text" else "parsed-text"
        )
        sql = entry.sql if takes == "values" else normalised(entry.sql, self.dialect)
        found = self._found.get((takes, sql))
        if found is None:
            found = _Class(len(self._found), takes, sql, len(entry.values))
            self._found[takes, sql] = found
        found.executions += 1
        found.captured_us += entry.took_us or 0
        return found.number

    def ranked(self) -> tuple[list[CapturedClass], dict[int, int]]:
        """The classes, those with most time first, and the final number by the one that they had.

        Texts beyond the 64 with most time are measured together; a prepared text cannot be merged.
        """
        ranked = sorted(self._found.values(), key=lambda one: (-one.captured_us, -one.executions, one.sql))
        texts = [one for one in ranked if one.takes != "values"]
        merged = {one.number for one in texts[_TEXT_CLASSES_MAX:]}
        groups: list[Sequence[_Class]] = [[one] for one in ranked if one.number not in merged]
        for takes in ("text", "parsed-text"):
            if together := [one for one in ranked if one.number in merged and one.takes == takes]:
                groups.append(together)
        names: Counter[str] = Counter()
        classes = [self._captured(group, names) for group in groups]
        numbers = {one.number: number for number, group in enumerate(groups) for one in group}
        return classes, numbers

    def _captured(self, group: Sequence[_Class], names: Counter[str]) -> CapturedClass:
        first = group[0]
        sql = first.sql if len(group) == 1 else _OTHERS
        name = " ".join((normalised(sql, self.dialect) if first.takes == "values" else sql).split())
        if len(name) > _NAME_CHARACTERS_MAX:
            name = name[: _NAME_CHARACTERS_MAX - 1].rstrip() + "…"
        names[name] += 1
        # the load engine's results have rows called `transaction` of their own
        if names[name] > 1 or name.startswith("transaction"):
            name = f"{name} ({names[name]})"
        return CapturedClass(
            name=name,
            sql=sql,
            takes=first.takes,
            count=first.values,
            executions=sum(one.executions for one in group),
            captured_us=sum(one.captured_us for one in group),
        )


Change = Callable[[Entry], Entry]

_OTHER_DATABASES = "statements of other databases"


@dataclass(frozen=True)
class _Session:
    """Begin and end in us since the capture's begin, and the number of events."""

    begin_us: int
    end_us: int
    events: int


def unchanged(entry: Entry) -> Entry:
    """The entry."""
    return entry


def capture(files: Sequence[Path], target: Path, database: str = "", change: Change = unchanged) -> Capture:
    """Writes the capture of logs of one server to a file; returns its header. Raises InputError.

    database: whose statements it takes; '' where the files have those of one. change: of each entry.
    """
    formats = [format_of(file) for file in files]
    dialects = {one.DIALECT for one in formats}
    if len(dialects) > 1:
        raise InputError("the files are of servers of different kinds", "capture them one after another")
    selection = Selection(formats[0].DIALECT)
    classes = _Classes(selection.dialect)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".capture-") as name:
        folder = Path(name)
        store = Store(folder / "entries")
        try:
            store.create()
            for file, one in zip(files, formats, strict=True):
                count = store.add(map(change, one.read(file, selection.left_out)))
                if one.NOTE:
                    selection.notes[one.NOTE] += count
            _choose(store, selection, database)
            sessions = _events(store, selection, classes, folder / "events")
        except sqlite3.OperationalError:
            # of a file that nobody else opens: the disk is full
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target)) from None
        finally:
            store.close()
        if not sessions:
            raise InputError(f"{', '.join(map(str, files))}: no statement to execute", _why(selection))
        header, numbers = _header(sessions, selection, classes, formats[0].NAME)
        _write(header, numbers, sessions, folder)
        (folder / "capture").replace(target)
    return header


def _choose(store: Store, selection: Selection, database: str) -> None:
    """Leaves the statements of one database."""
    found = store.databases()
    if len(found) < 2 and database in ("", *found):
        return
    counts = ", ".join(f"{name or '(none)'} ({count:,})" for name, count in found.items())
    if database not in found:
        cause = f'no statement of database "{database}"' if database else "statements of several databases"
        raise InputError(f"{cause}; statements by database: {counts}", "choose one by --database")
    selection.left_out[_OTHER_DATABASES] += sum(found.values()) - found[database]
    store.keep(database)


def _events(store: Store, selection: Selection, classes: _Classes, file: Path) -> list[_Session]:
    """Writes the events with provisional numbers of their classes; the sessions that have any."""
    found: list[_Session] = []
    with file.open("w", encoding="utf-8") as out:
        known = store.sessions()
        for name, _, _ in known:
            begin_us, end_us, events = 0, 0, 0
            for at_us, took_us, line in _lines(selection.session(store.entries(name)), classes, known[0][1]):
                out.write(line)
                begin_us = at_us if events == 0 else begin_us
                end_us = max(end_us, at_us + took_us)
                events += 1
            if events:
                found.append(_Session(begin_us, end_us, events))
    return found


def _lines(entries: Iterator[Entry], classes: _Classes, begin_us: int) -> Iterator[tuple[int, int, str]]:
    for entry in entries:
        at_us = entry.begin_us - begin_us
        values = list(entry.values) if entry.how == "values" else [entry.sql]
        event = json.dumps([at_us, classes.number(entry), values], separators=(",", ":"))
        yield at_us, entry.took_us or 0, event + "\n"


def _why(selection: Selection) -> str:
    counts = [f"{count} {name}" for name, count in selection.left_out.items() if count]
    return "; ".join(counts) or "log_min_duration_statement = 0 or log_statement = 'all' logs statements"


def _header(
    sessions: Sequence[_Session], selection: Selection, classes: _Classes, source: str
) -> tuple[Capture, Mapping[int, int]]:
    """The header without offsets; final numbers of classes by provisional ones."""
    ranked, numbers = classes.ranked()
    if selection.writing_sessions < 2:
        selection.notes.pop(WRITES, None)
    header = Capture(
        source=source,
        dialect=selection.dialect,
        read_only=selection.read_only,
        clients=_side_by_side(sessions),
        duration_us=max(one.end_us for one in sessions),
        events=sum(one.events for one in sessions),
        classes=ranked,
        left_out=dict(+selection.left_out),
        notes=dict(+selection.notes),
        sessions=[(one.begin_us, 0, 0) for one in sessions],
    )
    return header, numbers


def _side_by_side(sessions: Sequence[_Session]) -> int:
    """The largest number of sessions at one time."""
    ends_us: list[int] = []
    most = 0
    for one in sorted(sessions, key=lambda one: one.begin_us):
        while ends_us and ends_us[0] < one.begin_us:
            heapq.heappop(ends_us)
        heapq.heappush(ends_us, one.end_us)
        most = max(most, len(ends_us))
    return most


def _write(header: Capture, numbers: Mapping[int, int], sessions: Sequence[_Session], folder: Path) -> None:
    """The sessions by their begin, with final numbers, after a header that knows where each is."""
    index: list[tuple[int, int, int]] = []
    with (folder / "events").open(encoding="utf-8") as source, (folder / "body").open("wb") as body:
        at = 0
        for session in sessions:
            start = at
            for _ in range(session.events):
                time, number, rest = source.readline().split(",", 2)
                at += body.write(f"{time},{numbers[int(number)]},{rest}".encode())
            index.append((session.begin_us, start, at - start))
    found = header.model_copy(update={"sessions": sorted(index)})
    with (folder / "capture").open("wb") as out:
        out.write(found.model_dump_json().encode() + b"\n")
        with (folder / "body").open("rb") as body:
            shutil.copyfileobj(body, out)
