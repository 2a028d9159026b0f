"""The user's cache folder, for what takes long to fetch or to make."""

import os
import stat
from pathlib import Path


def cache_folder(name: str) -> Path:
    """A folder of the cache, `closed`. Raises OSError; RuntimeError for a user without a home."""
    home = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # a relative path is invalid: https://specifications.freedesktop.org/basedir-spec/latest/
    return closed((home if home.is_absolute() else Path.home() / ".cache") / "steelyard" / name)


def closed(folder: Path) -> Path:
    """The folder, created if missing, if nobody but this user and root can change or replace it.

    Raises OSError; PermissionError if another user can, or if the folder is a link.
    """
    folder = folder.parent.resolve() / folder.name
    for part in (*reversed(folder.parents), folder):
        part.mkdir(mode=0o700, exist_ok=True)
        status = part.lstat()
        sticky = status.st_mode & stat.S_ISVTX and part != folder
        # the mode of a link has all bits
        if status.st_uid not in (0, os.geteuid()) or (status.st_mode & 0o022 and not sticky):
            raise PermissionError(f"{part}: other users can change it")
    return folder
