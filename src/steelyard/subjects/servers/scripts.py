"""Errors of what a study itself loads: its script and its file of data."""

from __future__ import annotations

from pathlib import Path

from steelyard.study.errors import InputError, brief
from steelyard.workloads import Work

_WORDS_CHARACTERS_MAX = 600


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


def data_error(file: Path, words: str, hint: str = "") -> InputError:
    """A file of data cannot be loaded; words: those of the program that loaded it."""
    text = f"{file} cannot be loaded: {brief(words.strip(), _WORDS_CHARACTERS_MAX)}"
    return InputError(text, hint, ("workload", "data_file"))
