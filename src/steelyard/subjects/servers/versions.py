"""The programs of every version of a server that a study names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from steelyard.study.errors import InputError
from steelyard.study.factors import settings_given
from steelyard.study.study import Study


def programs_of(study: Study, find: Callable[[str | None], Path]) -> list[Path]:
    """What `find` gives for each bindir. Raises its InputError at the place that names the bindir."""
    given: list[tuple[tuple[str, ...], str | None]] = [
        (at, str(bindir)) for at, _, bindir in settings_given(study, "version")
    ]
    found: list[Path] = []
    for at, bindir in given or [(("subject", "bindir"), study.subject.bindir)]:
        try:
            found.append(find(bindir))
        except InputError as error:
            raise InputError(str(error), error.hint, error.at or at) from None
    return found
