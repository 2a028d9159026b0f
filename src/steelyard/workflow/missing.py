"""All that a study needs and that is missing here, found before it runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from steelyard.study.errors import InputError
from steelyard.study.passwords import VARIABLE, from_environment
from steelyard.study.workloads.driven import DrivenWorkload
from steelyard.study.workloads.program import ProgramWorkload
from steelyard.workflow.prepare import PreparedStudy


def check_temporary_folder() -> None:
    """Raises InputError where TMPDIR is no folder that can be written: Python would take another."""
    named = os.environ.get("TMPDIR")
    if named is None:
        return
    folder = Path(named)
    if not folder.is_dir():
        raise InputError(f"TMPDIR: {named}: no such folder", "create it, or unset TMPDIR")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"TMPDIR: {named}: this user cannot write there", "name another folder in TMPDIR")


def unset_variables(prepared: PreparedStudy) -> Iterator[InputError]:
    """The variables of the environment that the study names and that are not set."""
    texts = {("subject.dsn", prepared.study.subject.dsn or "")}
    for option in prepared.options:
        if isinstance(option.workload, ProgramWorkload):
            own = option.workload.environment
            texts |= {(f"workload.environment.{name}", str(text)) for name, text in own.items()}
        if isinstance(option.workload, DrivenWorkload):
            texts.add(("workload.driver_url", option.workload.driver_url))
            own = option.workload.driver_properties
            texts |= {(f"workload.driver_properties.{name}", str(text)) for name, text in own.items()}
    for at, text in sorted(texts):
        for name in dict.fromkeys(VARIABLE.findall(text)):
            try:
                from_environment(name, at)
            except InputError as error:
                yield error
