"""The folder of a capture: its file, and a study that replays it."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from steelyard import quantities as fmt
from steelyard.captures.write import capture
from steelyard.errors import InputError, typed
from steelyard.workloads.replay.capture_file import Capture

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
        study.write_text(_study(header), encoding="utf-8")
    return [*summary(header), f"next: steelyard run {typed(study)}"]


def _study(header: Capture) -> str:
    return _STUDY.format(
        subject=_SUBJECTS[header.dialect],
        capture=_CAPTURE,
        clients=header.clients,
        measure_s=math.ceil(header.duration_s * 1.1) + 10,
    )


def summary(header: Capture) -> Iterator[str]:
    """What the capture holds, what it leaves out, and what a replay of it cannot reproduce."""
    sizes = (
        fmt.count(header.events, "statement", "statements"),
        fmt.count(len(header.classes), "class", "classes"),
        fmt.count(len(header.sessions), "session", "sessions"),
    )
    yield (f"{header.source}: {', '.join(sizes)}, {header.clients} at one time, {header.duration_s:,.1f} s")
    for what, count in header.left_out.items():
        first = header.first.get(what)
        yield f"left out: {count:,} {what}{first and f' (first: {first})'}"
    for what, count in header.beside.items():
        yield f"beside the statements: {count:,} {what}"
    for what, count in header.notes.items():
        yield f"differs in a replay: {count:,} {what}"
