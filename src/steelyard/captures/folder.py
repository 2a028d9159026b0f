"""The folder of a capture: its file, of logs that are read, selected, classed; a study that replays it."""

import errno
import filecmp
import heapq
import json
import math
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from steelyard import quantities as fmt
from steelyard.captures.entry import CUT_VALUES, UNREADABLE, Format, Records, Store
from steelyard.captures.formats.registry import format_of
from steelyard.captures.selection import WRITES, Classes, Selection
from steelyard.errors import InputError, typed
from steelyard.workloads.replay import Capture

_TWICE = "records that stand twice in the files: same session, same line"
_OTHER_DATABASES = "statements of other databases"
_USERS = "users of the log: a replay has one, with its search_path, row security and limits"
_UNREADABLE_SHARE_MAX = 0.01
_CUT_BYTES = 3


@dataclass(frozen=True)
class _Session:
    """Begin and end in us since the capture's begin, and the number of events."""

    begin_us: int
    end_us: int
    events: int


def capture(files: Sequence[Path], target: Path, database: str = "") -> Capture:
    """Writes the capture of logs of one server to a file; returns its header. Raises InputError.

    database: whose statements it takes; '' where the files have those of one.
    """
    formats = {file: format_of(file) for file in files}
    if len({one.DIALECT for one in formats.values()}) > 1:
        raise InputError("the files are of servers of different kinds", "capture them one after another")
    records = Records()
    selection = Selection(formats[files[0]].DIALECT, records)
    classes = Classes(selection.dialect)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".capture-") as name:
        folder = Path(name)
        store = Store(folder / "entries")
        try:
            store.create()
            for file in _in_order(files, formats):
                new, twice = store.add(formats[file].read(file, records))
                if twice:
                    records.leave(_TWICE, str(file), twice)
                if formats[file].NOTE:
                    selection.notes[formats[file].NOTE] += new
            _check_read(records, store)
            _choose(store, records, database)
            sessions = _events(store, selection, classes, folder / "events")
        except sqlite3.OperationalError:
            # of a file that nobody else opens: the disk is full
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target)) from None
        finally:
            store.close()
        if not sessions:
            counts = [f"{count} {name}" for name, count in records.left_out.items()]
            logs = "log_min_duration_statement = 0 or log_statement = 'all' logs statements"
            hint = "; ".join(counts) or logs
            raise InputError(f"{', '.join(map(str, files))}: no statement to execute", hint)
        header, numbers = _header(sessions, selection, classes, formats[files[0]].NAME)
        _write(header, numbers, sessions, folder)
        (folder / "capture").replace(target)
    return header


def _in_order(files: Sequence[Path], formats: Mapping[Path, Format]) -> Sequence[Path]:
    """By the times of their first statements. Raises InputError where two files are the same."""
    for one, other in combinations(files, 2):
        if formats[one].DIALECT == "mysql" and filecmp.cmp(one, other, shallow=False):
            raise InputError(f"{other} has the records of {one}", "name each log once")
    first_us: dict[Path, int] = {}
    for file in files:
        entry = next(iter(formats[file].read(file, Records())), None)
        first_us[file] = entry.begin_us if entry else 0
    return sorted(first_us, key=first_us.__getitem__)


def _check_read(records: Records, store: Store) -> None:
    """Raises InputError where more than 1 % of the records are not understood."""
    count = records.left_out[UNREADABLE]
    if count > _UNREADABLE_SHARE_MAX * (count + sum(store.databases().values())):
        raise InputError(
            f"{records.first[UNREADABLE]}: a record that is not understood, as are {count - 1:,} others",
            "messages in English are needed: lc_messages = 'C' while capturing",
        )
    lengths = records.dotted_bytes
    # a character of several bytes is not cut within
    if lengths and (max(lengths) - min(lengths) > _CUT_BYTES or records.longest_bytes > max(lengths)):
        store.clear(CUT_VALUES)


def _choose(store: Store, records: Records, database: str) -> None:
    """Leaves the statements of one database. Sessions that began before the log name none: they are of it."""
    found = store.databases()
    named = found.keys() - {""}
    if len(named) < 2 and database in ("", *found):
        return
    counts = ", ".join(f"{name or '(none)'} ({count:,})" for name, count in found.items())
    if database not in named:
        cause = f'no statement of database "{database}"' if database else "statements of several databases"
        raise InputError(f"{cause}; statements by database: {counts}", "choose one by --database")
    records.leave(_OTHER_DATABASES, "", sum(found.values()) - found[database])
    store.keep(database)


def _events(store: Store, selection: Selection, classes: Classes, file: Path) -> list[_Session]:
    """Writes the events with provisional numbers of their classes; the sessions that have any."""
    found: list[_Session] = []
    with file.open("w", encoding="utf-8") as out:
        known = store.sessions()
        for name, _ in known:
            begin_us, end_us, events = 0, 0, 0
            for entry in selection.session(store.entries(name)):
                at_us = entry.begin_us - known[0][1]
                event = [at_us, classes.number(entry), [entry.sql, *entry.values]]
                out.write(json.dumps(event, separators=(",", ":")) + "\n")
                begin_us = at_us if events == 0 else begin_us
                end_us = max(end_us, at_us + (entry.took_us or 0))
                events += 1
            if events:
                found.append(_Session(begin_us, end_us, events))
    return found


def _header(
    sessions: Sequence[_Session], selection: Selection, classes: Classes, source: str
) -> tuple[Capture, Mapping[int, int]]:
    """The header without offsets; final numbers of classes by provisional ones."""
    ranked, numbers = classes.ranked()
    if selection.writing_sessions < 2:
        selection.notes.pop(WRITES, None)
    if len(selection.records.users) > 1:
        selection.notes[_USERS] = len(selection.records.users)
    header = Capture(
        source=source,
        dialect=selection.dialect,
        read_only=selection.read_only,
        clients=_side_by_side(sessions),
        duration_us=max(one.end_us for one in sessions),
        events=sum(one.events for one in sessions),
        classes=ranked,
        left_out=dict(selection.records.left_out),
        first=selection.records.first,
        beside=dict(selection.records.beside),
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
                final = numbers[int(number)]
                if header.classes[final].takes == "values":
                    # its text is in the class
                    rest = json.dumps(json.loads(rest[:-2])[1:], separators=(",", ":")) + "]\n"
                at += body.write(f"{time},{final},{rest}".encode())
            index.append((session.begin_us, start, at - start))
    found = header.model_copy(update={"sessions": sorted(index)})
    with (folder / "capture").open("wb") as out:
        out.write(found.model_dump_json().encode() + b"\n")
        with (folder / "body").open("rb") as body:
            shutil.copyfileobj(body, out)


_CAPTURE = "load.capture"
_STUDY = """\
name = "replay"
question = "How does this server execute the captured load?"

[subject]
{subject}

[workload]
kind = "replay"
capture = "{capture}"
pace = "original"               # or "asap": each session without pauses
# speed = 2                     # an hour in half an hour
# data_file = "before.sql"      # the data as they were when the capture began

# what changes: a setting, a version, an index
# [factors.version]
# scope = "version"
# setting = "bindir"
# levels = {{ V15 = "/usr/lib/postgresql/15/bin", V18 = "embedded" }}

[plan]
clients = [{clients}]
warm_up_s = 0
measure_s = {measure_s}
blocks = 3
"""
_SUBJECTS = {"postgresql": 'kind = "postgres"', "mysql": 'kind = "mariadb"'}


def write_folder(files: Sequence[Path], folder: Path, database: str) -> list[str]:
    """Writes capture and study; what to say about them. Raises InputError.

    database: whose statements it takes; '' where the files have those of one.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}") from None
    header = capture(files, folder / _CAPTURE, database)
    study = folder / "study.toml"
    # a study that was changed by hand is kept
    if not study.exists():
        text = _STUDY.format(
            subject=_SUBJECTS[header.dialect],
            capture=_CAPTURE,
            clients=header.clients,
            measure_s=math.ceil(header.duration_s * 1.1) + 10,
        )
        study.write_text(text, encoding="utf-8")
    return [*summary(header), f"next: steelyard run {typed(study)}"]


def summary(header: Capture) -> Iterator[str]:
    """What the capture holds, what it leaves out, and what a replay of it cannot reproduce."""
    sizes = (
        fmt.count(header.events, "statement"),
        fmt.count(len(header.classes), "class", "classes"),
        fmt.count(len(header.sessions), "session"),
    )
    yield f"{header.source}: {', '.join(sizes)}, {header.clients} at one time, {header.duration_s:,.1f} s"
    for what, count in header.left_out.items():
        first = header.first.get(what)
        yield f"left out: {count:,} {what}{first and f' (first: {first})'}"
    for what, count in header.beside.items():
        yield f"beside the statements: {count:,} {what}"
    for what, count in header.notes.items():
        yield f"differs in a replay: {count:,} {what}"
