"""A value replaced by another of the same kind and length; equal values by equal ones.

Of whole numbers, the number of digits and the integer types that hold them stay; of decimals the digits; of
times that they are valid; of texts each letter stays a letter of its case, each digit a digit, and what is
between them stays. Within such a shape no two values become one, so keys stay keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, cast

from steelyard.captures.anonymity.permutation import Permutation

# the largest number of characters that are permuted as one
_PIECE = 64
_INTEGER = re.compile(r"([+-]?)(\d+)")
_DECIMAL = re.compile(r"([+-]?)(\d*)\.(\d*)(?:([eE])([+-]?\d+))?")
_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:([ T])(\d\d):(\d\d)(?::(\d\d)(\.\d+)?)?([+-]\d\d(?::?\d\d)?|Z)?)?"
)
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(\.\d+)?)?")
_HEX = re.compile(r"(\\x)([0-9a-f]+)|(0x)([0-9a-fA-F]+)")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_UNIT = (
    r"(?:microseconds?|milliseconds?|seconds?|secs?|minutes?|mins?|hours?|days?|weeks?|mons?|months?|years?)"
)
_INTERVAL = re.compile(rf"(?:[+-]?\d+ {_UNIT} ?)+(?:[+-]?\d\d:\d\d(?::\d\d)?)?", re.IGNORECASE)
# what says how, not what: truth, parts and formats of times, encodings
_WORDS = frozenset(("", "t", "f", "true", "false", "null", "hex", "base64", "escape", "utf8", "UTC"))
_PART = re.compile(rf"{_UNIT}|quarter|decade|century|epoch|dow|doy|isodow", re.IGNORECASE)
_FORMAT = re.compile(
    r"(?=.{4})(?:(?:YYYY|YY|MM|DD|HH24|HH12|HH|MI|SS|MS|US|Month|Mon|Day|Dy|WW|IW|[-/:., ])+"
    r"|(?:%[aAbBdHiIjmMpsSTuUVyY]|[-/:., ])+)"
)
_BOUNDS = (0, 10, 100, 128, 256, 1000, 10_000, 2**15, 2**16, 10**5, 10**6, 10**7, 10**8, 10**9, 2**31, 2**32)
_LAST_BOUNDS = (*(10**n for n in range(10, 19)), 2**63, 10**19, 2**64, 10**20)
_FIRST, _LAST = date(1970, 1, 1).toordinal(), date(2037, 12, 31).toordinal()
_EARLIEST, _LATEST = date(1000, 1, 1).toordinal(), date(9999, 12, 31).toordinal()
_DEEPEST = 50
_REMEMBERED = 1 << 18


class Values:
    """Replaces values under a secret."""

    def __init__(self, secret: bytes) -> None:
        self._permuted = Permutation(secret)
        # the same values come again and again
        self.replaced = lru_cache(_REMEMBERED)(self._replaced)

    def _replaced(self, value: str) -> str:
        """The value in its place. A text of JSON stays JSON; formats, units and truth values stay."""
        if _is_kept(value):
            return value
        if found := _INTEGER.fullmatch(value):
            return found[1] + self._digits(found[2])
        if found := _DECIMAL.fullmatch(value):
            return f"{found[1]}{self._digits(found[2])}.{self._fraction(found[3])}{_exponent(found)}"
        for pattern, replace in ((_TIME, self._time), (_CLOCK, self._clock), (_HEX, self._hex)):
            if found := pattern.fullmatch(value):
                return replace(found)
        if _UUID.fullmatch(value):
            return self._hexadecimal(value)
        if _INTERVAL.fullmatch(value):
            return re.sub(r"\d+", lambda number: self._fraction(number[0]), value)
        if value[:1] in "{[" and (json_text := self._json(value)) is not None:
            return json_text
        found_text = self.text(value)
        # what stays as it is must be no other value's replacement
        while _is_kept(found_text):
            found_text = self.text(found_text)
        return found_text

    def text(self, value: str) -> str:
        """Letters for letters, digits for digits."""
        return "".join(
            self._piece(value[at : at + _PIECE], value[:at]) for at in range(0, len(value), _PIECE)
        )

    def _piece(self, text: str, before: str) -> str:
        """before: what stands before it in a long text, on which it depends."""
        alphabets = [_alphabet(character) for character in text]
        pairs = zip(text, alphabets, strict=True)
        shape = "".join(alphabet[0] if alphabet and one.isascii() else one for one, alphabet in pairs)
        return self._within(text, alphabets, f"text\0{shape}\0{before}")

    def _within(self, text: str, alphabets: Sequence[str], tweak: str) -> str:
        """Permutes the characters that have an alphabet, as the digits of one number."""
        number, bound = 0, 1
        for character, alphabet in zip(text, alphabets, strict=True):
            if alphabet:
                number = number * len(alphabet) + max(0, alphabet.find(character))
                bound *= len(alphabet)
        number = self._permuted(number, bound, tweak)
        out: list[str] = []
        for character, alphabet in reversed(list(zip(text, alphabets, strict=True))):
            if alphabet:
                number, digit = divmod(number, len(alphabet))
                character = alphabet[digit]
            out.append(character)
        return "".join(reversed(out))

    def _digits(self, digits: str) -> str:
        """A whole number, within the same digits and the same types of integers."""
        if (digits[:1] == "0" and len(digits) > 1) or len(digits) > 20:
            return self.text(digits)
        if not digits:
            return ""
        number = int(digits)
        low, high = _bounds_of(number)
        return str(low + self._permuted(number - low, high - low, f"integer\0{low}"))

    def _fraction(self, digits: str) -> str:
        return self._within(digits, ["0123456789"] * len(digits), f"digits\0{len(digits)}")

    def _time(self, found: re.Match[str]) -> str:
        try:
            day = date(int(found[1]), int(found[2]), int(found[3])).toordinal()
        except ValueError:
            return self.text(found[0])
        low, high = (_FIRST, _LAST) if _FIRST <= day <= _LAST else (_EARLIEST, _LATEST)
        moved = low + self._permuted(day - low, high - low + 1, f"day\0{low}") if low <= day else low
        text = (date.fromordinal(1) + timedelta(days=moved - 1)).isoformat()
        if found[4] is None:
            return text
        clock = f"{found[5]}:{found[6]}" + (f":{found[7]}" if found[7] else "") + (found[8] or "")
        return f"{text}{found[4]}{self.replaced(clock)}{found[9] or ''}"

    def _clock(self, found: re.Match[str]) -> str:
        minute = self._permuted(int(found[1]) * 60 + int(found[2]), 1440, "minute")
        text = f"{minute // 60:02}:{minute % 60:02}"
        if found[3]:
            text += f":{self._permuted(int(found[3]), 60, 'second'):02}"
        return text + (f".{self._fraction(found[4][1:])}" if found[4] else "")

    def _hex(self, found: re.Match[str]) -> str:
        prefix, digits = (found[1], found[2]) if found[1] else (found[3], found[4])
        return prefix + self._hexadecimal(digits)

    def _hexadecimal(self, text: str) -> str:
        """Hexadecimal digits, of any number, with what stands between them."""
        parts: list[str] = []
        for at in range(0, len(text), _PIECE):
            piece = text[at : at + _PIECE].lower()
            alphabets = ["" if character == "-" else "0123456789abcdef" for character in piece]
            parts.append(self._within(piece, alphabets, f"hex\0{len(text)}\0{text[:at].lower()}"))
        return "".join(parts)

    def _json(self, text: str) -> str | None:
        try:
            found = json.loads(text)
            return json.dumps(self._of_json(found, 0), ensure_ascii=False)
        except (ValueError, RecursionError):
            return None

    def _of_json(self, value: Any, depth: int) -> Any:
        """Names of members stay."""
        if depth > _DEEPEST:
            raise ValueError("too deep")
        if isinstance(value, dict):
            return {k: self._of_json(v, depth + 1) for k, v in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            return [self._of_json(one, depth + 1) for one in cast("list[Any]", value)]
        if isinstance(value, str):
            return self.replaced(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return json.loads(self.replaced(json.dumps(value)))
        return value


def largest_like(number: int) -> int:
    """The largest number that may replace one: a sequence that goes on from it meets no replacement."""
    return _bounds_of(number)[1] - 1


def _bounds_of(number: int) -> tuple[int, int]:
    """Numbers of as many digits that the same types of integers hold; the second is beyond them."""
    bounds = (*_BOUNDS, *_LAST_BOUNDS)
    high = next(bound for bound in bounds if number < bound)
    return max(bound for bound in bounds if bound < high), high


def _is_kept(value: str) -> bool:
    return value in _WORDS or any(pattern.fullmatch(value) for pattern in (_PART, _FORMAT))


def _exponent(found: re.Match[str]) -> str:
    return f"{found[4]}{found[5]}" if found[4] else ""


def _alphabet(character: str) -> str:
    """What may stand in place of a character; '' where it stays."""
    if character.isascii():
        if character.isdigit():
            return "0123456789"
        if character.islower():
            return "abcdefghijklmnopqrstuvwxyz"
        if character.isupper():
            return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        return ""
    return "abcdefghijklmnopqrstuvwxyz" if character.isalnum() else ""
