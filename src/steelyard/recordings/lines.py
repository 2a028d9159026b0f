"""Reports that are read line by line: a format is its rules. The first rule that fits a line takes it; a line
that none takes is of a table, if the format has some, or is not understood. A format also says what begins a
run, so that a file may hold several.
"""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from steelyard.recordings.cells import exact, has_decimal_commas
from steelyard.recordings.report import Better, Pools, Report, Work
from steelyard.recordings.samples import Samples
from steelyard.recordings.source import Line, Source
from steelyard.recordings.tables import Row, TextColumns, csv_rows, names_of_csv, ruled_rows

Found = re.Match[str]
_Latches = dict[tuple[int, str], dict[str, Any]]
# a number that is not whole, as one that was cut off, is refused when it is converted
_N = re.compile(r"\bN\b")
_NUMBER = r"\d[\d.]*"
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
# times beyond it are of the epoch
_EPOCH_S = 1e9


class Numbers(dict[str, float]):
    """0 for a name that is not there."""

    def __missing__(self, key: str) -> float:
        return 0


class Words(dict[str, str]):
    """Empty for a name that is not there."""

    def __missing__(self, key: str) -> str:
        return ""


@dataclass
class Now:
    """The report that is being read.

    numbers: from which its work follows, by name. counts: by name and second, or another number. words: names
    that later lines need. timed: its readings at their times. texts: of its tables. seen: what a run has
    once. path: titles above a line by their indent. latches: rows by capture and name. below: the next line.
    """

    report: Report
    source: Source
    numbers: Numbers = field(default_factory=Numbers)
    counts: Counter[tuple[str, float]] = field(default_factory=Counter[tuple[str, float]])
    words: Words = field(default_factory=Words)
    timed: Samples = field(default_factory=Samples)
    texts: TextColumns = field(default_factory=TextColumns)
    seen: set[str] = field(default_factory=set[str])
    path: dict[int, str] = field(default_factory=dict[int, str])
    latches: _Latches = field(default_factory=_Latches)
    below: str = ""

    def latch(self, name: str, capture: int = 0) -> dict[str, Any]:
        """The row of a latch; of each capture there is one."""
        if (key := (capture, name)) not in self.latches:
            self.latches[key] = self.report.row("latches", latch=name)
        return self.latches[key]

    def close(self) -> None:
        """Gives the report its readings. Times of the epoch begin one interval before the first."""
        report, shift = self.report, 0.0
        if self.timed and (first := float(self.timed.at_s.min())) > _EPOCH_S:
            last = float(self.timed.at_s.max())
            shift = (last - first) / max(1, len(set(self.timed.at_s.tolist())) - 1) - first
            report.began = datetime.fromtimestamp(-shift, UTC)
            self.numbers["until"] += shift
        report.samples.extend(self.timed, shift)
        self.texts.close(self.source, report)


class NotMine(ValueError):
    """A rule's pattern matches a line that is of another rule."""


_Act = Callable[[Now, Found], object]


@dataclass(frozen=True)
class Rule:
    """One kind of line. act: takes it; NotMine: it is not of this kind; a ValueError: it is damaged.

    once: what such a line gives, which a run has once: the next such line is of another run.
    """

    pattern: re.Pattern[str]
    act: _Act
    once: str = ""


def has(*patterns: str) -> Callable[[str], bool]:
    """A `sniff`: whether each of the patterns is in a text, `^` and `$` at its lines."""
    compiled = [re.compile(_N.sub(lambda _: _NUMBER, pattern), re.MULTILINE) for pattern in patterns]
    return lambda head: all(pattern.search(head) for pattern in compiled)


def rule(pattern: str, act: _Act, once: str = "") -> Rule:
    """A rule with a function of the format. `N` in a pattern is a number."""
    return Rule(re.compile(_N.sub(lambda _: _NUMBER, pattern)), act, once)


def known(begins: str, once: str = "") -> Rule:
    """Lines that begin so tell no figure."""
    return rule(rf"(?:{begins}).*", lambda now, found: None, once)


def noted(pattern: str, text: str, code: str = "source-warns") -> Rule:
    """Lines that a notice tells: the tool's own doubts, or figures that are not kept. text: with the line."""
    return rule(pattern, lambda now, found: now.report.notice(code, text.format(found[0].strip())))


def numbers_of(found: Found) -> dict[str, float]:
    """The number in each named group that has one."""
    return {name: exact(cell) for name, cell in found.groupdict().items() if cell}


def reading(pattern: str, entity: str, once: str = "") -> Rule:
    """Readings of one thing: each named group is a metric; `t` its time. entity: with groups and words."""
    names = re.findall(r"{(\w+)}", entity)

    def act(now: Now, found: Found) -> None:
        cells = found.groupdict()
        at_s = exact(cells.pop("t", None) or "0")
        named = entity.format(**(now.words | cells))
        values = {name: exact(cell) for name, cell in cells.items() if cell and name not in names}
        timed = "t" in found.groupdict()
        (now.timed if timed else now.report.samples).add_row(at_s, named, values)
        if timed:
            now.numbers["until"] = at_s

    return rule(pattern, act, once)


def figure(pattern: str, name: str, unit: str, better: Better = "lower", pools: Pools = "work") -> Rule:
    """A figure of the run, which it has once: the first group."""
    return rule(pattern, lambda now, m: now.report.figure(name, exact(m[1]), unit, better, pools), name)


def numbers(pattern: str, once: str = "") -> Rule:
    """Numbers from which the work follows: each named group."""
    return rule(pattern, lambda now, found: now.numbers.update(numbers_of(found)), once)


def fact(pattern: str, name: str = "", once: str = "") -> Rule:
    """A fact of the run: name and text, or the text of a fact with this name."""

    def act(now: Now, found: Found) -> None:
        now.report.facts[name or found[1]] = found[found.re.groups].strip()

    return rule(pattern, act, once)


def word(pattern: str) -> Rule:
    """Names that later lines need: each named group."""
    return rule(pattern, lambda now, found: now.words.update(found.groupdict("")))


def by_second(now: Now, start: int = 0) -> tuple[tuple[int, int, int], ...]:
    """Number of the second since a start, done, failed: of the counts `done` and `failed`."""
    n = now.counts
    seconds = sorted({second for name, second in n if name in ("done", "failed")})
    return tuple((int(s) - start, n["done", s], n["failed", s]) for s in seconds)


def worked(now: Now) -> None:
    """Work from `done`, `failed` and `seconds`; else from `tps`, else the mean rate of progress."""
    report, numbers = now.report, now.numbers
    report.clients = int(numbers["clients"]) or report.clients
    report.seconds = numbers["seconds"] or report.seconds
    if "done" in numbers:
        if report.seconds:
            foots = "does-not-foot" not in dict(report.notices)
            report.work = Work(int(numbers["done"]), int(numbers["failed"]), detail=1, foots=foots)
        # latencies of a rate count from the planned start
        if "rate" not in now.words:
            report.foot_clients()
    elif numbers["tps"]:
        report.rate(numbers["tps"])
    elif rates := report.samples.values_of("tps"):
        report.notice("summary-missing", "intermediate results without a summary: no count")
        report.figure("tps_of_progress", sum(rates) / len(rates), "1/s", "higher", "time")
        report.seconds = numbers["until"] or None


@dataclass(frozen=True)
class Lines:
    """Reads a file by rules.

    close: forms figures from what was read. after: what a run has at its end, and the lines that then begin
    another. table: takes rows of tables, as a rule takes lines. run: the column that tells the run of a row.
    """

    rules: Sequence[Rule]
    close: Callable[[Now], None] = worked
    after: tuple[str, str] = ("", "")
    table: Callable[[Now, Row], object] | None = None
    run: str = ""

    def __call__(self, source: Source, lines: Iterable[Line] | None = None) -> list[Report]:
        """One report per run. lines: in place of those of the source. Raises InputError."""
        found = [Now(Report(source.place()), source)]
        left = self._left(found, lines or source.lines(), not lines and has_decimal_commas(source.head()))
        rows = itertools.starmap(Row, left)
        if self.table:
            rows = csv_rows(left) if names_of_csv(source.head()) else ruled_rows(left)
        for row in rows:
            # a damaged time is that of the run before
            of = re.sub(r".*[^-+\d: .TZ].*", "", row.cells.get(self.run, ""))
            now = next((now for now in reversed(found) if not of or now.words[self.run] in ("", of)), None)
            if now is None:
                found.append(now := Now(Report(source.place(row.line)), source))
            now.words[self.run] = of or now.words[self.run]
            try:
                if not (self.table and row.table):
                    raise ValueError
                self.table(now, row)
            except (ValueError, LookupError):
                source.skip(row.line, row.text)
        for now in found:
            now.close()
            self.close(now)
        return [now.report for now in found]

    def _left(self, found: list[Now], lines: Iterable[Line], comma: bool) -> Iterator[Line]:
        """The lines that no rule takes. In place of one that a rule takes a blank one ends a table."""
        full = (line for line in lines if self.table or line[1].strip())
        for (line, text), (_, below) in itertools.pairwise(itertools.chain(full, [(0, "")])):
            plain = _DECIMAL_COMMA.sub(".", text) if comma else text
            taken = self._take(found, line, plain, below)
            if self.table or not taken:
                yield line, "" if taken else text

    def _take(self, found: list[Now], line: int, text: str, below: str) -> bool:
        """Whether a rule takes a line, or reports it."""
        source = found[0].source
        for one in self.rules:
            if (match := one.pattern.fullmatch(text)) is None:
                continue
            if self._begins(found[-1], one, match):
                found.append(Now(Report(source.place(line)), source))
            found[-1].below = below
            # a number beyond 2^53, or with two points
            try:
                one.act(found[-1], match)
            except NotMine:
                continue
            except (ValueError, LookupError):
                source.skip(line, text)
            else:
                found[-1].seen |= {one.once.format(**match.groupdict())} - {""}
            return True
        return False

    def _begins(self, now: Now, one: Rule, match: Found) -> bool:
        """Whether a line is of another run: what a run has once comes again, or the time went back."""
        at = match.groupdict().get("t") or ""
        went_back = at.replace(".", "", 1).isdigit() and float(at) < now.numbers["until"]
        end, begins = self.after
        follows = end in now.seen and bool(re.match(begins, match[0]))
        return went_back or follows or one.once.format(**match.groupdict()) in now.seen
