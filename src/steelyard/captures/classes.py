"""Classes of captured statements: those that differ in their values alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from steelyard.captures.entry import Entry
from steelyard.captures.tokens import Dialect, normalised
from steelyard.workloads.replay.capture_file import CapturedClass

# each class that is measured needs a histogram of 100 KB per thread of the load engine
_TEXT_CLASSES_MAX = 64
_OTHERS = "other statements"
_NAME_CHARACTERS_MAX = 60

Takes = Literal["text", "parsed-text", "values"]


@dataclass
class _Class:
    """values: how many its events have, where they are bound."""

    number: int
    takes: Takes
    sql: str
    values: int = 0
    executions: int = 0
    captured_us: int = 0


@dataclass
class Classes:
    """The classes of a capture, numbered as they come; `ranked` orders and merges them."""

    dialect: Dialect
    _found: dict[tuple[Takes, str], _Class] = field(default_factory=dict[tuple[Takes, str], _Class])

    def number(self, entry: Entry) -> int:
        """The number of the entry's class, which counts it."""
        takes: Takes = "values" if entry.how == "values" else "text" if entry.how == "text" else "parsed-text"
        sql = entry.sql if takes == "values" else normalised(entry.sql, self.dialect)
        found = self._found.get((takes, sql))
        if found is None:
            found = _Class(len(self._found), takes, sql, len(entry.values))
            self._found[takes, sql] = found
        found.executions += 1
        found.captured_us += entry.took_us or 0
        return found.number

    def ranked(self) -> tuple[list[CapturedClass], dict[int, int]]:
        """The classes, those with most time first, and the final number by the one that they had.

        Texts beyond the 64 with most time are measured together; a prepared text cannot be merged.
        """
        ranked = sorted(self._found.values(), key=lambda one: (-one.captured_us, -one.executions, one.sql))
        texts = [one for one in ranked if one.takes != "values"]
        merged = {one.number for one in texts[_TEXT_CLASSES_MAX:]}
        groups: list[Sequence[_Class]] = [[one] for one in ranked if one.number not in merged]
        for takes in ("text", "parsed-text"):
            if together := [one for one in ranked if one.number in merged and one.takes == takes]:
                groups.append(together)
        names: Counter[str] = Counter()
        classes = [self._captured(group, names) for group in groups]
        numbers = {one.number: number for number, group in enumerate(groups) for one in group}
        return classes, numbers

    def _captured(self, group: Sequence[_Class], names: Counter[str]) -> CapturedClass:
        first = group[0]
        sql = first.sql if len(group) == 1 else _OTHERS
        name = " ".join((normalised(sql, self.dialect) if first.takes == "values" else sql).split())
        if len(name) > _NAME_CHARACTERS_MAX:
            name = name[: _NAME_CHARACTERS_MAX - 1].rstrip() + "…"
        names[name] += 1
        # the load engine's results have rows called `transaction` of their own
        if names[name] > 1 or name.startswith("transaction"):
            name = f"{name} ({names[name]})"
        return CapturedClass(
            name=name,
            sql=sql,
            takes=first.takes,
            count=first.values,
            executions=sum(one.executions for one in group),
            captured_us=sum(one.captured_us for one in group),
        )
