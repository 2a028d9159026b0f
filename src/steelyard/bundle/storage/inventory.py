"""The runs of a bundle that are read, each by its identity in `run.json`, and the files that are left out.

Options are compared within a block, so a block without one of its runs does not count. Runs are numbered
without gaps: a missing number was a run of the previous or the next block.
"""

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from steelyard.bundle.evidence import grouped
from steelyard.bundle.storage.checksum import read_sealed
from steelyard.errors import InputError

RUN_FILE = "run.json"

# the writer keeps the tables of a run in memory, so no table is larger, and hashing takes time
_TABLE_BYTES_MAX = 4 << 30
_Number = Annotated[int, Field(ge=1, le=2**31 - 1)]
_LEFT_OUT = "run-left-out"
MISSING = "run-missing"
STRANGE = "file-left-out"
CODES = (_LEFT_OUT, MISSING, STRANGE)

_FOLDER = re.compile(r"[0-9]{4,}")
_MOST_NOTICES = 8

Attempt = tuple[int, int]  # number of the block, number of the attempt at it


class _Identity(BaseModel):
    """bundle: its id. tables: SHA-256 of each table's file, by name of the table."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    bundle: str
    run: _Number
    option: str
    block: _Number
    attempt: _Number
    status: Literal["done", "void", "disturbed"]
    tables: dict[str, str]


@dataclass(frozen=True)
class _Found:
    """A run's folder.

    identity: None where the run is unknown. why: the reason to leave it out; '' for an intact run.
    strange: files in it that belong to no run.
    """

    number: int
    identity: _Identity | None = None
    why: str = ""
    strange: tuple[str, ...] = ()


def _identify(folder: Path, number: int, bundle: str, options: Collection[str]) -> _Found:
    """The run in a folder, its tables' checksums verified. bundle: required id; options: allowed labels."""
    try:
        identity = _Identity.model_validate(read_sealed(folder / RUN_FILE))
    except InputError as error:
        return _Found(number, why=str(error).replace(str(folder), f"runs/{folder.name}"))
    except ValidationError as error:
        first = error.errors()[0]
        return _Found(
            number, why=f"{_named(folder, RUN_FILE)}: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        )
    if identity.bundle != bundle:
        return _Found(number, why=f"{_named(folder, RUN_FILE)} belongs to another bundle")
    if identity.run != number:
        return _Found(number, why=f"{_named(folder, RUN_FILE)} belongs to run {identity.run}")
    if identity.option not in options or "runs" not in identity.tables:
        return _Found(number, why=f"{_named(folder, RUN_FILE)}: its option or tables are not those of a run")
    wrong = [
        f"{_named(folder, name)}: {what}"
        for table, checksum in identity.tables.items()
        for name in [f"{table}.parquet"]
        if (what := _damage(folder / name, checksum))
    ]
    return _Found(number, identity, "; ".join(wrong), _strange(folder, identity))


def _damage(place: Path, checksum: str) -> str:
    try:
        found = place.stat()
        if not S_ISREG(found.st_mode):
            return "not a file"
        if found.st_size > _TABLE_BYTES_MAX:
            return f"larger than {_TABLE_BYTES_MAX >> 30} GiB: damaged"
        with place.open("rb") as file:
            same = hashlib.file_digest(file, "sha256").hexdigest() == checksum
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except ValueError:
        return "not a valid file name"
    return "" if same else "its checksum differs: damaged or edited"


def _strange(folder: Path, identity: _Identity) -> tuple[str, ...]:
    known = {RUN_FILE, *(f"{table}.parquet" for table in identity.tables)}
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError:
        # its tables are read by their names
        return ()
    # hidden files belong to file systems and file managers
    return tuple(_named(folder, name) for name in names if name not in known and not name.startswith("."))


def _named(folder: Path, name: str) -> str:
    return f"runs/{folder.name}/{name}"


@dataclass(frozen=True)
class Inventory:
    """Content of a bundle's folder `runs`.

    runs: readable runs, in order. damaged: identified runs, with the damage. lost: attempts without one
    of their runs. notices: code and sentence for everything that is left out.
    """

    runs: tuple[_Identity, ...]
    damaged: tuple[tuple[_Identity, str], ...]
    lost: frozenset[Attempt]
    notices: tuple[tuple[str, str], ...]


def run_folders(runs: Path) -> tuple[dict[int, Path], list[str]]:
    """Folders of runs by number, and names of other entries. Raises InputError."""
    try:
        names = sorted(entry.name for entry in runs.iterdir())
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{runs}: cannot be read: {why}", "take it from a copy of the bundle") from None
    folders = {int(name): runs / name for name in names if _is_run(name)}
    # hidden: the draft of an unfinished run
    return folders, [name for name in names if not _is_run(name) and not name.startswith(".")]


def _is_run(name: str) -> bool:
    return bool(_FOLDER.fullmatch(name)) and name == f"{int(name):04d}"


def take_inventory(runs: Path, bundle_id: str, options: Collection[str]) -> Inventory:
    """Content of the folder `runs` of a bundle whose options have these labels. Raises InputError."""
    folders, strange = run_folders(runs)
    found = [_identify(folder, number, bundle_id, options) for number, folder in folders.items()]
    known = {one.number: one.identity for one in found if one.identity}
    whole = [one.identity for one in found if one.identity and not one.why]
    around = _Blocks(known, whole, options)
    lost = set[Attempt]()
    notices: list[tuple[str, str]] = []
    for one in found:
        if one.why:
            mine = {_attempt(one.identity)} if one.identity else around.touched(one.number, one.number)
            lost |= mine
            notices.append((_LEFT_OUT, f"run {one.number} is left out ({one.why}){around.so(mine)}"))
        notices += [(STRANGE, f"{name} belongs to no run and is left out") for name in one.strange]
    for first, last in _gaps(sorted(folders), max(known, default=0)):
        lost |= (mine := around.touched(first, last))
        which = f"run {first} is" if first == last else f"runs {first} to {last} are"
        notices.append((MISSING, f"{which} missing: no folder runs/{first:04d}{around.so(mine)}"))
    notices += [(STRANGE, f"runs/{name} is not the folder of a run and is left out") for name in strange]
    if (rest := len(notices) - _MOST_NOTICES) > 1:
        notices[_MOST_NOTICES:] = [(_LEFT_OUT, f"{rest} further files or runs are missing or left out")]
    return Inventory(
        runs=tuple(sorted(whole, key=lambda identity: identity.run)),
        damaged=tuple((one.identity, one.why) for one in found if one.identity and one.why),
        lost=frozenset(lost),
        notices=tuple(notices),
    )


def _gaps(numbers: list[int], last: int) -> Iterator[tuple[int, int]]:
    """First and last of each gap in the numbers up to `last`."""
    before = 0
    for number in numbers:
        if number > last:
            return
        if number > before + 1:
            yield before + 1, number - 1
        before = number


class _Blocks:
    """known: identified runs, by number. whole: the readable ones among them."""

    def __init__(
        self, known: Mapping[int, _Identity], whole: Sequence[_Identity], options: Collection[str]
    ) -> None:
        self._known = known
        done = grouped((_attempt(one), one.option) for one in whole if one.status == "done")
        self._complete = {attempt for attempt, labels in done.items() if {*labels} >= {*options}}
        # by block: the last of its attempts stays
        self._last = dict(sorted(map(_attempt, known.values())))

    def touched(self, first: int, last: int) -> set[Attempt]:
        """Attempts that the unknown runs from first to last may belong to."""
        before = max((number for number in self._known if number < first), default=None)
        after = min((number for number in self._known if number > last), default=None)
        beside = {_attempt(self._known[number]) for number in (before, after) if number is not None}
        return beside - self._complete

    def so(self, lost: Collection[Attempt]) -> str:
        """The loss by a missing run, as the end of a sentence."""
        blocks = sorted(block for block, attempt in lost if attempt == self._last[block])
        if blocks:
            listed = " and ".join(map(str, blocks))
            return (
                f"; block{'s' * (len(blocks) > 1)} {listed} {'do' if len(blocks) > 1 else 'does'} not count"
            )
        return "; its block was run again, so nothing is lost" if lost else ""


def _attempt(identity: _Identity) -> Attempt:
    return identity.block, identity.attempt
