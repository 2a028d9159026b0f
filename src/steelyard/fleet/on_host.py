"""What runs on a host, in its dask worker: one load engine as a subprocess, and answers to the lab.

The lab sends commands and beats to the worker directly, past the scheduler. An engine whose lab has been
silent for 15 s is killed: it must not load a server for nobody.
"""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from distributed import get_worker, secede

from steelyard.fleet.connection import beat, end_without
from steelyard.lab.engines.jdbc import missing
from steelyard.lab.engines.process import LoadProcess
from steelyard.lab.engines.result import EngineResult, Json, Notice
from steelyard.lab.observe.monitoring import Monitoring
from steelyard.lab.run_parts import Pulse
from steelyard.monitors import Target, made
from steelyard.run_tables.rows import Columns
from steelyard.version import VERSION

_RATES_HZ = {"host": 1.0, "processes": 1.0}


@dataclass(frozen=True)
class HostResult:
    """What the engine of one host counted; times are of its host's CLOCK_MONOTONIC.

    samples: readings of the host's monitors; notices: of those that are missing, code and text.
    """

    result: EngineResult
    samples: Columns
    notices: tuple[Notice, ...]


# by engine_id
engines: dict[str, LoadProcess] = {}


def engine_id(channel: str, host: str) -> str:
    """The id of the engine of a host, of those that share a channel, which begins with the id of its lab."""
    return f"{channel} {host}"


def drive(channel: str, host: str, engine: str, plan: Json) -> HostResult:
    """Runs one engine to its end; its events go to the topic `channel`, with the host. Raises LoadFailed."""
    # it only waits: engines of other options, which take turns, need the worker's thread
    secede()
    worker, cpus = get_worker(), frozenset(os.sched_getaffinity(0))
    process = LoadProcess(engine, plan, cpus)
    engines[engine_id(channel, host)] = process
    over = threading.Event()
    end_without(channel.partition("/")[0], partial(_kill, process.pid), over)
    monitoring = Monitoring(made(_RATES_HZ), Target({"engine": process.pid, "monitors": os.getpid()}), 0)
    monitoring.start(cpus)

    def forward(event: Json) -> None:
        if event["event"] == "phase":
            monitoring.mark()
        worker.log_event(channel, {**event, "host": host})

    try:
        with Pulse():
            result = process.result(forward)
    finally:
        over.set()
        monitoring.stop()
        del engines[engine_id(channel, host)]
        process.stop()
    return HostResult(result, monitoring.columns(), tuple(monitoring.notices))


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def answer_the_lab(dask_worker: Any) -> dict[str, Any]:
    """Makes the worker answer the lab's calls; facts of the host. Runs in the worker's event loop."""
    handlers: dict[str, Any] = dask_worker.handlers
    handlers.update({f"steelyard_{operation.__name__}": operation for operation in _OPERATIONS})
    return {
        "version": VERSION,
        "cpus": len(os.sched_getaffinity(0)),
        "files": os.sysconf("SC_OPEN_MAX"),
        "boot": _text("/proc/sys/kernel/random/boot_id"),
        "ports": [int(port) for port in _text("/proc/sys/net/ipv4/ip_local_port_range").split()],
        "kernel": os.uname().release,
    }


def _text(path: str) -> str:
    with open(path) as file:  # noqa: PTH123  shorter than an import for one line of a kernel's file
        return file.read().strip()


def clock() -> int:
    """This host's CLOCK_MONOTONIC, ns."""
    return time.monotonic_ns()


def runs(engine: str) -> bool:
    """Whether the engine of this id runs."""
    return engine in engines


async def command(engine: str, line: Json) -> bool:
    """Whether the engine of this id runs, and has the command."""
    if (process := engines.get(engine)) is None:
        return False
    # it may still be reading its plan
    await asyncio.to_thread(process.command, line)
    return True


def stop(engine: str) -> bool:
    """Ends the engine of this id, if it runs."""
    if (process := engines.get(engine)) is None:
        return False
    _kill(process.pid)
    return True


def take(part: bytes) -> int:
    """The number of bytes that arrived."""
    return len(part)


async def driver(driver: str) -> tuple[str, str] | None:
    """What this host lacks to load by a JDBC driver, and how to mend it; coordinates are fetched."""
    return await asyncio.to_thread(missing, driver)


_OPERATIONS: tuple[Callable[..., Any], ...] = (beat, runs, command, stop, clock, take, driver)
