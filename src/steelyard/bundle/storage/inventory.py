"""The runs of a bundle that are read, and the files that are left out.

Options are compared within a block, so a block without one of its runs does not count. Runs are numbered
without gaps: a missing number was a run of the previous or the next block.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.bundle.storage.identity import Identity, identify
from steelyard.study.errors import InputError

LEFT_OUT = "run-left-out"
MISSING = "run-missing"
STRANGE = "file-left-out"
CODES = (LEFT_OUT, MISSING, STRANGE)

_FOLDER = re.compile(r"[0-9]{4,}")
_MOST_NOTICES = 8

Attempt = tuple[int, int]  # number of the block, number of the attempt at it


@dataclass(frozen=True)
class Inventory:
    """Content of a bundle's folder `runs`.

    runs: readable runs, in order. damaged: identified runs, with the damage. lost: attempts without one
    of their runs. notices: code and sentence for everything that is left out.
    """

    runs: tuple[Identity, ...]
    damaged: tuple[tuple[Identity, str], ...]
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
    found = [identify(folder, number, bundle_id, options) for number, folder in folders.items()]
    known = {one.number: one.identity for one in found if one.identity is not None}
    whole = [one.identity for one in found if one.identity is not None and not one.why]
    around = _Blocks(known, whole, options)
    lost: set[Attempt] = set()
    notices: list[tuple[str, str]] = []
    for one in found:
        if one.why:
            mine = {_attempt(one.identity)} if one.identity else around.touched(one.number, one.number)
            lost |= mine
            notices.append((LEFT_OUT, f"run {one.number} is left out ({one.why}){around.so(mine)}"))
        notices += [(STRANGE, f"{name} belongs to no run and is left out") for name in one.strange]
    for first, last in _gaps(sorted(folders), max(known, default=0)):
        lost |= (mine := around.touched(first, last))
        which = f"run {first} is" if first == last else f"runs {first} to {last} are"
        notices.append((MISSING, f"{which} missing: no folder runs/{first:04d}{around.so(mine)}"))
    notices += [(STRANGE, f"runs/{name} is not the folder of a run and is left out") for name in strange]
    return Inventory(
        runs=tuple(sorted(whole, key=lambda identity: identity.run)),
        damaged=tuple((one.identity, one.why) for one in found if one.identity is not None and one.why),
        lost=frozenset(lost),
        notices=tuple(_few(notices)),
    )


def _few(notices: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The first notices; the others as their number."""
    rest = len(notices) - _MOST_NOTICES
    if rest <= 1:
        return notices
    return [*notices[:_MOST_NOTICES], (LEFT_OUT, f"{rest} further files or runs are missing or left out")]


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
        self, known: Mapping[int, Identity], whole: Sequence[Identity], options: Collection[str]
    ) -> None:
        self._known = known
        done: dict[Attempt, set[str]] = {}
        for identity in whole:
            if identity.status == "done":
                done.setdefault(_attempt(identity), set()).add(identity.option)
        self._complete = {attempt for attempt, labels in done.items() if labels >= set(options)}
        self._last: dict[int, int] = {}
        for identity in known.values():
            self._last[identity.block] = max(self._last.get(identity.block, 0), identity.attempt)

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


def _attempt(identity: Identity) -> Attempt:
    return identity.block, identity.attempt
