"""Copies of the files that a study names: a bundle is complete without the originals."""

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from steelyard.bundle.evidence import Facts
from steelyard.errors import InputError
from steelyard.study.files import StudyFiles

# of a larger file the checksum alone
_COPIED_BYTES_MAX = 64 << 20
Files = Mapping[str, Path | str]  # by their names in the study; a text stands for the file itself
_FOLDER = "files"
_LOST = "take this file from a copy of the bundle"


def kept_files(bundle: Path, head: Facts) -> StudyFiles:
    """The copies in a bundle; what was too large for it is looked for in it by its name.

    Raises InputError for a copy that is missing or damaged.
    """
    kept: dict[str, Path] = {}
    for name, facts in _known(head).items():
        if facts["copy"]:
            place = bundle / facts["copy"]
            if place.is_file() and place.stat().st_size > _COPIED_BYTES_MAX:
                raise InputError(f"{place}: larger than {_COPIED_BYTES_MAX >> 20} MiB: damaged", _LOST)
            if checksum(place) != facts["sha256"]:
                raise InputError(f"{place}: it was edited since the study began, or is damaged", _LOST)
            kept[name] = place
    return StudyFiles(bundle, kept)


def copy_files(bundle: Path, files: Files) -> dict[str, Facts]:
    """Copies them into a bundle; what its head says of each, by its name in the study. Raises OSError.

    A text stands for the file itself: settings, without the lines that are left out.
    """
    found: dict[str, Facts] = {}
    for number, (name, place) in enumerate(files.items(), start=1):
        size_bytes = len(place.encode()) if isinstance(place, str) else place.stat().st_size
        copy = f"{_FOLDER}/{number}-{Path(name).name}" if size_bytes <= _COPIED_BYTES_MAX else ""
        if copy:
            (bundle / _FOLDER).mkdir(exist_ok=True)
            if isinstance(place, str):
                (bundle / copy).write_text(place, encoding="utf-8")
            else:
                shutil.copyfile(place, bundle / copy)
        found[name] = {"copy": copy, "sha256": checksum(place), "bytes": size_bytes}
    return found


def changed_files(head: Facts, files: Files) -> Sequence[str]:
    """Names of the files that are others than when the study began."""
    return [name for name, facts in _known(head).items() if checksum(files[name]) != facts["sha256"]]


def identity_of_data(head: Facts, raw: Facts) -> Mapping[str, str]:
    """What tells data and capture of a study from others, by key of its workload; raw: the study as TOML.

    Of a file the checksum of its content; of a data directory, whose content no bundle knows, its name.
    """
    workload: Facts = raw.get("workload", {})
    found: dict[str, str] = {}
    for key in ("data_file", "data_directory", "capture"):
        if name := workload.get(key):
            facts = _known(head).get(name)
            found[key] = f"SHA-256 {facts['sha256'][:16]}" if facts else str(name)
    return found


def _known(head: Facts) -> Mapping[str, Facts]:
    return head.get("files", {})


def checksum(place: Path | str) -> str:
    """SHA-256 of its content, or of a text. Raises InputError for a file that cannot be read."""
    if isinstance(place, str):
        return hashlib.sha256(place.encode()).hexdigest()
    try:
        with place.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{place}: cannot be read: {error.strerror}", _LOST) from None
