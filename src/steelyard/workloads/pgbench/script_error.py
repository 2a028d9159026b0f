"""An error in a script, with its file and line."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.study.errors import InputError


@dataclass(frozen=True)
class Place:
    """A line of a script."""

    file: str
    line: int

    def error(self, text: str, hint: str = "") -> InputError:
        """What is wrong there, and the way around."""
        return InputError(f"{self.file}:{self.line}: {text}", hint)
