"""Files that are written beside others: whole or not at all, under names that stay in their folder."""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

_LONGEST_NAME = 100
# what every file system takes in a name, and no shell, archive or browser reads in its own way
_OTHERS = re.compile(r"[^A-Za-z0-9._+-]+")


@contextmanager
def replacing(place: Path) -> Generator[Path]:
    """A new, empty file beside place, to be written by whoever: at the end it takes the place.

    Readers see the old file or the new one. When anything fails, a full disk too, nothing is left. Its name
    is random and it is nobody else's, so no link is followed, at place neither. Raises OSError.
    """
    if place.exists() and not place.is_file():
        raise OSError(errno.EEXIST, "is there, and not a file", str(place))
    draft = place.with_name(f".{secrets.token_hex(8)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    os.close(os.open(draft, flags, 0o666))
    try:
        yield draft
        _sync(draft)
        draft.replace(place)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    with suppress(OSError):
        _sync(place.parent)


def write_whole(place: Path, content: str | bytes) -> Path:
    """Writes a file as `replacing` does; returns place. Raises OSError."""
    # a path that is not UTF-8 may be quoted in a text
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    with replacing(place) as draft:
        draft.write_bytes(data)
    return place


def file_names(texts: Iterable[str]) -> dict[str, str]:
    """A name of a file for each text, of one path component, as near to it as can be, none twice."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for text in texts:
        first = _OTHERS.sub("_", text).lstrip(".-")[:_LONGEST_NAME] or "x"
        name, number = first, 2
        # some file systems do not tell A from a
        while name.lower() in taken:
            name, number = f"{first}-{number}", number + 1
        taken.add(name.lower())
        found[text] = name
    return found


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
