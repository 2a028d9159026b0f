"""What a format reads from a file: reports, each of one interval of time."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, pairwise
from math import isfinite
from typing import Any, Literal

from steelyard.bundle.evidence import grouped
from steelyard.errors import InputError
from steelyard.recordings.samples import Samples

_ROWS_MAX = 1_000_000
_RATE_S, _RATE_S_MAX, _RATE_COUNT = 100.0, 1e8, 1e4
_IDLE = ("swapper", "default_idle", "poll_idle", "cpu_idle")
# clients begin and end at their own times; the mean has two decimals at least
_CLOSED_LOOP_SLACK = 0.02
# columns that name a row of a table of the bundle: rows of one name are of the same thing
KEYS = {
    "latches": ("latch",),
    "locks": ("role", "lock", "type", "call_site"),
    "profile": ("role", "stack"),
    "latency": ("statement",),
}
COUNTERS = ("gets", "misses", "spin_gets", "sleeps", "wait_ns", "acquisitions", "contended", "wait_total_ns",
            "hold_total_ns", "samples", "count", "distinct_locks")  # fmt: skip
Better = Literal["higher", "lower", "neither"]
Facts = dict[str, str]
Notices = list[tuple[str, str]]
Tables = dict[str, list[dict[str, Any]]]
Pools = Literal["time", "work", "max", "min", "no"]


@dataclass(frozen=True)
class Figure:
    """One number of a report. unit: as the report gives it; '': a number of things.

    pools: how one figure of several intervals is formed: a mean weighted by their length or their work, the
    largest, the smallest; or not at all, as of a percentile.
    """

    name: str
    value: float
    unit: str
    better: Better = "neither"
    pools: Pools = "time"


@dataclass(frozen=True)
class Work:
    """What was done in the interval. by_second: number of the second, done, failed; empty where unknown.

    detail: of two reports on the same run the one with more detail counts. driver: counted by the clients,
    not by the server. foots: it agrees with the other figures of its file; else it is no throughput.
    """

    transactions: int
    errors: int = 0
    by_second: tuple[tuple[int, int, int], ...] = ()
    detail: int = 0
    driver: bool = True
    foots: bool = True

    @property
    def tried(self) -> int:
        """Done or failed."""
        return self.transactions + self.errors


@dataclass
class Report:
    """One report. place: file and line of its beginning. format: its name, which the registry gives.

    server: its name, '' where it gives none. began: by the clock of its machine, with a zone where it tells
    one. seconds: length of the interval.
    shares: readings by figure and unit, of which figures are means.
    rows: values of rows by table of the bundle, without `point`. facts: name and value, for the report.
    notices: code and text.
    """

    place: str
    format: str = ""
    server: str = ""
    began: datetime | None = None
    seconds: float | None = None
    clients: int | None = None
    work: Work | None = None
    figures: list[Figure] = field(default_factory=list[Figure])
    samples: Samples = field(default_factory=Samples)
    shares: Samples = field(default_factory=Samples)
    rows: Tables = field(default_factory=Tables)
    facts: Facts = field(default_factory=Facts)
    notices: Notices = field(default_factory=Notices)

    @property
    def understood(self) -> int:
        """How many numbers, rows and readings it holds."""
        rows = sum(map(len, self.rows.values()))
        return len(self.figures) + len(self.samples) + rows + (self.work is not None)

    @property
    def file(self) -> str:
        """Where it stands, without the line."""
        return self.place.rpartition(":")[0]

    @property
    def numbered(self) -> int:
        """Number of readings that have an order and no times; 0 for others."""
        unknown = "interval-unknown" in dict(self.notices)
        return int(max(self.samples.at_s.max(), 0)) + 1 if unknown and self.samples else 0

    @property
    def detail(self) -> int:
        """Of its work; 0 without any."""
        return self.work.detail if self.work else 0

    def at(self, time: datetime) -> float:
        """Seconds of a time since it began, which is the first time, in a length that reaches it."""
        self.began = self.began or time
        at_s = (time - self.began).total_seconds()
        self.seconds = max(at_s, self.seconds or 0.0) or None
        return at_s

    def rate(self, per_s: float) -> None:
        """Adds work of which a rate alone is known: of its length, 100 s, or as long as its digits take."""
        self.seconds = self.seconds or _RATE_S
        while per_s * self.seconds % 1 and per_s * self.seconds < _RATE_COUNT and self.seconds < _RATE_S_MAX:
            self.seconds *= 10
        self.work = Work(round(per_s * self.seconds))
        self.notice(
            "rates-alone", f"the throughput is given as a rate; counts are those of {self.seconds:g} s"
        )

    def figure(
        self, name: str, value: float | None, unit: str, better: Better = "neither", pools: Pools = "time"
    ) -> None:
        """Adds a figure; none where the value is None."""
        if value is not None:
            self.figures.append(Figure(name, value, unit, better, pools))

    def value(self, name: str) -> float | None:
        """The value of a figure."""
        return next((figure.value for figure in self.figures if figure.name == name), None)

    def mean_shares(self) -> None:
        """Adds the means of its shares as figures."""
        for (name, unit), mean in self.shares.means().items():
            self.figure(name, mean, unit)

    def foot(self, said: str, stated: float, formed: float, slack: float) -> None:
        """Says that figures of a file disagree. slack: the largest difference, as a share, that is none."""
        if abs(stated - formed) > slack * max(abs(stated), abs(formed)):
            self.notice("does-not-foot", f"figures disagree: the file states {said}")
            self.work = self.work and replace(self.work, foots=False)

    def foot_clients(self) -> None:
        """Says that the latencies of a closed loop, where each client waits for its own, exceed its time."""
        mean_ms, clients, seconds = self.value("latency_mean"), self.clients, self.seconds
        if mean_ms and clients and seconds and self.work:
            done, most_ms = self.work.transactions, clients * seconds * 1e3
            said = f"{done:,} of {mean_ms:g} ms by {clients} clients in {seconds:g} s"
            self.foot(said, max(done * mean_ms, most_ms), most_ms, _CLOSED_LOOP_SLACK + 0.005 / mean_ms)

    def notice(self, code: str, text: str) -> None:
        """Adds what a reader must know, once."""
        if (code, text) not in self.notices:
            self.notices.append((code, text))

    def row(self, table: str, **values: Any) -> dict[str, Any]:
        """Adds a row of a table of the bundle, and gives it. Raises InputError for more than memory holds."""
        rows = self.rows.setdefault(table, [])
        rows.append(values)
        if len(rows) > _ROWS_MAX:
            raise InputError(f"{self.place}: more than {_ROWS_MAX:,} rows of {table}", "split the file")
        return values

    def lock(self, lock: str, type_: str = "", call_site: str = "", **values: Any) -> None:
        """Adds a lock, or one of its call sites."""
        self.row("locks", role="", lock=lock, type=type_, call_site=call_site, **values)

    def stack(self, stack: str, samples: int) -> None:
        """Adds a stack of a profile: of an idle CPU where its first function says so."""
        first = stack.partition(";")[0].removesuffix("_[k]")
        self.row("profile", role="idle" if first in _IDLE else "", stack=stack, samples=samples)

    def differences(self, table: str, source: str) -> None:
        """Puts differences in place of rows that count since a start. One that comes again is of the next
        capture. What is neither named nor a counter is kept of one capture alone.

        Counters of one table restart together: where one went back, none is kept.
        """
        if self.samples and self.samples.at_s.max():
            self.notice("interval-unknown", f"{source} tells no times: its readings are numbered")
        key = KEYS[table]
        rows_before = self.rows.pop(table, [])
        captures = grouped((" ".join(row[name] for name in key if row[name]), row) for row in rows_before)
        most = max(map(len, captures.values()), default=0)
        if most == 1:
            self.notice("counted-since-start", f"one capture of {source}: it counts since the start")
        for named, rows in captures.items():
            first, last = rows[0], rows[-1]
            if any(
                then.get(n, v) < v for row, then in pairwise(rows) for n, v in row.items() if n not in key
            ):
                text = f"{source}: the counts of {named} went back between two captures: none is kept"
                self.notice("counter-reset", text)
                self.rows.pop(table, None)
                return
            if len(rows) < most:
                text = f"{source}: {named} is not in all captures: its counts are left out"
                self.notice("capture-missing", text)
            elif most == 1:
                self.row(table, **first)
            else:
                counts = {n: last[n] - v for n, v in first.items() if n in COUNTERS and n in last}
                self.row(table, **{name: first[name] for name in key}, **counts)

    def sample(self, at_s: float, entity: str, metric: str, value: float | None, weight: float = 1.0) -> None:
        """Adds a reading; none where the value is None or no number. weight: in a mean."""
        if value is not None and isfinite(value):
            self.samples.add_row(at_s, entity, {metric: value}, weight)


def seconds_between(first: datetime | None, later: datetime | None) -> float | None:
    """None where one of them is not known, or only one names its zone."""
    if first is None or later is None or (first.tzinfo is None) != (later.tzinfo is None):
        return None
    return (later - first).total_seconds()


def earliest(times: Iterable[datetime | None]) -> datetime | None:
    """The first of those that are known."""
    return min(filter(None, times), key=lambda at: at.replace(tzinfo=None), default=None)


@dataclass
class PlacedRun:
    """One run: its reports by load point, in order of clients; others, of the whole run."""

    option: str
    block: int
    points: list[list[Report]]
    others: list[Report] = field(default_factory=list[Report])

    @property
    def reports(self) -> list[Report]:
        """All of them."""
        return [*chain(*self.points), *self.others]

    @property
    def began(self) -> datetime | None:
        """When its load points began, else its other reports; None where no report tells it."""
        return earliest(r.began for r in chain(*self.points)) or earliest(r.began for r in self.others)

    @property
    def seconds(self) -> float | None:
        """The sum of its load points; of a run without work the longest report."""
        *points, others = (
            max((r.seconds or 0 for r in found), default=0) for found in [*self.points, self.others]
        )
        return sum(points) or others or None


def clients_of(point: Iterable[Report]) -> int | None:
    """Clients of a load point: a summary gives them, a log those that were seen."""
    return next((report.clients for report in sorted(point, key=lambda r: r.detail) if report.clients), None)


def one_clock(runs: Iterable[PlacedRun]) -> bool:
    """Whether all tell when they began, by clocks that name their zones, or by clocks that do not."""
    zones = {run.began and run.began.tzinfo is None for run in runs}
    return len(zones) == 1 and None not in zones
