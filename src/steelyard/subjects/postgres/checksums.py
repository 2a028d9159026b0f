"""Checksums of PostgreSQL's data pages: a default that changed between versions, fixed by initdb."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from steelyard.study.errors import InputError
from steelyard.study.plan import Option
from steelyard.study.study import Study
from steelyard.subjects.postgres.binaries import find_bindir, major_of
from steelyard.workloads import work_of

# https://www.postgresql.org/docs/18/release-18.html: initdb enables them by default
_ON_SINCE = 18


def checksum_arguments(study: Study, options: Sequence[Option], bindir: Path) -> list[str]:
    """Arguments of this version's initdb for what the study wants; []: its own default."""
    wanted = _wanted(study, options)
    if wanted == "server" or wanted == _default(bindir):
        return []
    # versions before have no argument to switch off what is off
    return ["--data-checksums" if wanted == "on" else "--no-data-checksums"]


def checksums(study: Study, options: Sequence[Option]) -> str:
    """`data checksums are on in every option: ...`; '' where each server has its own default.

    Raises InputError where a copied data directory has its own.
    """
    subject, wanted = study.subject, _wanted(study, options)
    if wanted == "server" and subject.data_checksums in ("on", "off"):
        raise InputError(
            "has no effect: a data directory keeps its own",
            "leave it out, or change a copy of the data directory with pg_checksums",
            ("subject", "data_checksums"),
        )
    if wanted == "server":
        return ""
    why = "" if subject.data_checksums != "auto" else ": the versions' defaults differ"
    return f"data checksums are {wanted} in every option{why} (subject.data_checksums)"


def _wanted(study: Study, options: Sequence[Option]) -> str:
    """on, off or server. A copied data directory, or a server at an address, has what it has."""
    subject = study.subject
    if subject.dsn or work_of(study.workload).directory is not None:
        return "server"
    if subject.data_checksums != "auto":
        return subject.data_checksums
    defaults = {_default(find_bindir(option.bindir)) for option in options}
    return "on" if len(defaults) > 1 else "server"


def _default(bindir: Path) -> str:
    return "on" if major_of(bindir) >= _ON_SINCE else "off"
