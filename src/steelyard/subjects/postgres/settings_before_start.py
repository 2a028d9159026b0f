"""Checks with a PostgreSQL program that it accepts settings, before the study starts.

A server reads its command line first and its data next: with a folder that does not exist, it refuses either
a setting or the folder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from steelyard.study.errors import InputError, nearest
from steelyard.study.factors import place_of_setting
from steelyard.study.plan import Option
from steelyard.study.study import Study
from steelyard.subjects.postgres.binaries import find_bindir, reachable
from steelyard.subjects.postgres.pooler import POOLER, PREFIX, divided
from steelyard.subjects.postgres.settings_read_back import written
from steelyard.subjects.servers.option_settings import refuse_lab_settings
from steelyard.subjects.servers.trial import tried

_NOWHERE = "/nonexistent"
_REFUSED = re.compile(r'FATAL:  (.*parameter "([^"]+)".*)')
_HINT = re.compile(r"HINT:  (.*)")


def check_settings(study: Study, options: Sequence[Option]) -> None:
    """Checks name and value of each server setting with the option's version. Raises InputError.

    Settings that are the lab's never reach a program.
    """
    refuse_lab_settings(study, "server", "postgresql")
    types: dict[str, str] = {}
    requested: dict[tuple[str | None, str], Option] = {}
    for option in options:
        _, _, settings = divided(option.server)
        for name, value in settings.items():
            requested.setdefault((option.bindir, f"{name}={written(value)}"), option)
    for bindir in dict.fromkeys(bindir for bindir, _ in requested):
        program = reachable(find_bindir(bindir)) / "postgres"
        settings = {setting: option for (place, setting), option in requested.items() if place == bindir}
        for setting, option in settings.items():
            if refusal := _refusal(program, setting):
                cause, hint = refusal
                raise InputError(
                    cause, hint, place_of_setting(study, option.levels, "server", setting.partition("=")[0])
                )
        types |= _known(program)
    refuse_lab_settings(study, "server", "pgbouncer", lambda _: False, PREFIX)
    refuse_lab_settings(
        study,
        "server",
        "postgresql",
        lambda name: types.get(name, "STRING") != "STRING" or name == POOLER or name.startswith(PREFIX),
    )


def _refusal(program: Path, setting: str) -> tuple[str, str] | None:
    shown = tried([program, "-D", _NOWHERE, f"--{setting}"])
    if not (found := _REFUSED.search(shown.stderr)):
        return None
    cause, name = found[1], found[2]
    if cause.startswith("unrecognized"):
        return f'this server has no setting "{name}"{nearest(name, _known(program))}', ""
    hint = _HINT.search(shown.stderr)
    return cause, hint[1] if hint else ""


def _known(program: Path) -> dict[str, str]:
    """Types of most settings (postgres --describe-config: name, context, group, type, ... by tabs)."""
    shown = tried([program, "--describe-config"])
    rows = [line.split("\t") for line in shown.stdout.splitlines()]
    return {row[0].lower(): row[3] for row in rows}
