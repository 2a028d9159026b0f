"""Reports that are read line by line: a format is its rules. The first rule that fits a line takes it; a line
that none takes is not understood. A format also says what begins a run, so that a file may hold several.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from steelyard.recordings.cells import exact
from steelyard.recordings.report import Better, Pools, Report, Work
from steelyard.recordings.samples import Samples
from steelyard.recordings.source import Source

Found = re.Match[str]
# of a number: its name, or its name and the second
Key = str | tuple[str, float]
# a number that is not whole, as one that was cut off, is refused when it is converted
_N = re.compile(r"\bN\b")
_NUMBER = r"\d[\d.]*"
# times beyond it are of the epoch
_EPOCH_S = 1e9


@dataclass
class Now:
    """The report that is being read.

    numbers: from which its work follows, by name. words: names that later lines need. timed: its readings at
    their times. seen: what a run has once.
    """

    report: Report
    numbers: dict[Key, float] = field(default_factory=dict[Key, float])
    words: dict[str, str] = field(default_factory=dict[str, str])
    timed: Samples = field(default_factory=Samples)
    seen: set[str] = field(default_factory=set[str])

    def close(self) -> Report:
        """The report with its readings. Times of the epoch begin one interval before the first."""
        report, shift = self.report, 0.0
        if self.timed and (first := float(self.timed.at_s.min())) > _EPOCH_S:
            last = float(self.timed.at_s.max())
            shift = (last - first) / max(1, len(set(self.timed.at_s.tolist())) - 1) - first
            report.began = datetime.fromtimestamp(-shift, UTC)
            self.numbers["until"] += shift
        report.samples.extend(self.timed, shift)
        return report


Act = Callable[[Now, Found], object]


@dataclass(frozen=True)
class Rule:
    """One kind of line. act: takes it; False or a ValueError: the line is not understood.

    once: what such a line gives, which a run has once: the next such line is of another run.
    """

    pattern: re.Pattern[str]
    act: Act
    once: str = ""


def has(*patterns: str) -> Callable[[str], bool]:
    """A `sniff`: whether each of the patterns is in a text, `^` and `$` at its lines."""
    compiled = [re.compile(_N.sub(lambda _: _NUMBER, pattern), re.MULTILINE) for pattern in patterns]
    return lambda head: all(pattern.search(head) for pattern in compiled)


def rule(pattern: str, act: Act, once: str = "") -> Rule:
    """A rule with a function of the format. `N` in a pattern is a number."""
    return Rule(re.compile(_N.sub(lambda _: _NUMBER, pattern)), act, once)


def known(*begins: str) -> Rule:
    """Lines that begin so tell no figure."""
    return rule(rf"(?:{'|'.join(begins)}).*", lambda now, found: None)


def left_out(pattern: str, why: str) -> Rule:
    """Lines whose figures are not kept, which a notice says."""

    def act(now: Now, found: Found) -> None:
        if (notice := ("left-out", why)) not in now.report.notices:
            now.report.notices.append(notice)

    return rule(pattern, act)


def reading(pattern: str, entity: str, once: str = "") -> Rule:
    """Readings of one thing: each named group is a metric; `t` its time. entity: with groups and words."""
    names = re.findall(r"{(\w+)}", entity)

    def act(now: Now, found: Found) -> None:
        cells = found.groupdict()
        at_s = exact(cells.pop("t", None) or "0")
        named = entity.format(**(now.words | cells))
        # NaN: a latency of no transaction
        values = {
            name: exact(cell)
            for name, cell in cells.items()
            if cell not in (None, "NaN") and name not in names
        }
        timed = "t" in found.groupdict()
        (now.timed if timed else now.report.samples).add_row(at_s, named, values)
        if timed:
            now.numbers["until"] = at_s

    return rule(pattern, act, once)


def figure(
    pattern: str, name: str, unit: str, better: Better = "lower", pools: Pools = "work", once: str = ""
) -> Rule:
    """A figure of the run: the first group."""
    return rule(pattern, lambda now, m: now.report.figure(name, exact(m[1]), unit, better, pools), once)


def numbers(pattern: str, once: str = "") -> Rule:
    """Numbers from which the work follows: each named group."""

    def act(now: Now, found: Found) -> None:
        values: dict[Key, float] = {name: exact(cell) for name, cell in found.groupdict().items() if cell}
        now.numbers |= values

    return rule(pattern, act, once)


def fact(pattern: str, name: str = "", once: str = "") -> Rule:
    """A fact of the run: name and text, or the text of a fact with this name."""

    def act(now: Now, found: Found) -> None:
        now.report.facts[name or found[1]] = found[found.re.groups].strip()

    return rule(pattern, act, once)


def word(pattern: str) -> Rule:
    """Names that later lines need: each named group."""
    return rule(pattern, lambda now, found: now.words.update(found.groupdict()))


def worked(now: Now) -> None:
    """Work from `done`, `failed` and `seconds`; without a count the mean of the rates of progress."""
    report, numbers = now.report, now.numbers
    report.clients = int(numbers.get("clients", 0)) or None
    report.seconds = numbers.get("seconds") or None
    if "done" in numbers:
        if report.seconds:
            report.work = Work(int(numbers["done"]), int(numbers.get("failed", 0)), detail=1)
        # latencies of a rate count from the planned start
        if "rate" not in now.words:
            report.foot_clients()
    elif rates := report.samples.values_of("tps"):
        text = "intermediate results without a summary: no count"
        report.notices.append(("summary-missing", text))
        report.figure("tps_of_progress", sum(rates) / len(rates), "1/s", "higher", "time")
        report.seconds = numbers.get("until") or None


@dataclass(frozen=True)
class Lines:
    """Reads a file by rules.

    close: forms figures from what was read. after: what a run has at its end, and the lines that then begin
    another.
    """

    rules: Sequence[Rule]
    close: Callable[[Now], None] = worked
    after: tuple[str, str] = ("", "")

    def __call__(self, source: Source) -> list[Report]:
        """One report per run. Raises InputError."""
        found = [Now(Report(source.place(source.first)))]
        for line, text in source.lines():
            one, match = self._rule(text)
            if one is None or match is None:
                source.skip(line, text)
                continue
            if self._begins(found[-1], one, match):
                found.append(Now(Report(source.place(line))))
            # a number beyond 2^53, or with two points
            try:
                if one.act(found[-1], match) is False:
                    source.skip(line, text)
                elif one.once:
                    found[-1].seen.add(one.once.format(**match.groupdict()))
            except (ValueError, KeyError):
                source.skip(line, text)
        for now in found:
            now.close()
            self.close(now)
        return [now.report for now in found]

    def _rule(self, text: str) -> tuple[Rule, Found] | tuple[None, None]:
        for one in self.rules:
            if match := one.pattern.fullmatch(text):
                return one, match
        return None, None

    def _begins(self, now: Now, one: Rule, match: Found) -> bool:
        """Whether a line is of another run: what a run has once comes again, or the time went back."""
        at = match.groupdict().get("t") or ""
        went_back = at.replace(".", "", 1).isdigit() and float(at) < now.numbers.get("until", 0)
        end, begins = self.after
        follows = end in now.seen and bool(re.match(begins, match[0]))
        return went_back or follows or one.once.format(**match.groupdict()) in now.seen
