"""The classes of a capture: statements that differ in their values and comments alone."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Literal

from steelyard.captures.entry import Entry
from steelyard.captures.tokens import Dialect, bare, normalised
from steelyard.workloads.replay.capture_file import CapturedClass

# each class that is measured needs a histogram of 100 KB per thread of the load engine
_TEXT_CLASSES_MAX = 64
_CLASSES_MAX = 512
# in memory, until the capture has ended
_TEXTS_MAX = 20_000
_OTHERS = "other statements"
_NAME_CHARACTERS_MAX = 60

_Takes = Literal["text", "parsed-text", "values", "text-values"]
_TAKES: Mapping[str, _Takes] = {"text": "text", "parsed": "parsed-text", "values": "values"}


@dataclass
class _Class:
    """sql: of the first execution. values: the most that one has. varies: some have another text."""

    number: int
    takes: _Takes
    sql: str
    name: str
    values: int = 0
    executions: int = 0
    captured_us: int = 0
    varies: bool = False


@dataclass
class Classes:
    """The classes of a capture, numbered as they come; `ranked` orders and merges them."""

    dialect: Dialect
    _found: dict[tuple[str, str], _Class] = field(default_factory=dict[tuple[str, str], _Class])

    def number(self, entry: Entry) -> int:
        """The number of the entry's class, which counts it."""
        name = self._normalised(bare(entry.sql))
        if (entry.how, name) not in self._found and len(self._found) >= _TEXTS_MAX:
            name = _OTHERS
        new = _Class(len(self._found), _TAKES[entry.how], entry.sql, name)
        found = self._found.setdefault((entry.how, name), new)
        found.values = max(found.values, len(entry.values))
        found.varies = found.varies or entry.sql != found.sql
        found.executions += 1
        found.captured_us += entry.took_us or 0
        return found.number

    @cached_property
    def _normalised(self) -> Callable[[str], str]:
        return lru_cache(maxsize=4096)(partial(normalised, dialect=self.dialect))

    def ranked(self) -> tuple[list[CapturedClass], dict[int, int]]:
        """The classes, those with most time first, and the final number by the one that they had.

        Texts that vary, and beyond the 64 of these with most time, are measured together; of texts that are
        prepared once, those beyond 512.
        """
        ranked = sorted(self._found.values(), key=lambda one: (-one.captured_us, -one.executions, one.sql))
        for one in ranked:
            if one.takes == "values" and one.varies:
                one.takes = "text-values"
        texts = [one for one in ranked if one.takes != "values"][:_TEXT_CLASSES_MAX]
        prepared = [one for one in ranked if one.takes == "values"][:_CLASSES_MAX]
        own = {one.number for one in (*texts, *prepared)}
        groups: list[Sequence[_Class]] = [[one] for one in ranked if one.number in own]
        for how in _TAKES:
            rest = [one for (given, _), one in self._found.items() if given == how and one.number not in own]
            for one in rest:
                one.takes = "text-values" if how == "values" else one.takes
            if rest:
                groups.append(rest)
        names: Counter[str] = Counter()
        classes = [self._captured(group, names) for group in groups]
        numbers = {one.number: number for number, group in enumerate(groups) for one in group}
        return classes, numbers

    def _captured(self, group: Sequence[_Class], names: Counter[str]) -> CapturedClass:
        first = group[0]
        sql = first.name if len(group) == 1 else _OTHERS
        name = " ".join(sql.split())
        if len(name) > _NAME_CHARACTERS_MAX:
            name = name[: _NAME_CHARACTERS_MAX - 1].rstrip() + "…"
        names[name] += 1
        # the load engine's results have rows called `transaction` of their own
        if names[name] > 1 or name.startswith("transaction"):
            name = f"{name} ({names[name]})"
        return CapturedClass(
            name=name,
            sql=first.sql if first.takes == "values" else sql,
            takes=first.takes,
            count=max(one.values for one in group),
            executions=sum(one.executions for one in group),
            captured_us=sum(one.captured_us for one in group),
        )
