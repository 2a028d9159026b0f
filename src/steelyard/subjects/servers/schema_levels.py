"""SQL of the factors of scope schema: the copies of the data that it needs, its errors, what it costs.

Each combination of levels has its own copy of the loaded data, so nothing of one reaches another. A level
without SQL gets a copy and fresh statistics like every other.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path

from steelyard.study.errors import InputError, brief
from steelyard.study.plan import Option
from steelyard.study.study import Study

_WORDS_CHARACTERS_MAX = 600


def place_of(base: Path, option: Option) -> Path:
    """Where the copy for an option's levels lies; base: the data as loaded, also without such factors."""
    if not option.schema:
        return base
    texts = "\0".join(option.schema.values())
    return base.with_name(f"{base.name}-{hashlib.sha256(texts.encode()).hexdigest()[:16]}")


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
