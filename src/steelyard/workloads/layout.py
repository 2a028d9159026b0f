"""Tables of a workload: columns in SQL of every server, keys, indexes, size."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """A table. row_bytes: about, with its indexes."""

    columns: str
    key: tuple[str, ...]
    row_bytes: int
    indexes: tuple[tuple[str, ...], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its columns, in order."""
        depth, names, word = 0, list[str](), ""
        for character in self.columns + ",":
            depth += {"(": 1, ")": -1}.get(character, 0)
            if character == "," and depth == 0:
                names.append(word.split()[0])
                word = ""
            else:
                word += character
        return tuple(names)
