"""Which files there are, and what the command line, folders and a schedule say of them.

Folders: `OPTION/FILE` or `OPTION/block-2/FILE`, with `clients-16` anywhere below the option.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from unicodedata import combining, normalize

from steelyard.errors import InputError
from steelyard.recordings.schedule import NO_CHOICE, FileChoice, Schedule

# a block, or a load point
_NUMBERED = re.compile(r"(?:block|run)[-_]?(\d{1,4})|(?:clients|users|threads)[-_]?(\d{1,4})")
_CODE = re.compile(r"[A-Za-z0-9.+-]{1,24}")
_FILES_MAX = 100_000


@dataclass(frozen=True)
class Filed:
    """One file. group: files of one group are of the same runs, such as those of a folder.

    block, clients, began, seconds: where a schedule or a folder says so. choices: what a schedule says of it.
    """

    path: Path
    option: str
    group: str
    block: int | None = None
    clients: int | None = None
    began: datetime | None = None
    seconds: float | None = None
    choices: FileChoice = NO_CHOICE


def alone(arguments: Sequence[str]) -> list[Filed]:
    """Files without an option: one server alone, named after the first. Raises InputError."""
    if not arguments:
        raise InputError("nothing to import", "steelyard import --help")
    first = Path(arguments[0])
    stem = Path(first.stem).stem if first.suffix in (".gz", ".zst") else first.stem
    label = code_of(stem)[:24].strip("-_").replace("_", "-").lower()
    for text in arguments:
        if Path(text).is_dir():
            raise InputError(f"{text}: a folder", "add --by-folder")
    return _together([(Path(text), label) for text in arguments])


def by_options(given: Sequence[str]) -> list[Filed]:
    """Files of `NAME=PATTERN`. Raises InputError."""
    found: list[tuple[Path, str]] = []
    for text in given:
        name, _, pattern = text.partition("=")
        if not name or not pattern:
            raise InputError(f'--option "{text}": not NAME=FILES', "--option P='process/*.txt'")
        found += [(path, name) for path in _files([pattern], Path(), f"--option {name}")]
    return _together(found)


def by_folder(arguments: Sequence[str]) -> list[Filed]:
    """Files and folders: the folder below the common one is the option. Raises InputError."""
    files = [path for text in arguments for path in _walked(Path(text))]
    if not files:
        raise InputError("no files to import", "name files or folders")
    common = _common(files)
    names: dict[str, str] = {}
    below_blocks: set[str] = set()
    found: list[Filed] = []
    for path in files:
        folders = path.absolute().parent.relative_to(common).parts
        name = next((name for name in folders if not _NUMBERED.fullmatch(name)), "")
        if name not in folders[:1]:
            below_blocks.add(name)
            name = common.name
        found.append(_of_folder(path, code_of(name, names), common))
    if len(below_blocks) > 1 and "" not in below_blocks:
        raise InputError(
            f"{', '.join(sorted(below_blocks))} stand below blocks", "name the folders OPTION/block-1/FILE"
        )
    return found


def by_schedule(schedule: Schedule, folder: Path) -> list[Filed]:
    """Files of a schedule, with what it says of them. Raises InputError."""
    options = schedule.options.items()
    found = _together(
        [(p, code) for code, one in options for p in _files(one.files, folder, f"options.{code}")]
    )
    for number, run in enumerate(schedule.runs):
        try:
            began = datetime.fromisoformat(run.began) if run.began else None
        except ValueError:
            raise InputError(f'began: "{run.began}" is no time: write 2026-03-01T14:56:00') from None
        found += [
            # its load points are one run
            Filed(path, run.option, f"run {run.block}", run.block, run.clients, began, run.seconds)
            for path in _files(run.files, folder, f"runs.{number}")
        ]
    for choice in schedule.choices:
        said, name = choice.model_dump(exclude_unset=True), choice.files
        places = [i for i, one in enumerate(found) if one.path.match(name) or one.path == folder / name]
        if not places:
            raise InputError(f'choices: no file matches "{name}"')
        for i in places:
            # of two that say the same key the first counts
            before = found[i].choices.model_dump(exclude_unset=True)
            found[i] = replace(found[i], choices=FileChoice(**(said | before)))
    return found


def code_of(text: str, names: dict[str, str] | None = None) -> str:
    """A name as the code of an option. names: by code; raises InputError where another name has the code."""
    # without accents
    plain = "".join(letter for letter in normalize("NFD", text) if not combining(letter))
    code = re.sub(r"[^A-Za-z0-9.+_-]+", "-", re.sub(r"^-(?=\d)", "minus ", plain)).strip("-_")
    if names is None or not text:
        return code or "recording"
    if not code:
        raise InputError(
            f'option "{text}": no letter or digit of ASCII',
            "use letters or digits of ASCII, such as A or P_2",
        )
    # a code is limited part by part
    code = "_".join(part[:24] for part in code.split("_"))
    if names.setdefault(code, text) != text:
        raise InputError(f'"{names[code]}" and "{text}" are one option, {code}', "rename one of them")
    return code


def _common(files: Iterable[Path]) -> Path:
    """The folder that holds them all, and is no block or load point."""
    common = Path(os.path.commonpath({path.absolute().parent for path in files}))
    while _NUMBERED.fullmatch(common.name):
        common = common.parent
    return common


def _together(files: Sequence[tuple[Path, str]]) -> list[Filed]:
    """Files with their options: folders above all of them say nothing."""
    common = _common(path for path, _ in files) if files else Path()
    return [_of_folder(path, option, common) for path, option in files]


def _of_folder(path: Path, option: str, common: Path) -> Filed:
    """A file with what the folders below its option say."""
    if not all(_CODE.fullmatch(part) for part in option.split("_")):
        raise InputError(
            f'option "{option}": use letters, digits, ".", "+" and "-" (1 to 24), `_` between factors'
        )
    folder = path.absolute().parent
    below = reversed(folder.relative_to(common).parts)
    # the innermost folder of such a name; 0 is none
    numbers = [found for found in map(_NUMBERED.fullmatch, below) if found]
    block, clients = (next((int(one[n]) or None for one in numbers if one[n]), None) for n in (1, 2))
    # load points in folders of their own are of one run
    group = "/".join(part for part in folder.parts if not ((at := _NUMBERED.fullmatch(part)) and at[2]))
    return Filed(path, option, f"block {block}" if block else group, block, clients)


def _files(patterns: Sequence[str], folder: Path, place: str) -> Iterable[Path]:
    for pattern in patterns:
        anchor = Path(pattern).anchor
        try:
            matches = _sorted(Path(anchor or folder).glob(pattern.removeprefix(anchor)))
        except (ValueError, NotImplementedError) as error:
            raise InputError(f'{place}: "{pattern}": {error}') from None
        files = [path for one in matches for path in _walked(one)]
        if not files:
            raise InputError(f'{place}: no file matches "{pattern}"')
        yield from files


def _walked(path: Path) -> Sequence[Path]:
    if not path.is_dir():
        return [path]
    found = _sorted(one for one in path.rglob("*") if one.is_file() and not one.name.startswith("."))
    if len(found) > _FILES_MAX:
        raise InputError(f"{path}: holds {len(found):,} files; at most {_FILES_MAX:,}")
    return found


def _sorted(paths: Iterable[Path]) -> list[Path]:
    """run-2 before run-10."""
    return sorted(
        paths,
        key=lambda path: [
            (int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", str(path))
        ],
    )
