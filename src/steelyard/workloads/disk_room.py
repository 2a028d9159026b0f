"""Whether the folder of the servers has room for the data of a workload."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable

from steelyard.study.errors import InputError


def check_disk_room(
    number: float, each_bytes: float, what: str, fitting: Callable[[float], str], at: tuple[str, ...]
) -> None:
    """Raises InputError where `number` times each_bytes do not fit into the folder for temporary files.

    what: the number with its noun; fitting: a smaller number as the study's key, '' where none fits; at: of
    the key.
    """
    folder = tempfile.gettempdir()
    free_bytes = shutil.disk_usage(folder).free
    if number * each_bytes <= free_bytes:
        return
    smaller = fitting(free_bytes / each_bytes)
    raise InputError(
        f"{what} needs about {number * each_bytes / 1e9:.3g} GB in {folder},"
        f" where {free_bytes / 1e9:.3g} GB are free",
        f"{smaller} fits" if smaller else "set TMPDIR to a folder with more space",
        at,
    )
