"""Writes a recording as a bundle."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from steelyard.bundle.writer import BundleWriter
from steelyard.recordings import FORMATS, importer_of
from steelyard.recordings.model import catalogue
from steelyard.recordings.rows import CSV_BYTES_MAX
from steelyard.run_tables.rows import Columns, Rows
from steelyard.study.errors import InputError, nearest
from steelyard.study.load_study import plan_study
from steelyard.study.plan import baseline
from steelyard.study.source import text_of
from steelyard.study.study import Study

_HEAD_CHARACTERS = 4096


def write_recording(name: str, path: Path) -> Study:
    """Writes a built-in recording, or the one in a file of a known format, as a bundle; its study.

    Raises InputError.
    """
    place = catalogue().get(name) or Path(name)
    importer = importer_of(_head(place))
    if importer is None:
        raise InputError(f"{place}: unknown format; known: {'; '.join(FORMATS)}")
    # read before anything is written, so that a wrong table leaves no bundle
    recording = importer.read(place)
    study, found = plan_study(recording.study_text, f"{place}: study")
    writer = BundleWriter.create(
        path, recording.study_text, found, baseline(study, found), recording.environment
    )
    for number, option in enumerate(found, start=1):
        tables = recording.tables[option.label]
        writer.write_run(number, option.levels, {**tables, "runs": _run(option.label, number, tables)})
    return study


def _head(place: Path) -> str:
    try:
        return text_of(place, CSV_BYTES_MAX)[:_HEAD_CHARACTERS]
    except FileNotFoundError:
        known = nearest(str(place), catalogue())
        raise InputError(f"{place}: no such file, and no recording of that name{known}") from None


def _run(label: str, number: int, tables: Mapping[str, Columns]) -> Columns:
    row = Rows("runs")
    row.add(
        option=label,
        block=1,
        slot=number,
        attempt=1,
        status="done",
        cause="",
        started_at="",
        seconds=max(tables["phases"]["end_ns"]) / 1e9,
    )
    return row.columns()
