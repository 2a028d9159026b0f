"""Bad input: the problem, its place, the remedy. The command line exits with code 2."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

_MOST_LISTED = 60
_LONGEST_LINE = 2000


class InputError(Exception):
    """Wrong input from the user. hint: the remedy: one line, and a text to copy below it where there
    is one.

    at: path of the key in the study file, if it concerns one; the reader adds file and line.
    errors: of several at once, each with its own place and remedy; by itself it is the only one.
    """

    def __init__(
        self, text: str = "", hint: str = "", at: Sequence[str | int] = (), errors: Sequence[InputError] = ()
    ) -> None:
        super().__init__(_brief_lines(text or "\n".join(map(str, errors))))
        self.hint = _brief_lines(hint)
        self.at = tuple(at)
        self.errors = errors or (self,)

    def changed(self, change: Callable[[InputError], InputError]) -> InputError:
        """The error, or each of several, changed."""
        found = [change(error) for error in self.errors]
        return InputError(errors=found) if len(found) > 1 else found[0]


def _brief_lines(text: str) -> str:
    return "\n".join(brief(line, _LONGEST_LINE) for line in text.split("\n"))


def brief(text: str, longest: int = 80) -> str:
    """A text as quoted in a message: a long one is cut in the middle."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}[... {len(text) - 2 * half:,} more ...]{text[-half:]}"


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?` when a known word is similar, then the known words unless they are many.

    '' when no word is known, or none of many is similar.
    """
    words = sorted(known)
    if not words:
        return ""
    close = get_close_matches(word, words, n=1, cutoff=0.5)
    guess = f'; did you mean "{close[0]}"?' if close else ""
    return guess if len(words) > _MOST_LISTED else f"{guess or ';'} One of: {', '.join(words)}."


def typed(path: Path) -> str:
    """The path as an argument of a shell command: quoted where needed, and never like an option."""
    text = str(path)
    if text.startswith("-"):
        text = f"./{text}"
    if shown(path) == str(path):
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{shown(Path(escaped))}'"


def shown(path: Path) -> str:
    """The path as printable text: bytes of a name that are not UTF-8 become escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
