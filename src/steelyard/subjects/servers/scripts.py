"""SQL of the study itself: errors of its script and its data; the levels of factors of scope schema.

Each combination of levels has its own copy of the loaded data, so nothing of one reaches another. A level
without SQL gets a copy and fresh statistics like every other.
"""

import hashlib
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from steelyard.errors import InputError, brief
from steelyard.study.study import Option, Study
from steelyard.subjects.servers.templates import copy_files
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


def with_levels(base: Path, option: Option, alter: Callable[[Path, Path], None]) -> Path:
    """The data as loaded, or their copy with the SQL of the option's levels, made once per study.

    base: as loaded; an option without factors of scope schema has them. alter: executes the SQL in the copy
    at its first path, and calls it by its second one.
    """
    if not option.schema:
        return base
    texts = "\0".join(option.schema.values())
    data = base.with_name(f"{base.name}-{hashlib.sha256(texts.encode()).hexdigest()[:16]}")
    if not data.exists():
        draft = base.with_name("schema.draft")
        shutil.rmtree(draft, ignore_errors=True)
        copy_files(base, draft)
        alter(draft, data)
    return data


def apply_levels(study: Study, option: Option, execute: Callable[[str], tuple[str, int]]) -> float:
    """Executes the SQL of the option's levels in the order of the factors; seconds that it took (0: no SQL).

    execute: gives the server's words and the line within the SQL, from 1, where it fails; '' and 0
    otherwise; line 0: unknown. Raises InputError.
    """
    seconds = 0.0
    for name, sql in option.schema.items():
        if not sql.strip():
            continue
        begin_ns = time.monotonic_ns()
        words, line = execute(sql)
        if words:
            raise _error(study, option, name, words, line)
        seconds += (time.monotonic_ns() - begin_ns) / 1e9
    return seconds


def _error(study: Study, option: Option, name: str, words: str, line: int) -> InputError:
    code = option.levels[name]
    text = f"option {option.label}: the SQL of level {code} cannot run: "
    level = study.factors[name].levels[code]
    file = level.get("sql_file") if isinstance(level, dict) else None
    if file:
        text = f"{file}:{line}: {text}" if line else f"{file}: {text}"
    elif line > 1:
        text += f"line {line} of it: "
    return InputError(
        text + brief(words.strip(), _WORDS_CHARACTERS_MAX), at=("factors", name, "levels", code)
    )
