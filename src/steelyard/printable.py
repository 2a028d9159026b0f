"""Texts as they are, without what would steer a terminal."""

import re

LINES = "\n\t"  # what parts the lines and columns of a text
# C0, DEL, C1, marks and overrides of direction, separators of lines, halves of surrogates
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str, keep: str = "") -> str:
    r"""text with what would steer a terminal written as its escape: `\x1b`, `\u202e`.

    keep: characters left as they are: LINES where several lines are meant.
    """

    def escaped(match: re.Match[str]) -> str:
        char = match[0]
        return char if char in keep else char.encode("unicode_escape").decode("ascii")

    return _STEERING.sub(escaped, text)
