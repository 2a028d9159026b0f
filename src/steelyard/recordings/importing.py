"""An import: what is to be read, the runs that follow from it, and the bundle."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.errors import InputError
from steelyard.recordings import Recording, described, filing
from steelyard.recordings.assemble import assembled
from steelyard.recordings.limits import MINUTES, Deadline
from steelyard.recordings.model import catalogue, not_found
from steelyard.recordings.placed import Filed, PlacedRun
from steelyard.recordings.runs import Progress, Unread, runs_of
from steelyard.recordings.schedule import Schedule, is_schedule, read_schedule
from steelyard.recordings.table_files import runs_of_table
from steelyard.recordings.write import write_recording
from steelyard.study.files import named_files
from steelyard.study.source import text_of, toml_of
from steelyard.study.study import Study


@dataclass(frozen=True)
class Import:
    """What an import gives. runs: empty for a published table, which says its runs itself."""

    recording: Recording
    name: str
    runs: Sequence[PlacedRun]
    unread: Unread


def import_files(
    arguments: Sequence[str],
    options: Sequence[str],
    folders: bool,
    progress: Progress,
    name: str = "",
    format_: str = "",
    minutes: float = MINUTES,
) -> Import:
    """Reads files, folders, a schedule, or a published recording.

    progress: is called with a file and the share of it that was read. format_: of all files; empty: each is
    recognised. minutes: the longest time of the import. Raises InputError.
    """
    deadline = Deadline(minutes)
    place = catalogue().get(arguments[0]) or Path(arguments[0]) if len(arguments) == 1 else Path()
    of_toml = place.suffix == ".toml" and not options
    if folders and (of_toml or options):
        said = f"{place} says" if of_toml else "--option says"
        raise InputError(f"--by-folder: {said} which option a file belongs to", "leave one of the two out")
    if of_toml and format_:
        raise InputError(f"--format: {place} says which format a file has", "leave one of the two out")
    if of_toml:
        return _of_toml(place, progress, deadline)
    _check_there(arguments)
    if options:
        if arguments:
            raise InputError(
                "files beside --option belong to no option", "give them one: --option NAME=FILES"
            )
        files = filing.by_options(options)
    elif folders:
        files = filing.by_folder(arguments)
    else:
        files = _one_option(arguments)
    schedule = Schedule(name=_study_name(name or files[0].option))
    if format_:
        files = [replace(one, choices={"format": format_}) for one in files]
    return _of_files(files, schedule, progress, deadline)


def write_published(name: str, path: Path) -> Study:
    """Writes a recording of the catalogue, or of a TOML file, as a bundle; its study. Raises InputError."""
    # read before anything is written, so that a wrong table leaves no bundle
    found = _of_toml(catalogue().get(name) or Path(name), _no_progress, Deadline())
    return write_recording(found.recording, path, f"{name}: study")


def bundle_of(path: Path) -> Path:
    """The bundle at a path; of a recording's name, its bundle here, which is written if there is none."""
    if path.exists() or str(path) not in catalogue():
        return path
    written = path.with_name(f"{path}.bundle")
    if not written.exists():
        write_published(str(path), written)
    return written


def _no_progress(path: Path, share: float) -> None:
    pass


def _check_there(arguments: Sequence[str]) -> None:
    for text in arguments:
        if not Path(text).exists():
            raise not_found(Path(text))


def _one_option(arguments: Sequence[str]) -> list[Filed]:
    """Files without an option: one server alone, named after the first file."""
    if not arguments:
        raise InputError("nothing to import", "steelyard import --help")
    first = Path(arguments[0])
    stem = Path(first.stem).stem if first.suffix in (".gz", ".zst") else first.stem
    label = filing.code_of(stem)[:24].strip("-_").replace("_", "-").lower()
    found: list[Filed] = []
    for text in arguments:
        if Path(text).is_dir():
            raise InputError(f"{text}: a folder", "add --by-folder")
        found += filing.by_options([f"{label}={_literal(text)}"])
    return found


def _literal(text: str) -> str:
    return re.sub(r"([\[*?])", r"[\1]", text)


def _study_name(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:64] or "recording"


def _of_toml(place: Path, progress: Progress, deadline: Deadline) -> Import:
    try:
        raw = toml_of(text_of(place), str(place))
    except FileNotFoundError:
        raise not_found(place) from None
    if is_schedule(raw):
        schedule = read_schedule(place)
        files = filing.by_schedule(schedule, place.parent)
        found = _of_files(files, schedule, progress, deadline, place.parent)
    else:
        found = Import(described.read(place), place.stem, (), {})
    study = toml_of(found.recording.study_text, str(place))
    tables = {name: place.parent / name for _, name in named_files(study)}
    for table in tables.values():
        if not table.is_file():
            raise InputError(f"{place}: tables: {table}: no such file")
    return replace(found, recording=replace(found.recording, files=tables))


def _of_files(
    files: Sequence[Filed],
    schedule: Schedule,
    progress: Progress,
    deadline: Deadline,
    folder: Path = Path(),
) -> Import:
    runs, unread = runs_of(files, progress, deadline)
    names = [one.path for one in files]
    for table in schedule.tables:
        place = folder / table.file
        runs += runs_of_table(table, place, unread, deadline)
        names.append(place)
    if not runs:
        raise InputError("nothing to import: the schedule names no files")
    hashes = {str(path): _sha256(path, deadline) for path in names}
    return Import(assembled(runs, schedule, hashes, unread), schedule.name, runs, unread)


def _sha256(path: Path, deadline: Deadline) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            found.update(part)
            deadline.check(path)
    return found.hexdigest()
