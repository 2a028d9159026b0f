"""Copies the data directory of a server that is not ours; the original is only read."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from steelyard.study.errors import InputError
from steelyard.subjects import SubjectFailed
from steelyard.subjects.servers.account import Account


def refuse_links(directory: Path, hint: str, at: Sequence[str]) -> None:
    """Raises InputError where a link leads out of it: a server on the copy would write to the original."""
    for folder, folders, files in os.walk(directory):
        for name in (*folders, *files):
            place = Path(folder) / name
            if place.is_symlink():
                raise InputError(f"{place} is a link, which a copy would follow to the original", hint, at)


def copied(directory: Path, to: Path, account: Account) -> None:
    """Copies it to a new folder, for the user of the servers alone. Raises SubjectFailed."""
    shutil.rmtree(to, ignore_errors=True)
    done = subprocess.run(
        ["cp", "-r", "--preserve=timestamps", "--reflink=auto", "--", directory, to],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SubjectFailed(f"{directory} could not be copied: {done.stderr.strip()[-500:]}")
    for folder, folders, files in os.walk(to):
        for name in (*folders, *files):
            account.own(Path(folder) / name)
    account.own(to)
    to.chmod(0o700)
