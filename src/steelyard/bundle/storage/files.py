"""Files that are written atomically, under names that are valid in any file system; folders held open."""

import errno
import os
import re
import secrets
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from steelyard.errors import InputError

_LONGEST_NAME = 100
# characters that every file system accepts and no shell, archive or browser interprets
_OTHERS = re.compile(r"[^A-Za-z0-9._+-]+")


@contextmanager
def replacing(place: Path) -> Generator[Path]:
    """A new, empty file beside place for the caller to write: at the end it replaces place.

    Readers see the old file or the new one. After a failure, such as a full disk, nothing is left. Its name
    is random and it is created exclusively, so no link is followed, at place neither. Raises OSError.
    """
    if place.exists() and not place.is_file():
        raise OSError(errno.EEXIST, "exists and is not a file", str(place))
    draft = place.with_name(f".{secrets.token_hex(8)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    os.close(os.open(draft, flags, 0o666))
    try:
        yield draft
        sync(draft)
        draft.replace(place)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    with suppress(OSError):
        sync(place.parent)


def write_whole(place: Path, content: str | bytes) -> Path:
    """Writes a file as `replacing` does; returns place. Raises OSError."""
    # the text may contain a path that is not UTF-8
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    with replacing(place) as draft:
        draft.write_bytes(data)
    return place


def file_names(texts: Iterable[str]) -> dict[str, str]:
    """A file name for each text: one path component, similar to the text, distinct."""
    found: dict[str, str] = {}
    taken = set[str]()
    for text in texts:
        first = _OTHERS.sub("_", text).lstrip(".-")[:_LONGEST_NAME] or "x"
        name, number = first, 2
        # some file systems ignore case
        while name.lower() in taken:
            name, number = f"{first}-{number}", number + 1
        taken.add(name.lower())
        found[text] = name
    return found


def sync(path: Path) -> None:
    """Flushes a file or a folder to disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Place:
    """A folder. Raises InputError when it cannot be read.

    DuckDB reads `[`, `*` and `?` in a path as a pattern and `key=value` as a column, and rejects a path
    that is not UTF-8; the path of an open handle has none of these.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self._handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise InputError(f"{folder}: cannot be read: {error.strerror}") from None
        self.path = f"/proc/self/fd/{self._handle}"

    def close(self) -> None:
        """Closes the folder: its path is invalid afterwards."""
        os.close(self._handle)

    def sync(self) -> None:
        """Flushes names that were added or changed in the folder to disk."""
        os.fsync(self._handle)

    def named(self, text: str) -> str:
        """A message of DuckDB with the folder's real path."""
        return text.replace(self.path, str(self.folder))


@contextmanager
def readable(path: Path, place: Place) -> Generator[None]:
    """Turns DuckDB's errors for the bundle at path into an InputError that names the file."""
    try:
        yield
    except duckdb.Error as error:
        # an error of a function of ours is that of its file
        text = str(error).partition("\n")[0].rpartition("InputError: ")[2]
        scarce = isinstance(error, duckdb.OutOfMemoryException)
        raise InputError(
            f"{path}: its tables cannot be read: {place.named(text)}",
            "raise the limit of memory: ulimit -v, or docker run --memory"
            if scarce
            else "take the file from a copy of the bundle",
        ) from None
