"""Readings in columns below headings, as tools of the system print them. A column is found by its heading.

A reading ends where a heading or a thing comes again, or with the line of the next time.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from math import nan
from typing import NamedTuple

from steelyard.errors import InputError
from steelyard.recordings.cells import DAY_S, day_of, has_decimal_commas, length_s, next_s, time_of
from steelyard.recordings.headings import Heading, names_in, row_of
from steelyard.recordings.report import Report
from steelyard.recordings.source import BANNER, Source

# an average, in any language, ends at its colon
_KNOWN = re.compile(
    r"(?:--time--)?\s*(?:-*procs|kthr)\b|(?!Device)[^\W\d]+\.? ?:\s|Summary|\s*$|.*LINUX RESTART"
)
# what is 0 where nothing was done
_RATE = re.compile(r".*_per_s|(?!mem_).*_percent|tps|[kmg]?b_\w+|(?:aqu|avgqu)_sz|iodelay")
# of the CPUs' time what is idle, waits for I/O, or was taken by the host of a guest
_IDLE = [f"{name}_percent" for name in ("id", "idl", "idle", "wa", "wt", "iowait", "st", "steal")]
# of vmstat, what a first reading gives as means since the boot
_OF_BOOT = re.compile(r".*_percent|in|cs")
# summer time, and how much later a reading may be than its interval says
_HOUR_S, _CLOCK_S = 3600, 2


class _Row(NamedTuple):
    """A row of a reading. Times are seconds since the year 1, or of an unknown day.

    first_s: of the first heading. before_s: of the reading before, or of a heading after it. things: values
    by thing and metric. foots: its shares add up.
    """

    heading: Heading | None
    number: int
    first_s: float | None
    before_s: float | None
    at_s: float | None
    zone: tzinfo | None
    things: dict[str, dict[str, float]]
    foots: bool


_Time = tuple[float | None, tzinfo | None]
# by heading: the last two times
_Spans = dict[Heading | None, tuple[float | None, float | None]]
# number, text, heading, whether it is the heading itself, time of the line, and cells: none of a time alone
_Line = tuple[int, str, Heading | None, bool, _Time, list[str]]


@dataclass(frozen=True)
class Columns:
    """Reads the output of a tool. heading: what a line of names says, None: it is no such line.

    busy: things whose shares form the CPU's use, by the figure. since_boot: the first reading counts since
    the boot, and is left out where others follow. page: rows between two headings; fewer: it began again.
    idle: pattern of things that are not listed without activity.
    """

    tool: str
    heading: Callable[[list[str]], Heading | None]
    busy: Mapping[str, str] = field(default_factory=dict[str, str])
    since_boot: bool = False
    page: int = 0
    idle: str = ""

    def __call__(self, source: Source) -> list[Report]:
        """One report. Raises InputError."""
        report = Report(source.place())
        # a section's title is its command
        since_boot = self.since_boot and not (
            source.choices.since_boot is False or re.search(r"\s-\w*y", source.title)
        )
        unread = set[str]()
        rows = self._rows(source, report, since_boot, unread)
        origin_s, origin, last_s, unequal = None, 0, 0.0, 0
        # by heading: the seconds of each reading; by heading and thing: those in which it was listed
        readings: dict[Heading | None, dict[int, float]] = {}
        listed: dict[tuple[Heading | None, str], float] = {}
        for row, of_s in _weighed(self._after_boot(rows, report) if since_boot else rows):
            readings.setdefault(row.heading, {})[row.number] = of_s
            unequal += not row.foots
            if origin_s is None:
                # it stands for the time before it
                at_s, origin = row.at_s or 0.0, row.number
                origin_s = at_s - (length_s(row.first_s, at_s) or length_s(row.before_s, at_s))
                if origin_s >= DAY_S:
                    days, second = divmod(origin_s, DAY_S)
                    day = datetime.fromordinal(int(days)).replace(tzinfo=row.zone)
                    report.began = day + timedelta(seconds=second)
                if row.at_s is None:
                    report.notice(
                        "interval-unknown", f"{self.tool} tells no times: its readings are numbered"
                    )
                elif row.things and row.at_s == row.first_s:
                    text = f"a reading of {self.tool} at the time of its heading counts since the boot"
                    report.notice("since-boot", text)
            at_s = float(row.number - origin) if row.at_s is None else row.at_s - origin_s
            last_s = max(last_s, 0.0 if row.at_s is None else at_s)
            for thing, values in row.things.items():
                report.samples.add_row(at_s, thing, values, of_s)
                listed[row.heading, thing] = listed.get((row.heading, thing), 0.0) + of_s
                idle = [values[name] for name in _IDLE if name in values]
                for figure, things in self.busy.items():
                    if idle and row.foots and any(values.values()) and re.fullmatch(things, thing):
                        report.shares.add_row(at_s, figure, {"%": 100 - sum(idle)}, of_s)
        for (heading, thing), listed_s in listed.items():
            # what has a row that was not understood was not idle
            if not re.fullmatch(self.idle, thing) or unread & {*thing.split()[:2]}:
                continue
            # what it did not list was idle, at times that are not kept
            rates = {name: 0.0 for _, name in heading.numbers if _RATE.fullmatch(name)} if heading else {}
            if (idle_s := sum(readings[heading].values()) - listed_s) > 1e-6:
                report.samples.add_row(nan, thing, rates, idle_s)
        if unequal:
            text = f"figures disagree: shares of {unequal:,} rows of {self.tool} do not add up to 100 %"
            report.notice("does-not-foot", text)
        report.seconds = last_s or None
        report.mean_shares()
        return [report]

    def _after_boot(self, rows: Iterator[_Row], report: Report) -> Iterator[_Row]:
        """Rows without those of the first reading, if others follow."""
        first: list[_Row] = []
        for row in rows:
            if row.number:
                text = f"the first reading of {self.tool} counts since the boot: left out; others may count"
                report.notice("since-boot", text)
                yield row._replace(first_s=first[0].at_s)
                yield from rows
                return
            first.append(row)
        if first:
            report.notice("since-boot", f"the only reading of {self.tool} counts since the boot")
            yield from first

    def _rows(self, source: Source, report: Report, boot: bool, unread: set[str]) -> Iterator[_Row]:
        """Rows with the number of their reading. unread: takes the first cells of rows not understood."""
        stamp, timed, number, again, rows = (None, None), None, 0, -1, 0
        comma = has_decimal_commas(source.head())
        seen: set[tuple[Heading | None, str]] = set()
        titles, means = dict[str, str](), dict[str, dict[str, float]]()
        first_s, inline, spans = None, False, _Spans()
        for line, text, heading, begins, own, cells in self._lines(source, report):
            stamped = not (cells or begins)
            inline = inline or not (stamped or own[0] is None)
            read = row_of(heading, cells, comma, titles) if heading and cells else None
            if (cells and not read) or (stamped and inline):
                source.skip(line, text)
                unread.update(cells[:3])
                continue
            entity, things, foots = read or ("", {}, True)
            named = bool(heading and heading.named)
            began_again = begins and boot and not named and 0 < rows < self.page
            before_s, last_s = spans.get(heading, (None, None))
            # other things at another time
            later = own[0] not in (None, last_s) and any(thing for one, thing in seen if one is heading)
            if stamped or began_again or later or (heading, entity) in seen:
                if self.idle:
                    yield from _silent(seen, spans, number, first_s, stamp[1])
                number += any(thing for _, thing in seen) or bool(self.idle and seen)
                seen, stamp = set[tuple[Heading | None, str]](), own if stamped else (None, None)
            at_s, zone = stamp if own[0] is None else own
            if begins:
                seen.add((heading, ""))
                rows, again = 0, number if began_again else again
                first_s = own[0] if first_s is None else first_s
            paused = length_s(last_s, at_s) > 2 * length_s(before_s, last_s) > 0
            if not zone and _leaps(before_s, last_s, at_s):
                report.notice("zone-unknown", f"{self.tool} leaps by an hour: summer time, or a pause")
            if at_s not in (None, last_s) and (begins or read):
                before_s, spans[heading] = last_s, (last_s, at_s)
            if not read:
                continue
            timed = at_s is not None if timed is None else timed
            if timed != (at_s is not None):
                source.skip(line, text)
                continue
            # mpstat prints a heading above each reading; vmstat's page may end where it began again
            first = not (any(thing for _, thing in seen) if named else rows)
            if boot and (first or not number):
                of = {n: v for t in things.values() for n, v in t.items() if named or _OF_BOOT.fullmatch(n)}
                if first and (_is_near(of, means.get(entity)) or (paused and not named)):
                    again = number
                # iostat begins with a banner
                if self.page and not number:
                    means[entity] = of
            seen.add((heading, entity))
            rows += 1
            if again == number:
                text = f"{self.tool} seems to have begun again: a first reading, since the boot, is left out"
                report.notice("since-boot", text)
                continue
            yield _Row(heading, number, first_s, before_s, at_s, zone, things, foots)
        if self.idle:
            yield from _silent(seen, spans, number, first_s, stamp[1])

    def _lines(self, source: Source, report: Report) -> Iterator[_Line]:
        """Lines below their headings. Times of the day go on over midnight, in each section by itself."""
        heading, first_s, day_s = None, None, 0.0
        # the same object for the same names
        headings: dict[tuple[str, ...], Heading | None] = {}
        clocks: dict[Heading | None, float] = {}
        for line, text in source.lines():
            if banner := BANNER.match(text):
                if report.facts.get("host", banner[1]) != banner[1]:
                    raise InputError(f"{source.path}:{line}: another host, {banner[1]}", "split the file")
                report.facts |= {"host": banner[1], "CPUs": banner[3] or "unknown"}
                if day := day_of(banner[2]):
                    day_s = day.toordinal() * DAY_S
                else:
                    said = f"the date {banner[2]} is no day, or one of two: times are those of an unknown day"
                    report.notice("date-unknown", said)
                continue
            if _KNOWN.match(text):
                continue
            day, at_s, zone, rest = time_of(text)
            cells = rest.split()
            names = names_in(cells)
            begins = bool(names) and headings.setdefault(names, self.heading([*names]))
            if begins:
                heading, cells = begins, list[str]()
            if day is not None and at_s is not None:
                at_s += day.toordinal() * DAY_S
            elif at_s is not None:
                # sar prints one section after another, each from the beginning
                first_s = at_s if first_s is None else first_s
                clocks[heading] = next_s(clocks.get(heading, first_s), at_s)
                at_s = day_s + clocks[heading]
            elif not (begins or cells):
                continue
            yield line, text, heading, bool(begins), (at_s, zone), cells


def _weighed(rows: Iterable[_Row]) -> Iterator[tuple[_Row, float]]:
    """Rows with the seconds for which each stands; where unknown, those of the row before or after."""
    early: list[_Row] = []
    of_s = 0.0
    for row in rows:
        of_s = length_s(row.before_s, row.at_s) or of_s or float(row.at_s is None)
        early.append(row)
        if of_s:
            yield from ((one, of_s) for one in early)
            early = []
    yield from ((one, 1.0) for one in early)


def _leaps(before_s: float | None, last_s: float | None, at_s: float | None) -> bool:
    """Whether an interval differs by an hour from the one before it."""
    usual_s = length_s(before_s, last_s)
    moved_s = (at_s or 0.0) - (last_s or 0.0) - usual_s
    return usual_s > 0 and at_s not in (None, last_s) and abs(abs(moved_s) - _HOUR_S) <= _CLOCK_S


def _is_near(of: Mapping[str, float], boot: Mapping[str, float] | None) -> bool:
    """Whether each value equals that of the first reading: a mean since the boot moves by less than 1 %."""
    return bool(boot) and all(abs(v - boot.get(n, -9.0)) <= max(1.0, v / 100) for n, v in of.items())


def _silent(
    seen: Iterable[tuple[Heading | None, str]],
    spans: _Spans,
    number: int,
    first_s: float | None,
    zone: tzinfo | None,
) -> Iterator[_Row]:
    """A row without things for each heading of a reading that lists none."""
    for heading in {one for one, _ in seen} - {one for one, thing in seen if thing}:
        yield _Row(heading, number, first_s, *spans.get(heading, (None, None)), zone, {}, True)
