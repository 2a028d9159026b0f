"""Kernel setting files, each with one value of the machine: read, write, lock, put back."""

import fcntl
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Saved:
    """A file's value before a study. ours: the values that it may have by the study; (): any."""

    old: str
    ours: Collection[str] = ()


def chosen(text: str) -> str:
    """`always [madvise] never` -> madvise; `none (voluntary) full` -> voluntary."""
    found = re.search(r"\[([\w+-]+)\]", text) or re.fullmatch(r"(?:\w+ )*\((\w+)\)(?: \w+)*", text)
    return found[1] if found else text


def value_of(path: Path) -> str:
    """The current value, each run of blanks as a single blank. Raises OSError."""
    return chosen(" ".join(path.read_text(encoding="utf-8", errors="replace").split()))


def values_of(paths: Collection[Path]) -> dict[Path, str]:
    """The current values of the files that are still there: those of a network device go with it."""
    return {path: value_of(path) for path in paths if path.exists()}


def write(path: Path, value: str) -> None:
    """Writes the value in one call, as the kernel requires. Raises OSError; the caller reads back."""
    # an existing file only: a mistyped name must not create a file
    handle = os.open(path, os.O_WRONLY | os.O_TRUNC)
    try:
        os.write(handle, f"{value}\n".encode())
    finally:
        os.close(handle)


def settle(values: Mapping[Path, str], passes: int = 3) -> dict[Path, str]:
    """Writes files that the kernel couples until each has its value. The problem by file."""
    refused: dict[Path, str] = {}
    # the kernel sets the idle one of a pair to 0 when the other is written, and may refuse 0 itself
    for path, value in sorted(values.items(), key=lambda item: item[1] == "0"):
        try:
            if value_of(path) != value:
                write(path, value)
        except OSError as error:
            refused[path] = str(error.strerror)
    problems = {
        path: refused.get(path) or f"the machine did not take it, it has {found}"
        for path, found in values_of(values).items()
        if found != values[path]
    }
    return settle(values, passes - 1) if problems and passes > 1 else problems


def put_back(saved: Mapping[Path, Saved]) -> list[str]:
    """Restores coupled files, unless another program changed one of them. The problems, as sentences."""
    found = values_of(saved)
    if any(its.ours and found.get(path, its.old) not in its.ours for path, its in saved.items()):
        return [
            f"another program changed {path} to {value}: left unchanged; before the run it was {old}"
            for path, value in found.items()
            if value != (old := saved[path].old)
        ]
    return [
        f"{path} could not be set back to {saved[path].old}: {problem}"
        for path, problem in settle({path: its.old for path, its in saved.items()}).items()
    ]


def hold(path: Path) -> int:
    """A descriptor that locks this file against other studies until closed.

    Raises OSError, also when another study has locked it.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise OSError(error.errno, "another study on this machine is changing it") from None
    return handle
