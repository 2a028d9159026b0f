"""One option of a block in turns: its engine, which obeys commands, its monitors, and its own clock."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from random import Random

import numpy as np

from steelyard.lab.engines.process import RunningEngine
from steelyard.lab.engines.result import EngineResult, Json, LoadFailed
from steelyard.lab.laboratory import Times
from steelyard.lab.observe.monitoring import Monitoring
from steelyard.run_tables.questions import asked
from steelyard.run_tables.rows import Columns
from steelyard.study.study import Slot
from steelyard.subjects import Load

# of a turn: what places readings on the own clock
_CLOCK = ("point", "opened_ns", "measure_ns", "end_ns", "closed_ns", "measured_share")
# the own clock starts with the first turn of each load point; what is read between turns of one is left out
_OWN = """
with own as (
    select *, lead(point) over (order by opened_ns) is distinct from point as is_last,
        first(measure_ns) over at_point - end_ns + measure_ns
            + sum(end_ns - measure_ns) over at_point as own_ns
    from of_turns window at_point as (partition by point order by opened_ns)
), placed as (
    select *, if(t_ns <= closed_ns, opened_ns, null) as turn
    from samples asof left join own on t_ns >= opened_ns
    where t_ns <= closed_ns or is_last is not false
), edges as (
    select *, ends_with(metric, '_total') as counts,
        row_number() over (partition by monitor, entity, metric, point, turn is null order by t_ns) = 1
            as opens,
        lead(turn) over series is distinct from turn as ends,
        if(lag(turn) over series = turn, value - lag(value) over series, 0) * measured_share as grown
    from placed window series as (partition by monitor, entity, metric order by t_ns)
), moments as (
    select *, sum(coalesce(grown, 0)) over (partition by monitor, entity, metric order by t_ns) as total, case
        when turn is null then [t_ns]
        when not counts then [own_ns + greatest(least(t_ns, end_ns), measure_ns) - measure_ns]
        else [if(opens, own_ns, null), if(ends, own_ns + end_ns - measure_ns, null)] end as times
    from edges
)
select unnest(list_filter(times, lambda t: t is not null))::bigint as t_ns, monitor, entity, metric,
    if(counts, total, value) as value
from moments order by monitor, entity, metric, moments.t_ns, 1
"""


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
    clock = {name: [getattr(turn, name) for turn in turns] for name in _CLOCK}
    return asked(_OWN, {"samples": samples, "of_turns": clock})


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
_ENDED: Json = {"event": "ended"}


class Lane:
    """connect and turns of each load point, next_point, then result. All raise LoadFailed."""

    def __init__(
        self,
        slot: Slot,
        load: Load,
        engine: RunningEngine,
        monitoring: Monitoring,
        times: Times,
        limit_s: float,
    ) -> None:
        """Gives the engine its plan, and at most limit_s for the whole block."""
        self._times = times
        self.slot = slot
        self.load = load
        self.monitoring = monitoring
        self.turns: list[Turn] = []
        self.engine = engine
        self._events = SimpleQueue[Json]()
        self._result: EngineResult | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(limit_s,), name="turns", daemon=True)
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
        moments = {name: event[name] - origin_ns for name in ("start_ns", "measure_ns", "end_ns")}
        counts = {name: event[name] for name in ("transactions", "first_half", "all")}
        drained_ns = event["t_ns"] - origin_ns
        turn = Turn(
            **place, **moments, **counts, opened_ns=opened_ns, drained_ns=drained_ns, closed_ns=closed_ns
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

    def _turn(self, settle_ms: float, measure_ms: float) -> Json:
        self._send({"do": "turn", "settle_ms": settle_ms, "measure_ms": measure_ms})
        event = self._await("turn")
        if event["lost"]:
            raise LoadFailed(f"{event['lost']} connections were lost under load: {event['lost_cause']}")
        return event

    def _send(self, command: Json) -> None:
        try:
            self.engine.command(command)
        except LoadFailed:
            # the engine's own words, where it left any
            self._thread.join(_LAST_WORDS_S)
            raise self._failure or LoadFailed("the load engine has ended") from None

    def _await(self, name: str) -> Json:
        while True:
            event = self._events.get()
            if event["event"] == name:
                return event
            if event is _ENDED:
                raise self._failure or LoadFailed("the load engine ended before its load point was over")

    def _run(self, limit_s: float) -> None:
        try:
            self._result = self.engine.result(self._events.put, limit_s)
        except BaseException as failure:
            self._failure = failure
        finally:
            self._events.put(_ENDED)
