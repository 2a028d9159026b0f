"""Checks with a MariaDB program that it accepts settings, before the study starts.

`mariadbd --help --verbose` reads its command line, prints every setting with its value, and starts nothing.
It also accepts the beginning of a name or of a word: neither is a setting of the study's reader.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from steelyard.study.errors import InputError, nearest
from steelyard.study.factors import place_of_setting
from steelyard.study.plan import Option
from steelyard.study.study import Study
from steelyard.subjects.mariadb.binaries import find_server
from steelyard.subjects.mariadb.settings_read_back import written
from steelyard.subjects.servers.option_settings import refuse_lab_settings
from steelyard.subjects.servers.trial import tried

_ERROR = re.compile(r"\[ERROR\] (?:Buffered error: )?(?:\S*mariadbd: )?(.*)")
_SETTING = re.compile(r"^([a-z][\w-]+)  +(.*)$", re.MULTILINE)
# before the values, the text explains each setting
_VALUES = re.compile(r"^-{10,} -{5,}$", re.MULTILINE)
_WORD = re.compile(r"[a-z][a-z-]+")


def check_settings(study: Study, options: Sequence[Option]) -> None:
    """Checks name and value of each server setting with the option's version. Raises InputError.

    Settings that are the lab's never reach a program.
    """
    refuse_lab_settings(study, "server", "mariadb")
    seen: set[tuple[str | None, str]] = set()
    for option in options:
        for name, value in option.server.items():
            key = option.bindir, f"{name}={written(value)}"
            if key not in seen:
                seen.add(key)
                if refusal := _refusal(find_server(option.bindir), name, written(value)):
                    raise InputError(refusal, "", place_of_setting(study, option.levels, "server", name))
    refuse_lab_settings(study, "server", "mariadb", lambda _: False)


def _refusal(program: Path, name: str, value: str) -> str:
    """Why the program does not take the setting; '' where it does."""
    option = name.replace("-", "_").lower()
    shown = _shown(program, f"--{option.replace('_', '-')}={value}")
    values = _VALUES.split(shown.stdout, maxsplit=1)[-1]
    known = {found[1].replace("-", "_"): found[2].strip() for found in _SETTING.finditer(values)}
    if error := _ERROR.search(shown.stderr):
        if "unknown variable" in error[1] or "unknown option" in error[1]:
            return f'this server has no setting "{name}"{nearest(option, _known(program))}'
        return error[1]
    if known and option not in known:
        return f'this server has no setting "{name}"{nearest(option, known)}'
    has = known.get(option, value)
    if _WORD.fullmatch(value) and has != value and has.startswith(value):
        return f'{name} has no value "{value}"; did you mean "{has}"?'
    return ""


def _known(program: Path) -> list[str]:
    values = _VALUES.split(_shown(program).stdout, maxsplit=1)[-1]
    return [found[1].replace("-", "_") for found in _SETTING.finditer(values)]


def _shown(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program's help, with the values that it would have."""
    # even for its help the program opens the tables of a data directory for writing: none is there
    return tried([program, "--no-defaults", *arguments, "--datadir=/nonexistent", "--help", "--verbose"])
