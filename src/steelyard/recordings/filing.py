"""Which files there are, and what the command line, folders and a schedule say of them.

Folders: `OPTION/FILE` or `OPTION/block-2/FILE`, with `clients-16` anywhere below the option.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from steelyard.errors import InputError
from steelyard.recordings.placed import Filed
from steelyard.recordings.schedule import FileChoice, Schedule

_BLOCK = re.compile(r"(?:block|run)[-_]?(\d{1,4})")
_CLIENTS = re.compile(r"(?:clients|users)[-_]?(\d{1,4})")
_CODE = re.compile(r"[A-Za-z0-9.+-]{1,24}")
_FILES_MAX = 100_000


def natural(text: str) -> list[tuple[int, str]]:
    """A key that sorts run-2 before run-10."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", text)]


def by_options(given: Sequence[str]) -> list[Filed]:
    """Files of `NAME=PATTERN`. Raises InputError."""
    found: list[Filed] = []
    for text in given:
        name, equals, pattern = text.partition("=")
        if not equals or not name or not pattern:
            raise InputError(f'--option "{text}": not NAME=FILES', "--option P='process/*.txt'")
        found += [_of_folder(path, name) for path in _files(pattern, Path(), f"--option {name}")]
    return found


def by_folder(arguments: Sequence[str]) -> list[Filed]:
    """Files and folders: the folder below the common one is the option. Raises InputError."""
    files = [path for text in arguments for path in _walked(Path(text))]
    if not files:
        raise InputError("no files to import", "name files or folders")
    common = Path(os.path.commonpath({path.absolute().parent for path in files}))
    found: list[Filed] = []
    for path in files:
        first = path.absolute().parent.relative_to(common).parts[:1]
        known = first and not (_BLOCK.fullmatch(first[0]) or _CLIENTS.fullmatch(first[0]))
        found.append(_of_folder(path, code_of(first[0] if known else common.name)))
    return found


def by_schedule(schedule: Schedule, folder: Path) -> list[Filed]:
    """Files of a schedule, with what it says of them. Raises InputError."""
    found = [
        _of_folder(path, code)
        for code, option in schedule.options.items()
        for pattern in option.files
        for path in _files(pattern, folder, f"options.{code}")
    ]
    for number, run in enumerate(schedule.runs):
        began = _moment(run.began) if run.began else None
        for pattern in run.files:
            for path in _files(pattern, folder, f"runs.{number}"):
                # its load points are one run
                group = f"run {run.option} {run.block}"
                found.append(Filed(path, run.option, group, run.block, run.clients, began, run.seconds))
    return [_chosen(one, schedule.choices, folder) for one in found]


def code_of(text: str) -> str:
    """A name as the code of an option."""
    return re.sub(r"[^A-Za-z0-9.+_-]+", "-", text).strip("-_") or "recording"


def _of_folder(path: Path, option: str) -> Filed:
    """A file with what the folders below its option say."""
    if not all(_CODE.fullmatch(part) for part in option.split("_")):
        raise InputError(
            f'option "{option}": use letters, digits, ".", "+" and "-" (1 to 24), `_` between factors'
        )
    block, clients = (_last(pattern, path) for pattern in (_BLOCK, _CLIENTS))
    return Filed(path, option, f"block {block}" if block else str(path.absolute().parent), block, clients)


def _last(pattern: re.Pattern[str], path: Path) -> int | None:
    """The number in the innermost folder of such a name; None: there is none, or it is 0."""
    found = filter(None, map(pattern.fullmatch, reversed(path.absolute().parent.parts)))
    return next((int(folder[1]) or None for folder in found), None)


def _files(pattern: str, folder: Path, place: str) -> list[Path]:
    anchor = Path(pattern).anchor
    try:
        matches = Path(anchor or folder).glob(pattern.removeprefix(anchor))
        found = sorted(matches, key=lambda one: natural(str(one)))
    except (ValueError, NotImplementedError) as error:
        raise InputError(f'{place}: "{pattern}": {error}') from None
    files = [path for one in found for path in _walked(one)]
    if not files:
        raise InputError(f'{place}: no file matches "{pattern}"')
    return files


def _walked(path: Path) -> Iterable[Path]:
    if not path.is_dir():
        return [path]
    inner = (one for one in path.rglob("*") if one.is_file() and not one.name.startswith("."))
    found = sorted(inner, key=lambda one: natural(str(one)))
    if len(found) > _FILES_MAX:
        raise InputError(f"{path}: holds {len(found):,} files; at most {_FILES_MAX:,}")
    return found


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f'began: "{text}" is no time: write 2026-03-01T14:56:00') from None


def _chosen(one: Filed, choices: Sequence[FileChoice], folder: Path) -> Filed:
    for choice in choices:
        if one.path.match(choice.files) or one.path == folder / choice.files:
            said = choice.model_dump(exclude_none=True, exclude={"files"})
            return replace(one, choices={name: str(value) for name, value in said.items()})
    return one
