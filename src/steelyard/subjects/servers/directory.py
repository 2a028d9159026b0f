"""Copies of data directories: of the study's own, and of a server's that the study only reads."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from steelyard.host.processes.parent import end_with
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


def copy_files(directory: Path, to: Path) -> None:
    """Copies a folder of data with its owners. Raises OSError, with the words of cp."""
    lab = os.getpid()
    done = subprocess.run(
        ["cp", "-a", "--reflink=auto", "--", directory, to],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: end_with(lab) or os._exit(1),
    )
    if done.returncode:
        raise OSError(f"{directory} could not be copied: {done.stderr.strip()[-500:]}")


def copied(directory: Path, to: Path, account: Account) -> None:
    """Copies it to a new folder, for the user of the servers alone. Raises SubjectFailed."""
    shutil.rmtree(to, ignore_errors=True)
    try:
        copy_files(directory, to)
    except OSError as error:
        raise SubjectFailed(str(error)) from None
    for folder, folders, files in os.walk(to):
        for name in (*folders, *files):
            account.own(Path(folder) / name)
    account.own(to)
    to.chmod(0o700)


def copied_from_another(made: Path, draft: Path, data: Path) -> bool:
    """Whether another server of the study, which rests, has made the same data: they are copied then."""
    shutil.rmtree(draft, ignore_errors=True)
    if not made.is_dir():
        return False
    copy_files(made, draft)
    draft.rename(data)
    return True
