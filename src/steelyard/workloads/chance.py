"""Random columns of the data: whole numbers, texts, texts with a mark, NURand."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Texts = Iterator[str]
Integers = NDArray[np.int64]

_CHARACTERS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", dtype=np.uint8)
_LETTERS, _DIGITS = _CHARACTERS[:26], _CHARACTERS[52:]
_MARK = "ORIGINAL"


class Chance:
    """Columns of `rows` values each; the same for the same numbers of the seed.

    numpy keeps the stream of RandomState for ever, so the data are the same with each version (NEP 19).
    """

    def __init__(self, seed: Sequence[int], rows: int) -> None:
        self._random = np.random.RandomState(list(seed))
        self.rows = rows

    def integers(self, low: int, high: int, rows: int | None = None) -> Integers:
        """Whole numbers from low to high, uniformly distributed."""
        return self._random.randint(low, high + 1, self.rows if rows is None else rows, dtype=np.int64)

    def nurand(self, a: int, low: int, high: int, constant: int) -> Integers:
        """Some much more often than others (clause 2.1.6)."""
        both = self.integers(0, a) | self.integers(low, high)
        return (both + constant) % (high - low + 1) + low

    def permutation(self) -> Integers:
        """1 to rows in random order."""
        return self._random.permutation(self.rows) + 1

    def texts(self, low: int, high: int, columns: int = 1) -> Texts:
        """Letters and digits, of a length from low to high; `columns` texts for each row, in turn."""
        lengths = self.integers(low, high, self.rows * columns)
        return _cut(self._characters(_CHARACTERS, int(lengths.sum())), lengths)

    def letters(self, length: int) -> Texts:
        """Capital letters."""
        return self._fixed(_LETTERS, length)

    def digits(self, length: int) -> Texts:
        """Decimal digits."""
        return self._fixed(_DIGITS, length)

    def marked_texts(self) -> list[str]:
        """Texts of 26 to 50 characters, of which a tenth hold ORIGINAL at a random place."""
        texts = list(self.texts(26, 50))
        places = self._random.random_sample(self.rows // 10)
        for row, share in zip(self._tenth(), places.tolist(), strict=True):
            at = int(share * (len(texts[row]) - len(_MARK) + 1))
            texts[row] = texts[row][:at] + _MARK + texts[row][at + len(_MARK) :]
        return texts

    def tenth(self, within: str, others: str) -> list[str]:
        """One text for a tenth of the rows, chosen at random, another for the others."""
        found = [others] * self.rows
        for row in self._tenth():
            found[row] = within
        return found

    def _tenth(self) -> list[int]:
        return self._random.permutation(self.rows)[: self.rows // 10].tolist()

    def _fixed(self, characters: NDArray[np.uint8], length: int) -> Texts:
        return _cut(self._characters(characters, self.rows * length), np.full(self.rows, length))

    def _characters(self, of: NDArray[np.uint8], count: int) -> str:
        return of[self._random.randint(0, len(of), count, dtype=np.uint8)].tobytes().decode("ascii")


def _cut(text: str, lengths: Integers) -> Texts:
    ends = np.cumsum(lengths).tolist()
    return (text[begin:end] for begin, end in zip([0, *ends], ends, strict=False))


def money(cents: Integers) -> Texts:
    """Decimals with two places; no value is negative."""
    return (f"{number // 100}.{number % 100:02}" for number in cents.tolist())


def rates(parts: Integers) -> Texts:
    """Ten-thousandths below 1, as decimals."""
    return (f"0.{number:04}" for number in parts.tolist())
