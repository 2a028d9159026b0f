"""Errors of what a study itself loads: its script and its file of data."""

from __future__ import annotations

import re
from pathlib import Path

from steelyard.study.errors import InputError, brief
from steelyard.workloads import Work

_WORDS_CHARACTERS_MAX = 600
_PART = rb"(?:\w+|\"[^\"\n]+\"|`[^`\n]+`)"
_CREATED = re.compile(
    rb"^\s*create\s+(?:unlogged\s+)?table\s+(?:if\s+not\s+exists\s+)?(" + _PART + rb"(?:\." + _PART + rb")*)",
    re.IGNORECASE | re.MULTILINE,
)
_COPY = re.compile(rb"\s*copy\s.*\sfrom\s+stdin\b", re.IGNORECASE)
_END_OF_ROWS = b"\\."


def script_error(work: Work, words: str, hint: str = "", line: int = 0) -> InputError:
    """schema_sql, or the file that holds it, cannot be run.

    words: the server's; line: of the script, from 1; 0: unknown.
    """
    words = brief(words.strip(), _WORDS_CHARACTERS_MAX)
    if work.script_file:
        place = f"{work.script_file}:{line}" if line else work.script_file
        return InputError(f"{place}: {words}", hint, ("workload", "schema_file"))
    where = f"line {line} of it: " if line else ""
    return InputError(f"the script cannot be run: {where}{words}", hint, ("workload", "schema_sql"))


def tables_created(work: Work) -> list[str]:
    """Names of the tables that the study's script and file of SQL create, as written there.

    Not those that they drop; what looks alike in a string or a comment of the script counts too.
    """
    found = _CREATED.findall(work.script.encode())
    if work.data is not None:
        copied = False
        with work.data.open("rb") as lines:
            for line in lines:
                if copied:
                    copied = line.rstrip() != _END_OF_ROWS
                elif created := _CREATED.match(line):
                    found.append(created[1])
                else:
                    copied = _COPY.match(line) is not None
    return [name.decode(errors="replace") for name in dict.fromkeys(found)]


def data_error(file: Path, words: str, hint: str = "") -> InputError:
    """A file of data cannot be loaded; words: those of the program that loaded it."""
    text = f"{file} cannot be loaded: {brief(words.strip(), _WORDS_CHARACTERS_MAX)}"
    return InputError(text, hint, ("workload", "data_file"))
