"""The engines of several hosts as one: the plan divided, commands to all, events of all as one."""

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from steelyard.fleet.bus import Bus
from steelyard.fleet.connection import Offset, drift_ns
from steelyard.fleet.merge import Part, Repeats, began_ns, merged
from steelyard.fleet.on_host import HostResult, drive, engine_id
from steelyard.lab.engines.result import EngineResult, Json, LoadFailed, OnEvent, joined, noticed
from steelyard.run_tables.questions import asked
from steelyard.run_tables.rows import Columns, Rows

_LOOK_S = 0.2
# a command needs so long to every host, with a margin: the common start is that far away. One of a load point
# may be late by it; one of a turn follows the slowest of the last commands, as it is time without load
_LEAD_NS, _LEAD_OF_TURN_NS, _LEAD_OF_HOST_NS = 400_000_000, 50_000_000, 2_000_000
_SLOWEST_TIMES, _LAST = 2, 20
_STARTED_S = 30.0
# of the events of a turn (crates/load/src/engine/turns.rs)
_SUMS = ("transactions", "first_half", "all", "lost", "sum_ms", "squares_ms2")

_LOAD = """
select $1 as host, point, count(client) as clients, coalesce(sum(transactions), 0)::bigint as transactions,
    coalesce(sum(clients.errors), 0)::bigint as errors, any_value(began_ns)::bigint as began_ns, histogram
from latency left join clients using (point) join began on began.rowid = point
where statement = 'transaction' group by point, histogram order by point
"""


class FleetEngine:
    """One engine on each host of the bus. It has no process here: pid is None."""

    pid = None

    def __init__(
        self, bus: Bus, engine: str, plan: Json, task: Callable[[str, str, str, Json], HostResult] = drive
    ) -> None:
        """task: what runs on each host."""
        bus.check()
        self._bus = bus
        self._channel = f"{bus.lab}/{uuid4().hex}"
        self._events = SimpleQueue[tuple[str, Json | None]]()
        self._waiting: dict[tuple[str, int], dict[str, Json]] = {}
        self._ticks: dict[str, Json] = {}
        self._phase: tuple[str, int] | None = None
        self._commanded = self._stopped = False
        self._took_ns = deque([0], maxlen=_LAST)
        self._turn: Json = {}
        self._repeats = Repeats()
        self.clocks: Mapping[str, Offset] = bus.offsets()
        bus.subscribe(self._channel, lambda event: self._events.put((event["host"], event)))
        self._tasks: dict[str, Any] = {}
        for number, host in enumerate(bus.hosts):
            own = {**plan, "share": {"host": number, "hosts": len(bus.hosts)}}
            future = bus.submit(host, task, self._channel, host, engine, own)
            future.add_done_callback(partial(self._end, host))
            self._tasks[host] = future

    def result(self, on_event: OnEvent, limit_s: float = math.inf) -> EngineResult:
        """The merged result of all; on_event gets each event once. Raises LoadFailed with the host's name."""
        began_s, ended = time.monotonic(), dict[str, HostResult]()
        while len(ended) < len(self._tasks):
            self._bus.check()
            if self._stopped:
                raise LoadFailed("the load engines were stopped")
            if time.monotonic() - began_s > limit_s:
                late = ", ".join(host for host in self._tasks if host not in ended)
                raise LoadFailed(f"not finished after {limit_s:.0f} s: {late}")
            try:
                host, event = self._events.get(timeout=_LOOK_S)
            except Empty:
                continue
            if event is None:
                ended[host] = self._ended(host)
            else:
                self._handle(host, event, on_event)
        after = self._bus.offsets()
        parts = [Part(host, self.clocks[host], ended[host]) for host in self._tasks]
        result = merged(parts)
        tables = {**result.tables, **host_tables(parts, after)}
        if notice := self._repeats.notice:
            tables = noticed(tables, [("turns-repeated", notice)])
        return EngineResult(result.engine, tables, result.facts)

    def command(self, command: Json) -> None:
        """Sends a command to all engines, while result() runs in another thread. Raises LoadFailed."""
        self._await_start()
        if command["do"] != "turn":
            return self._send(dict.fromkeys(self._tasks, command))
        self._turn = command
        return self._send_at(self._lead_of_turn_ns, command)

    def stop(self) -> None:
        """Ends all engines now; has no effect when they have ended."""
        if self._stopped:
            return
        self._stopped = True
        self._bus.unsubscribe(self._channel)
        running = [host for host, task in self._tasks.items() if not task.done()]
        # a host that cannot be reached kills an engine whose lab is silent
        with suppress(LoadFailed):
            self._bus.call("stop", {host: {"engine": engine_id(self._channel, host)} for host in running})

    def _end(self, host: str, _: Any) -> None:
        self._events.put((host, None))

    def _ended(self, host: str) -> HostResult:
        try:
            return self._tasks[host].result()
        except LoadFailed as failure:
            raise LoadFailed(f"host {host}: {failure}") from None
        except Exception as error:
            # dask has many exceptions for a worker that died
            raise self._bus.lost(host, str(error)) from None

    def _handle(self, host: str, event: Json, on_event: OnEvent) -> None:
        match event["event"]:
            case "tick":
                self._ticks[host] = event
                if host == next(iter(self._tasks)):
                    total = sum(int(tick["transactions"]) for tick in self._ticks.values())
                    on_event({**self._here(host, event), "transactions": total})
            case "phase":
                phase = str(event["phase"]), int(event["point"])
                if phase != self._phase:
                    self._phase = phase
                    on_event(self._here(host, event))
            case "ready" | "connected" | "turn":
                self._gather(host, event, on_event)
            case "late":
                self._gather(host, {**event, "event": "turn"}, on_event)
            case _:
                pass

    def _gather(self, host: str, event: Json, on_event: OnEvent) -> None:
        """An event that counts when all hosts have sent it."""
        name = str(event["event"]), int(event["point"])
        found = self._waiting.setdefault(name, {})
        found[host] = self._here(host, event)
        if len(found) < len(self._tasks):
            return
        del self._waiting[name]
        if name[0] == "ready":
            self._send_at(_LEAD_NS, {"do": "start"})
        elif late := {host: event["late_ms"] for host, event in found.items() if "late_ms" in event}:
            self._repeats.add(late, sum(event.get("all", 0) for event in found.values()))
            late_ns = int(max(late.values()) * 1e6)
            self._send_at(max(self._lead_of_turn_ns, _SLOWEST_TIMES * late_ns), {**self._turn, "again": True})
        else:
            whole = _together(list(found.values()))
            on_event({**whole, "all": whole["all"] + self._repeats.over()} if name[0] == "turn" else whole)

    @property
    def _lead_of_turn_ns(self) -> int:
        return max(_LEAD_OF_TURN_NS, _SLOWEST_TIMES * max(self._took_ns))

    def _send_at(self, lead_ns: int, command: Json) -> None:
        """Sends a command that all carry out at one instant, each on its own clock."""
        start_ns = time.monotonic_ns() + lead_ns + _LEAD_OF_HOST_NS * len(self._tasks)
        self._send(
            {host: {**command, "at_ns": clock.to_host(start_ns)} for host, clock in self.clocks.items()}
        )

    def _send(self, commands: Mapping[str, Json]) -> None:
        calls = {
            host: {"engine": engine_id(self._channel, host), "line": dict(command)}
            for host, command in commands.items()
        }
        sent_ns = time.monotonic_ns()
        answers = self._bus.call("command", calls)
        self._took_ns.append(time.monotonic_ns() - sent_ns)
        for host, runs in answers.items():
            if not runs:
                raise LoadFailed(f"host {host}: the load engine has ended")

    def _await_start(self) -> None:
        """Until every engine runs: before the first command of a plan in turns."""
        limit_s = time.monotonic() + _STARTED_S
        while not self._commanded:
            there = self._bus.call(
                "runs", {host: {"engine": engine_id(self._channel, host)} for host in self._tasks}
            )
            self._commanded = all(there.values())
            if not self._commanded and time.monotonic() > limit_s:
                names = ", ".join(host for host, runs in there.items() if not runs)
                raise LoadFailed(f"the load engine did not start on {names}")

    def _here(self, host: str, event: Json) -> Json:
        """The event with its times on the lab's clock."""
        clock = self.clocks[host]
        return {
            key: clock.to_lab(value) if key.endswith("_ns") else value
            for key, value in event.items()
            if key != "host"
        }


def _together(events: Sequence[Json]) -> Json:
    """Events of all hosts as one: counts added, the first start, the last end."""
    found = dict(events[0])
    for key, value in found.items():
        values = [event[key] for event in events]
        if key in ("start_ns", "measure_ns"):
            found[key] = min(values)
        elif key.endswith("_ns") or key == "primed_ms":
            found[key] = max(values)
        elif key == "profile":
            found[key] = [sum(parts) for parts in zip(*values, strict=True)]
        elif key == "lost_cause":
            found[key] = next((cause for cause in values if cause), value)
        elif key in _SUMS:
            found[key] = sum(values)
    return found


def host_tables(parts: Sequence[Part], after: Mapping[str, Offset]) -> dict[str, Columns]:
    """The tables hosts, host_load and host_samples; after: offsets when the run was over."""
    hosts, load, samples = Rows("hosts"), list[Columns](), list[Columns]()
    for part in parts:
        clock, later = part.clock, after[part.host]
        hosts.add(
            host=part.host,
            offset_ns=clock.offset_ns,
            bound_ns=clock.bound_ns,
            drift_ns=drift_ns(clock, later),
            drift_bound_ns=clock.bound_ns + later.bound_ns,
            drift_after_ns=later.at_ns - clock.at_ns,
        )
        # a row per load point: its clients, its transactions, their latency
        began = {"began_ns": began_ns(part)}
        load.append(asked(_LOAD, {**part.own.result.tables, "began": began}, part.host))
        for own in (part.own.samples, part.own.result.tables["samples"]):
            t_ns = list(map(clock.to_lab, own["t_ns"]))
            samples.append({**own, "host": [part.host] * len(t_ns), "t_ns": t_ns})
    whole = {"host_load": joined("host_load", *load), "host_samples": joined("host_samples", *samples)}
    return {"hosts": hosts.columns(), **whole}
