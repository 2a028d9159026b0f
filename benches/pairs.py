"""One load on a server of ours, in which seconds with what is tried and seconds without come in pairs.

The order alternates, so that whatever else the machine does meets both alike. The interval is that of
the median of all pairs (bootstrap, percentile method: Efron and Tibshirani 1993, chapter 13).
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from steelyard.host.cpus.scheduling import Placement, place
from steelyard.host.processes.guard import Guard
from steelyard.lab.engines.plan import engine_plan
from steelyard.lab.engines.process import LoadProcess
from steelyard.monitors import Target
from steelyard.run_tables.rows import Columns
from steelyard.study.plan import options
from steelyard.study.study import Slot, Study
from steelyard.subjects import Bench, kind_of
from steelyard.workloads import work_of

_RESAMPLES = 5000


class Switcher(Protocol):
    """Turns on and off what is tried."""

    def run(self, start_ns: int, seconds: int) -> None:
        """Blocks until the last second is over."""
        ...


Tried = TypeVar("Tried", bound=Switcher)


def is_on(second: int) -> bool:
    """on off, off on, on off, ...: a drift of the machine's speed favours neither."""
    return second % 4 in (0, 3)


def pairs_of(seconds: int) -> Iterator[tuple[int, int]]:
    """The second that is on and the one that is off; the first pair warms up."""
    for first in range(2, seconds - 1, 2):
        yield (first, first + 1) if is_on(first) else (first + 1, first)


def spread(ratios: list[float]) -> dict[str, float]:
    """The median and its 95 % interval."""
    chance = random.Random(42)
    medians = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(_RESAMPLES))
    low, high = medians[_RESAMPLES * 25 // 1000], medians[_RESAMPLES * 975 // 1000]
    return {"low": low, "median": statistics.median(ratios), "high": high}


def under_load(
    clients: int,
    pairs: int,
    make: Callable[[Target, Placement], Tried],
    changes: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[dict[int, int], Tried]:
    """Transactions of each second, and what was turned on and off meanwhile. changes: to the study."""
    asked = _study(clients, 2 * pairs, changes)
    placement = place(asked.workload.engine_threads, asked.plan.pin)
    found = options(asked)
    option = found[0]
    threads: list[threading.Thread] = []
    with Guard() as guard:
        folder = Path(tempfile.mkdtemp(prefix="steelyard-bench-"))
        guard.remove_folder(folder)
        bench = Bench(asked, found, {o.label: work_of(o.workload) for o in found}, folder, placement, guard)
        subject = kind_of(asked).make(bench)
        try:
            load = subject.start(option)
            server = load.server
            assert server is not None and server.pid is not None
            subject.reset()
            plan = engine_plan(asked, Slot(block=1, slot=1, option=option), bench.works[option.label], load)
            engine = LoadProcess("load", plan, placement.engine)
            pids = {"engine": engine.pid, "monitors": os.getpid(), "server": server.pid}
            tried = make(Target(pids=pids, dsn=server.dsn), placement)

            def heard(event: Mapping[str, Any]) -> None:
                if event["event"] == "phase" and event["phase"] == "measure":
                    arguments = (event["t_ns"], 2 * pairs)
                    threads.append(threading.Thread(target=tried.run, args=arguments, daemon=True))
                    threads[0].start()

            result = engine.result(heard)
            # its last look is at a server that is still there
            threads[0].join()
            engine.stop()
        finally:
            subject.stop()
            shutil.rmtree(folder, ignore_errors=True)
    return _counts(result.tables), tried


def _study(clients: int, seconds: int, changes: Mapping[str, Any]) -> Study:
    return Study.model_validate(
        {
            "name": "pairs",
            "question": "What does it cost?",
            "subject": {"kind": "postgres"},
            "workload": {"kind": "lookup", "rows": 100_000},
            "factors": {"handle": {"scope": "client", "levels": {"named": "named", "none": "none"}}},
            "plan": {"clients": [clients], "warm_up_s": 1, "measure_s": seconds, "cool_down_s": 0},
            **changes,
        }
    )


def _counts(tables: Mapping[str, Columns]) -> dict[int, int]:
    rows = tables["throughput"]
    return {
        second: count
        for statement, second, count in zip(rows["statement"], rows["second"], rows["count"], strict=True)
        if statement == "transaction" and second >= 0
    }
