"""Checks with a PostgreSQL program that it accepts settings, before the study starts.

A server reads its command line first and its data next: with a folder that does not exist, it refuses either
a setting or the folder.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from steelyard.study.errors import InputError, nearest
from steelyard.study.factors import place_of_setting
from steelyard.study.plan import Option
from steelyard.study.study import Study
from steelyard.subjects.postgres.binaries import find_bindir, reachable
from steelyard.subjects.postgres.pooler import divided
from steelyard.subjects.postgres.settings_read_back import written
from steelyard.subjects.servers.account import arguments_of_nobody

_NOWHERE = "/nonexistent"
_TRIAL_S = 30.0
_REFUSED = re.compile(r'FATAL:  (.*parameter "([^"]+)".*)')
_HINT = re.compile(r"HINT:  (.*)")


def check_settings(study: Study, options: Sequence[Option]) -> None:
    """Checks name and value of each server setting with the option's version. Raises InputError."""
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


def _refusal(program: Path, setting: str) -> tuple[str, str] | None:
    tried = subprocess.run(
        [program, "-D", _NOWHERE, f"--{setting}"],
        capture_output=True,
        text=True,
        errors="replace",
        cwd="/",
        env={**os.environ, "LC_ALL": "C"},
        timeout=_TRIAL_S,
        **arguments_of_nobody(),
    )
    if not (found := _REFUSED.search(tried.stderr)):
        return None
    cause, name = found[1], found[2]
    if cause.startswith("unrecognized"):
        return f'this server has no setting "{name}"{nearest(name, _known(program))}', ""
    hint = _HINT.search(tried.stderr)
    return cause, hint[1] if hint else ""


def _known(program: Path) -> list[str]:
    """Names of most settings (postgres --describe-config: one line per setting, columns by tabs)."""
    shown = subprocess.run(
        [program, "--describe-config"],
        capture_output=True,
        text=True,
        cwd="/",
        timeout=_TRIAL_S,
        **arguments_of_nobody(),
    )
    return [line.partition("\t")[0] for line in shown.stdout.splitlines()]
