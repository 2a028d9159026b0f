"""An import: what is to be read, the runs that follow from it, and the bundle."""

import hashlib
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb

from steelyard.bundle.evidence.published import add_published
from steelyard.bundle.writer import BundleWriter
from steelyard.errors import InputError
from steelyard.recordings import filing
from steelyard.recordings.assemble import assembled
from steelyard.recordings.filing import Filed
from steelyard.recordings.limits import MINUTES, Deadline
from steelyard.recordings.published import catalogue, not_found
from steelyard.recordings.runs import Progress, runs_of
from steelyard.recordings.schedule import FileChoice, Schedule
from steelyard.recordings.table_files import runs_of_tables
from steelyard.recordings.tables_of_run import Recording
from steelyard.study.load_study import plan_study
from steelyard.study.plan import baseline
from steelyard.study.source import text_of, toml_of
from steelyard.study.study import Study
from steelyard.study.validation_errors import validated

_TABLE_BYTES_MAX = 64 << 20


def import_files(
    arguments: Sequence[str],
    options: Sequence[str],
    folders: bool,
    progress: Progress,
    name: str = "",
    format_: str = "",
    minutes: float | None = None,
) -> Recording:
    """Reads files, folders, a schedule, or a published recording by its name.

    progress: is called with a file and the share of it that was read. format_: of all files; empty: each is
    recognised. minutes: the longest time of the import; default: 10. Raises InputError.
    """
    deadline = Deadline(minutes or MINUTES)
    place = catalogue().get(arguments[0]) or Path(arguments[0]) if len(arguments) == 1 else Path()
    of_toml = place.suffix == ".toml" and not options
    if folders and (of_toml or options):
        said = f"{place} says" if of_toml else "--option says"
        raise InputError(f"--by-folder: {said} which option a file belongs to", "leave one of the two out")
    if of_toml and format_:
        raise InputError(f"--format: {place} says which format a file has", "leave one of the two out")
    if of_toml:
        schedule = _schedule(place)
        files = filing.by_schedule(schedule, place.parent)
    else:
        files = _files(arguments, options, folders)
        named = re.sub(r"[^a-z0-9]+", "-", (name or files[0].option).lower()).strip("-")[:64]
        schedule = Schedule(name=named or "recording")
    if format_:
        files = [replace(one, choices=FileChoice(files="", format=format_)) for one in files]
    runs, unread = runs_of(files, progress, deadline)
    runs += runs_of_tables(schedule.tables, place.parent, unread, deadline)
    if not runs:
        raise InputError("nothing to import: the schedule names no files")
    tables = [place.parent / table.file for table in schedule.tables]
    hashes = {str(file): _sha256(file, deadline) for file in [*(one.path for one in files), *tables]}
    kept = {name: place.parent / name for name in schedule.workload.tables}
    for table in kept.values():
        if not table.is_file() or table.stat().st_size > _TABLE_BYTES_MAX:
            raise InputError(f"{place}: tables: {table}: no file of at most {_TABLE_BYTES_MAX >> 20} MiB")
    add_published(duckdb.connect(), kept)
    # the name of a published recording may have a dot
    name = arguments[0] if place in catalogue().values() else schedule.name
    return replace(assembled(runs, schedule, hashes, unread), name=name, files=kept)


def _files(arguments: Sequence[str], options: Sequence[str], folders: bool) -> Sequence[Filed]:
    for text in arguments:
        if not Path(text).exists():
            raise not_found(Path(text))
    if options and arguments:
        raise InputError("files beside --option belong to no option", "give them one: --option NAME=FILES")
    if options:
        return filing.by_options(options)
    return filing.by_folder(arguments) if folders else filing.alone(arguments)


def _schedule(place: Path) -> Schedule:
    """Raises InputError at the wrong key."""
    try:
        text = text_of(place)
    except FileNotFoundError:
        raise not_found(place) from None
    hint = "steelyard import --example prints one to start from, --example-table one of tables alone"
    return validated(Schedule, toml_of(text, str(place)), text, str(place), hint)


def write_published(name: str, path: Path) -> Study:
    """Writes a recording of the catalogue, or of a schedule, as a bundle; its study. Raises InputError."""
    # read before anything is written, so that a wrong table leaves no bundle
    found = import_files([name], [], folders=False, progress=lambda path, share: None)
    return write_recording(found, path, f"{name}: study")


def bundle_of(path: Path) -> Path:
    """The bundle at a path; of a recording's name, its bundle here, which is written if there is none."""
    if str(path) not in catalogue() or path.exists():
        return path
    written = path.with_name(f"{path}.bundle")
    if not written.exists():
        write_published(str(path), written)
    return written


def write_recording(recording: Recording, path: Path, origin: str) -> Study:
    """Writes a recording as a bundle; its study. origin: of the study, for messages. Raises InputError."""
    study, options = plan_study(recording.study_text, origin)
    levels = {option.label: option.levels for option in options}
    first = baseline(study, options)
    writer = BundleWriter.create(
        path, recording.study_text, options, first, recording.environment, recording.files
    )
    for number, tables in enumerate(recording.tables, start=1):
        try:
            writer.write_run(number, levels[tables["runs"]["option"][0]], tables)
        except OSError as error:
            # without its last runs it would look whole
            shutil.rmtree(path, ignore_errors=True)
            raise InputError(str(error), "name another folder: -o FOLDER") from None
    return study


def _sha256(path: Path, deadline: Deadline) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            found.update(part)
            deadline.check(path)
    return found.hexdigest()
