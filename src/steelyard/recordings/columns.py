"""Readings in columns below headings, as tools of the system print them. A column is found by its heading.

A reading ends where a heading or a thing comes again, or with the line of the next time.
"""

import itertools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo

from steelyard.recordings.cells import has_decimal_commas, number
from steelyard.recordings.clocks import DAY_S, EPOCH, day_of, next_s, time_of
from steelyard.recordings.report import Report
from steelyard.recordings.samples import Mean
from steelyard.recordings.source import BANNER, Source

# an average, in any language, ends at its colon
_KNOWN = re.compile(
    r"(?:--time--)?\s*(?:-*procs|kthr)\b|(?!Device)[^\W\d]+\.? ?:\s|Summary|\s*$|.*LINUX RESTART"
)
# shares of a row may differ from 100 % by rounding, and by this
_SLACK = 0.1
_DECIMAL = re.compile(r"\d+[.,]\d+")
_ID = re.compile(r"\d+|-")
_IDS = ("UID", "PID", "TGID", "TID")
# of the CPUs' time what is idle, waits for I/O, or was taken by the host of a guest
_IDLE = [f"{name}_percent" for name in ("id", "idl", "idle", "wa", "wt", "iowait", "st", "steal")]


@dataclass(frozen=True, eq=False)
class Heading:
    """What stands in the columns.

    numbers: place, metric, and its thing where it is not that of the row. named: place and prefix of cells
    that name what a row is of; of: of a row without them. ids: places of whole numbers; rates: of numbers
    with the same decimals. shares: places that add up to 100 %. free: the last column may hold blanks.
    """

    width: int
    numbers: tuple[tuple[int, str, str], ...]
    named: tuple[tuple[int, str], ...] = ()
    of: str = "host"
    ids: tuple[int, ...] = ()
    rates: tuple[int, ...] = ()
    shares: tuple[int, ...] = ()
    free: bool = False


def metric(column: str) -> str:
    """`%usr` -> `usr_percent`, `rkB/s` -> `rkb_per_s`: the name of a column with its unit last."""
    name = column.strip(":")
    if name.startswith("%"):
        return name[1:].lower().replace("-", "_") + "_percent"
    return name.lower().replace("/s", "_per_s").replace("-", "_").replace("/", "_per_")


def sysstat(columns: Sequence[str], names: Collection[str], of: str = "host") -> Heading:
    """Columns of a tool of sysstat. names: those that name what a row is of."""
    places = list(enumerate(columns))
    free = "Command" in columns[-1:]
    texts = {*names, *_IDS, "USER", "CPU", "Command"}
    shares = tuple(i for i, column in places if column[:1] == "%")
    return Heading(
        len(columns),
        tuple((i, metric(column), "") for i, column in places if column not in texts),
        tuple((i, f"{c.strip(':').lower()} " if c != "Command" else "") for i, c in places if c in names),
        of,
        tuple(i for i, column in places if column in _IDS),
        tuple(i for i, column in places if column[:1] == "%" or column.endswith("/s")),
        shares if "%idle" in columns else (),
        free,
    )


@dataclass(frozen=True)
class Columns:
    """Reads the output of a tool. heading: what a line of names says, None: it is no such line.

    busy: things whose shares form the CPU's use, by the figure. since_boot: the first reading counts since
    the boot, and is left out where others follow. page: rows between two headings; fewer: it began again.
    """

    tool: str
    heading: Callable[[list[str]], Heading | None]
    busy: Mapping[str, str] = field(default_factory=dict[str, str])
    since_boot: bool = False
    page: int = 0

    def __call__(self, source: Source) -> list[Report]:
        """One report. Raises InputError."""
        now = _Readings(self, Report(source.place(source.first)))
        # a section's title is its command
        now.since_boot = self.since_boot and not (
            source.choices.since_boot is False or re.search(r"\s-\w*y", source.title)
        )
        heading: Heading | None = None
        comma = has_decimal_commas(source.head())
        # the same object for the same names
        headings: dict[tuple[str, ...], Heading | None] = {}
        for line, text in source.lines():
            if banner := BANNER.match(text):
                now.of_banner(banner)
            elif not _KNOWN.match(text):
                day, second, rest = time_of(text)
                cells = rest.split()
                if day is not None and not cells:
                    now.next(now.at_s(heading, day, second))
                elif (names := _names(cells)) and (
                    found := headings.setdefault(names, self.heading([*names]))
                ):
                    heading = found
                    now.headed(heading, second)
                elif heading is None or not now.row(heading, now.at_s(heading, day, second), cells, comma):
                    source.skip(line, text)
        return [now.close()]


def _names(cells: list[str]) -> tuple[str, ...]:
    """The names in a heading; none in a row, which has numbers."""
    names = tuple(itertools.takewhile(lambda cell: cell[:1] != "(", cells))
    # an interrupt is named by its number: 24/s
    return () if any(cell[:1].isdigit() and not cell.endswith("/s") for cell in names) else names


# time, thing, values by metric, and whether its shares add up
_Row = tuple[float | None, str, dict[str, float], bool]


@dataclass
class _Readings:
    """Readings as they are read. Times are seconds since the year 1, or of an unknown day.

    before_s: time before the first kept reading; origin_s: of the beginning. stamp_s: of the reading. seen:
    its headings and things. number: of the reading. first: rows since the boot, until others follow.
    """

    tool: Columns
    report: Report
    day_s: float = 0.0
    before_s: float | None = None
    origin_s: float | None = None
    stamp_s: float | None = None
    timed: bool | None = None
    number: int = 0
    left_out: int = 0
    last_s: float = 0.0
    seen: set[tuple[Heading, str]] = field(default_factory=set[tuple[Heading, str]])
    first: list[_Row] = field(default_factory=list[_Row])
    clocks: dict[Heading | None, float] = field(default_factory=dict[Heading | None, float])
    heading_s: float | None = None
    busy: dict[str, Mean] = field(default_factory=dict[str, Mean])
    unequal: int = 0
    zone: tzinfo | None = None
    since_boot: bool = False
    rows: int = 0
    again: int = -1
    boot: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])

    def of_banner(self, banner: re.Match[str]) -> None:
        """Takes the machine and its day."""
        self.report.facts |= {"host": banner[2], "CPUs": banner[5]}
        if day := day_of(banner[3]):
            self.day_s = day.toordinal() * DAY_S
        else:
            text = f"the date {banner[3]} is no day, or one of two: times are those of an unknown day"
            self.report.notice("date-unknown", text)

    def at_s(self, heading: Heading | None, day: date | None, second: float | None) -> float | None:
        """The time of a line. Times of the day go on over midnight, in each section by itself."""
        self.zone = UTC if day is EPOCH else None
        if second is None or day is not None:
            return None if day is None or second is None else day.toordinal() * DAY_S + second
        # sar prints one section after another, each from the beginning
        first_s = second if self.heading_s is None else self.heading_s
        self.clocks[heading] = next_s(self.clocks.get(heading, first_s), second)
        return self.day_s + self.clocks[heading]

    def headed(self, heading: Heading, second: float | None) -> None:
        """A heading: its time is when the first interval began."""
        if second is not None and self.heading_s is None:
            self.heading_s, self.before_s = second, self.day_s + second
        began_again = 0 < self.rows < self.tool.page and self.since_boot and not heading.named
        self.rows = 0
        if began_again or (heading, "") in self.seen:
            self.next(None)
        if began_again:
            self.leave_out()
        self.seen.add((heading, ""))

    def leave_out(self) -> None:
        """Leaves out a reading since the boot that comes again."""
        self.again = self.number
        text = f"{self.tool.tool} began again: its first reading counts since the boot, and is left out"
        self.report.notice("since-boot", text)

    def next(self, at_s: float | None) -> None:
        """Begins another reading, of this time."""
        self.number += any(thing for _, thing in self.seen)
        self.seen, self.stamp_s = set(), at_s

    def row(self, heading: Heading, at_s: float | None, cells: list[str], comma: bool) -> bool:
        """Whether a row is understood; then its values are kept."""
        if heading.free and len(cells) > heading.width:
            last = heading.width - 1
            if cells[last].isdigit():
                # a number too many before the command
                return False
            cells = [*cells[:last], " ".join(cells[last:])]
        # all have as many decimals: a number without them is that of another column; no name has decimals
        if (
            len(cells) != heading.width
            or any(not _ID.fullmatch(cells[i]) for i in heading.ids)
            or len({_decimals(cells[i]) for i in heading.rates} - {None}) > 1
            or any(_DECIMAL.fullmatch(cells[i]) for i, _ in heading.named)
        ):
            return False
        entity = " ".join([prefix + cells[i] for i, prefix in heading.named]) or heading.of
        try:
            values = {i: number(cells[i], comma) for i, _, _ in heading.numbers}
        except ValueError:
            return False
        if (heading, entity) in self.seen:
            self.next(None)
        at_s = self.stamp_s if at_s is None else at_s
        self.timed = at_s is not None if self.timed is None else self.timed
        of: dict[str, dict[str, float]] = {}
        for i, name, thing in heading.numbers:
            if (value := values[i]) is not None:
                of.setdefault(thing or entity, {})[name] = value
        if self.timed != (at_s is not None) or not of:
            return False
        # mpstat prints a heading above each reading, which does not tell where it began again
        boot = self.boot.get(entity) if heading.named and not any(thing for _, thing in self.seen) else None
        if boot and all(abs(v - boot.get(name, -9.0)) <= max(1.0, v / 100) for name, v in of[entity].items()):
            self.leave_out()
        self.seen.add((heading, entity))
        shares = [values[i] or 0.0 for i in heading.shares]
        step = 10.0 ** -(_decimals(cells[heading.shares[0]]) or 0) if shares else 1.0
        foots = not any(shares) or abs(sum(shares) - 100) <= _SLACK + len(shares) * step / 2
        self.unequal += not foots
        self.rows += 1
        if self.again == self.number:
            return True
        rows = [(at_s, thing, found, foots) for thing, found in of.items()]
        if self.since_boot and not self.number:
            self.first += rows
            # iostat begins with a banner
            self.boot |= of if self.tool.page else {}
            return True
        if self.first:
            text = f"the first reading of {self.tool.tool} counts since the boot: left out"
            self.report.notice("since-boot", text)
            self.before_s, self.first, self.left_out = self.first[0][0], [], 1
        for row in rows:
            self.keep(*row)
        return True

    def keep(self, at_s: float | None, thing: str, values: dict[str, float], foots: bool) -> None:
        """Adds a row to the report. It stands for the time before it."""
        if self.origin_s is None:
            before = self.before_s
            self.origin_s = at_s or 0.0
            # a longer interval is damage
            if at_s is not None and before is not None and 0 < at_s - before <= DAY_S:
                self.origin_s = before
        shown_s = float(self.number - self.left_out) if at_s is None else at_s - self.origin_s
        self.last_s = max(self.last_s, shown_s)
        self.report.samples.add_row(shown_s, thing, values)
        idle = [values[name] for name in _IDLE if name in values]
        for figure, things in self.tool.busy.items():
            if idle and foots and re.fullmatch(things, thing):
                self.busy.setdefault(figure, Mean()).add(100 - sum(idle))

    def close(self) -> Report:
        """The report with its time and the CPU's use."""
        report, tool = self.report, self.tool.tool
        if self.first:
            report.notice("since-boot", f"the only reading of {tool} counts since the boot")
            for row in self.first:
                self.keep(*row)
        if self.origin_s is not None and self.origin_s >= DAY_S:
            days, second = divmod(self.origin_s, DAY_S)
            report.began = datetime.fromordinal(int(days)) + timedelta(seconds=second)
            report.began = report.began.replace(tzinfo=self.zone)
        if self.timed:
            report.seconds = self.last_s or None
        elif self.timed is not None:
            report.notice("interval-unknown", f"{tool} tells no times: its readings are numbered")
        for figure, busy in self.busy.items():
            report.figure(figure, busy.value, "%")
        if self.unequal:
            text = f"figures disagree: shares of {self.unequal:,} rows of {tool} do not add up to 100 %"
            report.notice("does-not-foot", text)
        return report


def _decimals(cell: str) -> int | None:
    found = re.search(r"\d(?:[.,](\d+))?$", cell)
    return len(found[1] or "") if found else None
