"""One option of a block in turns: its engine, which obeys commands, its monitors, and its own clock."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from random import Random
from typing import Any

import numpy as np

from steelyard.lab.engines.process import RunningEngine
from steelyard.lab.engines.registry import LoadFailed
from steelyard.lab.engines.result import EngineResult
from steelyard.lab.laboratory import Times
from steelyard.lab.observe.monitoring import Monitoring
from steelyard.lab.run_parts import series_of
from steelyard.run_tables.rows import Columns, Rows
from steelyard.study.study import Slot
from steelyard.subjects import Load

_Readings = list[tuple[int, float]]


@dataclass(frozen=True)
class Turn:
    """One turn of one option, at one load point; times in ns since the run's origin.

    deal, round: from 1; position: its place in the round, from 1. opened_ns, closed_ns: before the readings
    at its head and after those at its end. Between start_ns and measure_ns it settles, until end_ns it is
    measured, until drained_ns requests were under way. transactions: measured; first_half: of these, those
    that began in the first half; all: settling and draining included.
    """

    point: int
    deal: int
    round: int
    position: int
    opened_ns: int
    start_ns: int
    measure_ns: int
    end_ns: int
    drained_ns: int
    closed_ns: int
    transactions: int
    first_half: int
    all: int

    @property
    def measured_share(self) -> float:
        """Share of the turn's work that was measured; without a transaction, of its time."""
        if self.all:
            return self.transactions / self.all
        return (self.end_ns - self.measure_ns) / (self.closed_ns - self.opened_ns)


def own_samples(samples: Columns, turns: Sequence[Turn]) -> Columns:
    """The samples of a run on the option's own clock, which goes on while the option is measured alone.

    Monitors read at both edges of each turn, when nothing is under way. What a counter grew by between them
    is the turn's; of that, the share of the transactions that were measured, for a turn also settles and
    drains. Counters thus grow by what this option used, gauges are those of its turns, and rates over its
    measure phase are per second of its own time. turns: in order of time.
    What was read before the first turn of a load point or after its last one keeps its time; counters stand
    still there, and begin at 0.
    """
    own = _own_starts(turns)
    rows = Rows("samples")
    for (monitor, entity, metric), readings in series_of(samples).items():
        pieces = _pieces(readings, turns)
        of_turns = _counter(pieces, own) if metric.endswith("_total") else _gauge(pieces, own)
        for t_ns, value in of_turns:
            rows.add(t_ns=t_ns, monitor=monitor, entity=entity, metric=metric, value=value)
    return rows.columns()


def _own_starts(turns: Sequence[Turn]) -> dict[Turn, int]:
    """When each turn begins on the own clock, which starts with the first turn of each load point."""
    starts: dict[Turn, int] = {}
    now_ns, point = 0, -1
    for turn in turns:
        if turn.point != point:
            now_ns, point = turn.measure_ns, turn.point
        starts[turn] = now_ns
        now_ns += turn.end_ns - turn.measure_ns
    return starts


def _pieces(readings: _Readings, turns: Sequence[Turn]) -> Iterator[tuple[Turn | None, _Readings]]:
    """The readings of each turn; None: outside of all. What is read between turns of a point is left out."""
    place = 0
    outside: _Readings = []
    for number, turn in enumerate(turns):
        first = not number or turns[number - 1].point != turn.point
        while place < len(readings) and readings[place][0] < turn.opened_ns:
            if first:
                outside.append(readings[place])
            place += 1
        if outside:
            yield None, outside
            outside = []
        begin = place
        while place < len(readings) and readings[place][0] <= turn.closed_ns:
            place += 1
        yield turn, readings[begin:place]
    if place < len(readings):
        yield None, readings[place:]


def _gauge(
    pieces: Iterator[tuple[Turn | None, _Readings]], own: dict[Turn, int]
) -> Iterator[tuple[int, float]]:
    for turn, readings in pieces:
        for t_ns, value in readings:
            if turn is not None:
                t_ns = own[turn] + min(max(t_ns, turn.measure_ns), turn.end_ns) - turn.measure_ns
            yield t_ns, value


def _counter(
    pieces: Iterator[tuple[Turn | None, _Readings]], own: dict[Turn, int]
) -> Iterator[tuple[int, float]]:
    """From 0, and in the turns alone: what a server did outside of them was not for this option."""
    value, point = 0.0, -1
    for turn, readings in pieces:
        if turn is None:
            yield from ((t_ns, value) for t_ns, _ in readings)
        elif readings:
            if turn.point != point:
                point = turn.point
                yield own[turn], value
            value += (readings[-1][1] - readings[0][1]) * turn.measured_share
            yield own[turn] + turn.end_ns - turn.measure_ns, value


# without a turn to learn from
_SETTLE_MS_MIN = 5.0
_TRANSACTIONS_MIN = 5


@dataclass
class Course:
    """The warm-up's turns of one option, of length_ms each.

    profiles: of each turn, transactions that began in each of equal parts of it. sum_ms, squares_ms2: of all
    transactions, latencies and their squares.
    """

    length_ms: float
    profiles: list[Sequence[int]] = field(default_factory=list[Sequence[int]])
    sum_ms: float = 0.0
    squares_ms2: float = 0.0

    @property
    def under_way_ms(self) -> float:
        """Mean length of the transaction that a client is in at a random moment.

        Its time is shared out by length, so long transactions weigh more: sum of squares by sum (Cox 1962,
        "Renewal Theory", section 5.2). The length itself where all are equally long.
        """
        return self.squares_ms2 / self.sum_ms if self.sum_ms else 0.0

    @property
    def settle_ms(self) -> float:
        """The head to leave out, at most half of a turn.

        By the marginal standard error rule of White (1997), "An effective truncation heuristic for bias
        reduction in simulation output", applied to the mean course of the turns: it leaves out what makes
        the standard error of the mean of the rest smallest. A first turn follows on the start of a server
        and is left out where there are others.
        """
        if not self.profiles:
            return _SETTLE_MS_MIN
        course = np.asarray(self.profiles[1:] or self.profiles, np.float64).mean(0)
        parts = len(course)
        errors = [float(np.var(course[head:])) / (parts - head) for head in range(parts // 2 + 1)]
        return max(_SETTLE_MS_MIN, int(np.argmin(errors)) * self.length_ms / parts)

    def head_ms(self, settle_ms: float, chance: Random) -> float:
        """What is left out of one turn: what settles, and a random part of a transaction."""
        return max(settle_ms, self.under_way_ms / 2) + chance.random() * self.under_way_ms


def turn_ms(courses: Iterable[Course], planned_ms: float, measure_ms: float) -> float:
    """How long turns are: as planned, longer for long transactions, at most half of what is measured."""
    under_way_ms = max(course.under_way_ms for course in courses)
    return max(planned_ms, min(_TRANSACTIONS_MIN * under_way_ms, measure_ms / 2))


_LAST_WORDS_S = 5.0
_ENDED: Mapping[str, Any] = {"event": "ended"}


class Lane:
    """start, then connect and turns of each load point, next_point, result. All raise LoadFailed."""

    def __init__(
        self, slot: Slot, load: Load, engine: RunningEngine, monitoring: Monitoring, times: Times
    ) -> None:
        self._times = times
        self.slot = slot
        self.load = load
        self.monitoring = monitoring
        self.turns: list[Turn] = []
        self.engine = engine
        self._events: SimpleQueue[Mapping[str, Any]] = SimpleQueue()
        self._result: EngineResult | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="turns", daemon=True)
        self._limit_s = 0.0

    def start(self, limit_s: float) -> None:
        """Gives the engine its plan, and at most limit_s for the whole block."""
        self._limit_s = limit_s
        self._thread.start()

    def connect(self) -> float:
        """New connections for all clients; milliseconds in which they executed their statements."""
        self._send({"do": "connect"})
        return float(self._await("connected")["primed_ms"])

    def warm_up(self, course: Course) -> None:
        """One turn that is not measured, added to the course."""
        event = self._turn(course.length_ms, 0.0)
        course.profiles.append(event["profile"])
        course.sum_ms += event["sum_ms"]
        course.squares_ms2 += event["squares_ms2"]

    def turn(self, place: Mapping[str, int], settle_ms: float, measure_ms: float) -> Turn:
        """One measured turn. place: its point, deal, round and position."""
        self.monitoring.rest(False)
        opened_ns = self._times.now_ns()
        self.monitoring.read_now()
        event = self._turn(settle_ms, measure_ms)
        self.monitoring.read_now()
        self.monitoring.rest(True)
        closed_ns, origin_ns = self._times.now_ns(), self._times.origin_ns
        turn = Turn(
            **place,
            opened_ns=opened_ns,
            start_ns=event["start_ns"] - origin_ns,
            measure_ns=event["measure_ns"] - origin_ns,
            end_ns=event["end_ns"] - origin_ns,
            drained_ns=event["t_ns"] - origin_ns,
            closed_ns=closed_ns,
            transactions=event["transactions"],
            first_half=event["first_half"],
            all=event["all"],
        )
        self.turns.append(turn)
        return turn

    def next_point(self) -> None:
        """The load point is over; after the last one the engine cools down and ends."""
        self._send({"do": "next"})

    def result(self) -> EngineResult:
        """What the engine counted, when it has ended."""
        self._await("ended")
        if self._result is None:
            raise self._failure or LoadFailed("the load engine ended without a result")
        return self._result

    def stop(self) -> None:
        """Ends engine and monitors now."""
        self.engine.stop()
        self.monitoring.stop()

    def _turn(self, settle_ms: float, measure_ms: float) -> Mapping[str, Any]:
        self._send({"do": "turn", "settle_ms": settle_ms, "measure_ms": measure_ms})
        event = self._await("turn")
        if event["lost"]:
            raise LoadFailed(f"{event['lost']} connections were lost under load: {event['lost_cause']}")
        return event

    def _send(self, command: Mapping[str, Any]) -> None:
        try:
            self.engine.command(command)
        except LoadFailed:
            # the engine's own words, where it left any
            self._thread.join(_LAST_WORDS_S)
            raise self._failure or LoadFailed("the load engine has ended") from None

    def _await(self, name: str) -> Mapping[str, Any]:
        while True:
            event = self._events.get()
            if event["event"] == name:
                return event
            if event is _ENDED:
                raise self._failure or LoadFailed("the load engine ended before its load point was over")

    def _run(self) -> None:
        try:
            self._result = self.engine.result(self._events.put, self._limit_s)
        except BaseException as failure:
            self._failure = failure
        finally:
            self._events.put(_ENDED)
