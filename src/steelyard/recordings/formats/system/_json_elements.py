"""The elements of one array of a JSON document, one after another: the document need not fit into memory."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any, cast

from steelyard.recordings.source import Source

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_CLOSES = {"{": "}", "[": "]"}


class JsonElements:
    """Iterates over the objects in all arrays with a name; then `rest` is the document with null for each.

    array: number of the array of the last object, from 1.
    cut_off_at: number of the line at which the document ends too early; None: it is whole.
    """

    def __init__(self, source: Source, name: str) -> None:
        self.array = 0
        self.cut_off_at: int | None = None
        self.rest: Any = None
        self._source, self._name = source, f'"{name}"'

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Raises ValueError for what is no JSON."""
        open_: list[str] = []
        last, number = "", 0
        rest, element = io.StringIO(), io.StringIO()
        # depth of the array, 0: outside of it; inside an element all text belongs to it
        array = 0
        for number, text in self._source.lines():
            if self._source.skipped.cut_off_at == number:
                break
            start = 0
            for token in _TOKEN.finditer(text):
                found = token[0]
                if found in _CLOSES:
                    if array and len(open_) == array:
                        rest.write(text[start : token.start()])
                        start = token.start()
                    elif not array and found == "[" and last == self._name:
                        array = len(open_) + 1
                        self.array += 1
                    open_.append(found)
                elif found in _CLOSES.values():
                    if not open_ or _CLOSES[open_.pop()] != found:
                        raise ValueError(f"line {number}: an unexpected {found}")
                    if array and len(open_) == array:
                        element.write(text[start : token.end()])
                        start = token.end()
                        yield cast("dict[str, Any]", json.loads(element.getvalue()))
                        element = io.StringIO()
                        rest.write("null")
                    elif len(open_) < array:
                        array = 0
                else:
                    last = found
            (element if array and len(open_) > array else rest).write(text[start:] + "\n")
        text = rest.getvalue()
        if open_:
            self.cut_off_at = number
            # of an element that was cut off nothing is left
            open_ = open_[:array] if array else open_
            text = text.rstrip().rstrip(",") + "".join(_CLOSES[one] for one in reversed(open_))
        self.rest = json.loads(text)
