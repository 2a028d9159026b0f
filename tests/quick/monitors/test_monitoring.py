"""The cost of monitors is what they take from the load."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from steelyard.lab.observe.monitoring import Monitoring
from steelyard.monitors import Sample, Target, Unavailable


class Costly:
    """A reading takes CPU time."""

    def open(self, target: Target) -> None:
        pass

    def read(self) -> Iterator[Sample]:
        end = time.thread_time() + 0.002
        while time.thread_time() < end:
            pass
        yield Sample("server", "processes", 1)

    def close(self) -> None:
        pass


def costs_ns(*readings: str) -> list[float]:
    monitoring = Monitoring({"costly": (Costly(), 0.001)}, Target(), time.monotonic_ns())
    monitoring.rest(True)
    monitoring.start(frozenset(os.sched_getaffinity(0)))
    for reading in readings:
        getattr(monitoring, reading)()
    monitoring.stop()
    columns = monitoring.columns()
    rows = zip(columns["monitor"], columns["metric"], columns["value"], strict=True)
    return [value for monitor, metric, value in rows if (monitor, metric) == ("monitors", "cpu_ns_total")]


def test_a_reading_while_no_option_loads_the_server_costs_the_load_nothing() -> None:
    between = costs_ns("read_now", "read_now")
    assert len(between) >= 3 and set(between[:2]) == {0}
    assert between[-1] >= 2e6  # the last one, while the load may still run


class Refused(Costly):
    """Its server takes the connection and refuses the first query."""

    closed = False

    def open(self, target: Target) -> None:
        raise Unavailable("not allowed")

    def close(self) -> None:
        self.closed = True


def test_a_monitor_that_cannot_be_opened_leaves_no_connection() -> None:
    refused = Refused()
    monitoring = Monitoring({"refused": (refused, 1.0)}, Target(), time.monotonic_ns())
    assert refused.closed and monitoring.notices == [("monitor-unavailable", "refused: not allowed")]
