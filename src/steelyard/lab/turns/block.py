"""Runs one block in turns: servers and engines of all options are up, one of them at a time is under load.

The order of turns: deals of connections, rounds within a deal, options within a round.

The order within a round is random, so what neighbours of the machine do weighs on all options alike; rounds
come in pairs, an order and its reverse, so that each option has each place equally often and a steady drift
cancels. Two sets of connections to one server differ for as long as they live, and no number of rounds
averages that out: each deal gives every option new connections.
"""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from steelyard.host.processes.limits import TimedOut
from steelyard.lab import run_parts
from steelyard.lab.engines.plan import LIFE_PER_PRIMING, engine_limit_s, engine_plan
from steelyard.lab.engines.result import EngineResult, LoadFailed
from steelyard.lab.environment.redaction import redacted_run
from steelyard.lab.laboratory import Laboratory, Times
from steelyard.lab.observe.probes import not_in_turns
from steelyard.lab.turns.lane import Course, Lane, own_samples, turn_ms
from steelyard.run_tables.rows import Columns, Rows
from steelyard.study.study import Plan, Slot
from steelyard.subjects import Load, SharedSubject, started

_AFTER_S = 0.3
# of a turn, for what monitors read at its edges
_OF_READINGS = ("opened_ns", "closed_ns", "all")
# new sessions plan and cache their statements within a few executions
_PRIME_MS = 100.0
# what differs between sets of connections weighs more than a round's scatter; to connect costs about 100 ms
_DEAL_MS = 600
# on two cores: readings of the monitors; new connections and their first load
_TURN_OVERHEAD_S = 0.012
_DEAL_OVERHEAD_S = 0.15
# of a turn, the typical head that settles
_SETTLE_SHARE = 0.3
_Order = tuple[int, ...]  # numbers of options


def runs_in_turns(laboratory: Laboratory, slots: Sequence[Slot], attempt: int) -> Iterator[run_parts.Run]:
    """The runs of a block, all at its end; only the void one when an option failed."""
    block = _Block(laboratory, slots)
    times = block.times
    runs: list[run_parts.Run] = []
    cause = ""
    try:
        with ExitStack() as opened:
            opened.callback(laboratory.host.restore)
            for lane, result in block.measured(opened):
                tables = block.tables(lane, result)
                runs.append(laboratory.finished(lane.slot, attempt, lane.load, times, result, tables))
    except (LoadFailed, TimedOut, *laboratory.kind.driver_errors) as error:
        cause = "; ".join(filter(None, (str(error).strip(), block.interruption())))
    finally:
        logs = [subject.stop() for subject in laboratory.subjects]
    seconds = times.now_ns() / 1e9 / len(slots)
    if cause:
        log = logs[block.servers[block.current.option.label]]
        runs = [run_parts.Run(block.current, attempt, "void", cause, times.began_at, 0.0, server_log=log)]
    for run in sorted(runs, key=lambda run: run.slot.slot):
        yield redacted_run(replace(run, seconds=seconds), laboratory.study)


class _Block:
    """current: the slot of the option at work, which a failure is the failure of."""

    def __init__(self, laboratory: Laboratory, slots: Sequence[Slot]) -> None:
        self._laboratory = laboratory
        self._slots = slots
        self.times = Times()
        self.current = slots[0]
        self._loads: dict[str, Load] = {}
        self.servers = laboratory.servers
        self._turned_ms = 0.0
        self._chance = Random(f"{laboratory.study.plan.seed} {slots[0].block}")

    def measured(self, opened: ExitStack) -> Iterator[tuple[Lane, EngineResult]]:
        """Starts all, lets each load point take its turns, ends all; each option with its result."""
        self._start()
        loads = [(slot, self._loads[slot.option.label]) for slot in self._slots]
        times = self.times
        times.set_up_ns = times.now_ns()
        # each engine is there while the others have their turns
        limit_s = sum(engine_limit_s(self._laboratory.study, slot, load) for slot, load in loads)
        lanes = [self._lane(slot, load, limit_s, opened) for slot, load in loads]
        self._turned(0.0)
        with run_parts.Pulse():
            for point in range(len(self._laboratory.study.plan.clients)):
                self._point(lanes, point)
        results: list[EngineResult] = []
        for lane in self._each(lanes):
            results.append(lane.result())
            run_parts.refuse_interrupted(lane.load, results[-1])
        self._laboratory.numbers.add(max(result.facts.numbered or 0 for result in results))
        # options that share a server share its data
        for lane in {self.servers[lane.slot.option.label]: lane for lane in lanes}.values():
            self.current = lane.slot
            work = self._laboratory.works[lane.slot.option.label]
            run_parts.refuse_inconsistent(self._laboratory.study, work, lane.load)
        times.after_ns = times.now_ns()
        for lane in lanes:
            lane.monitoring.rest(False)
        time.sleep(_AFTER_S)
        for lane in lanes:
            lane.stop()
        times.end_ns = times.now_ns()
        for lane, result in zip(lanes, results, strict=True):
            self.current = lane.slot
            yield lane, result

    def interruption(self) -> str:
        """How the server of the current option was interrupted, as a sentence; '' where it was not."""
        load = self._loads.get(self.current.option.label)
        if load is None or load.server is None:
            return ""
        try:
            return load.server.interruption()
        except (TimedOut, *self._laboratory.kind.driver_errors) as error:
            return f"the server does not answer: {error}"

    def tables(self, lane: Lane, result: EngineResult) -> dict[str, Columns]:
        """The tables of one run on its own clock."""
        samples = own_samples(lane.monitoring.columns(), lane.turns)
        notices = (*lane.monitoring.notices, *not_in_turns(self._laboratory.study, lane.load.server))
        tables = self._laboratory.tables_of(lane.slot, lane.load, result, self.times, [samples], notices)
        return {**tables, "turns": _turns(lane)}

    def _start(self) -> None:
        """The load of every option; options that differ in client and session only share a server."""
        running = set[int]()
        for slot in self._slots:
            self.current, label = slot, slot.option.label
            server = self.servers[label]
            subject = self._laboratory.subjects[server]
            start = partial(started, subject)
            if server in running:
                assert isinstance(subject, SharedSubject)
                start = subject.join
            running.add(server)
            self._loads[label] = self._laboratory.begun(slot, start)

    def _lane(self, slot: Slot, load: Load, limit_s: float, opened: ExitStack) -> Lane:
        self.current, laboratory = slot, self._laboratory
        work = laboratory.works[slot.option.label]
        numbers = laboratory.numbers.of(self._slots.index(slot), len(self._slots))
        plan = {**engine_plan(laboratory.study, slot, work, load, numbers), "turns": True}
        engine = laboratory.engine(load, plan)
        opened.callback(engine.stop)
        _, _, monitoring = laboratory.observed(slot, load, engine, self.times.origin_ns)
        opened.callback(monitoring.stop)
        monitoring.rest(True)
        monitoring.start(laboratory.placement.engine)
        return Lane(slot, load, engine, monitoring, self.times, limit_s)

    def _point(self, lanes: Sequence[Lane], point: int) -> None:
        plan = self._laboratory.study.plan
        primed_ms = max(lane.connect() for lane in self._each(self._chance.sample(lanes, len(lanes))))
        courses = {lane: Course(plan.turn_ms) for lane in lanes}
        for _ in range(_warm_up_turns(plan)):
            for lane in self._each(lanes):
                lane.warm_up(courses[lane])
                self._turned(plan.turn_ms)
        length_ms = turn_ms(courses.values(), plan.turn_ms, plan.measure_s * 1000)
        settle_ms = max(course.settle_ms for course in courses.values())
        share_ms = rounds_of(plan) * plan.turn_ms
        plan = plan.model_copy(update={"turn_ms": length_ms})
        share_ms /= rounds_of(plan)
        number = 0
        for deal, planned in enumerate(deals(len(lanes), plan, self._chance, primed_ms), start=1):
            for lane in self._each([lanes[index] for index in planned.connects] if deal > 1 else ()):
                lane.connect()
                lane.warm_up(Course(_PRIME_MS))
            for order in planned.rounds:
                number += 1
                for position, lane in enumerate(self._each([lanes[index] for index in order]), start=1):
                    place = {"point": point, "deal": deal, "round": number, "position": position}
                    turn = lane.turn(place, courses[lane].head_ms(settle_ms, self._chance), length_ms)
                    self._laboratory.progress.tick(turn.transactions / (length_ms / 1000))
                    self._turned(share_ms)
        for lane in self._each(lanes):
            self._laboratory.host.confirm(
                lane.slot.option, run_parts.root_processes(lane.load, lane.engine.pid)
            )
            lane.next_point()

    def _turned(self, load_ms: float) -> None:
        """Reports that so much more of the block's load as planned is done."""
        plan = self._laboratory.study.plan
        each_ms = (_warm_up_turns(plan) + rounds_of(plan)) * plan.turn_ms
        self._turned_ms += load_ms
        whole_ms = each_ms * len(self._slots) * len(plan.clients)
        self._laboratory.progress.turned(self._turned_ms / whole_ms)

    def _each(self, lanes: Sequence[Lane]) -> Iterator[Lane]:
        """The lanes; each is the current one while it is at work."""
        for lane in lanes:
            self.current = lane.slot
            self._laboratory.host.change(lane.slot.option)
            self._laboratory.progress.run_started(lane.slot.option.label, lane.slot.block, lane.slot.slot)
            yield lane


def _warm_up_turns(plan: Plan) -> int:
    return math.ceil(plan.warm_up_s * 1000 / plan.turn_ms)


def _turns(lane: Lane) -> Columns:
    rows = Rows("turns")
    for turn in lane.turns:
        rows.add(**{name: value for name, value in vars(turn).items() if name not in _OF_READINGS})
    return rows.columns()


@dataclass(frozen=True)
class Deal:
    """Rounds between changes of connections. connects: options as they connect; rounds: order of turns."""

    connects: _Order
    rounds: tuple[_Order, ...]


def rounds_of(plan: Plan) -> int:
    """Rounds of one load point: as many turns as measure_s holds, an even number."""
    return max(2, 2 * math.ceil(plan.measure_s * 1000 / plan.turn_ms / 2))


def overhead_s(plan: Plan) -> float:
    """Typical time of one option at one load point beside warm-up and turns: to settle and to connect."""
    rounds = rounds_of(plan)
    settle_s = _SETTLE_SHARE * plan.turn_ms / 1000
    return (
        rounds * (_TURN_OVERHEAD_S + settle_s) + math.ceil(rounds / _rounds_of_deal(plan)) * _DEAL_OVERHEAD_S
    )


def deals(options: int, plan: Plan, chance: Random, primed_ms: float = 0.0) -> Iterator[Deal]:
    """The deals of one load point, each of about 0.6 s of load per option, at least a pair of rounds.

    primed_ms: what new connections take before their load; a deal lasts at least four times as long.
    """
    rounds = rounds_of(plan)
    least_ms = LIFE_PER_PRIMING * primed_ms
    of_deal = max(_rounds_of_deal(plan), 2 * math.ceil(least_ms / plan.turn_ms / 2))
    for first in range(0, rounds, of_deal):
        orders: list[_Order] = []
        for _ in range(min(of_deal, rounds - first) // 2):
            order = _shuffled(options, chance)
            orders += [order, order[::-1]]
        yield Deal(_shuffled(options, chance), tuple(orders))


def _rounds_of_deal(plan: Plan) -> int:
    return max(2, 2 * round(_DEAL_MS / plan.turn_ms / 2))


def _shuffled(options: int, chance: Random) -> _Order:
    order = list(range(options))
    chance.shuffle(order)
    return tuple(order)
