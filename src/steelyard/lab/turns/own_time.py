"""Samples of a run in turns, on the option's own clock: it goes on only while the option is measured.

Monitors read at both edges of each turn, when nothing is under way. What a counter grew by between them is
the turn's; of that, the share of the transactions that were measured, for a turn also settles and drains.
Counters thus grow by what this option used, gauges are those of its turns, and rates over its measure phase
are per second of its own time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard.lab.run_parts import series_of
from steelyard.run_tables.rows import Columns, Rows

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
    """The samples of a run on its own clock; turns: in order of time.

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
