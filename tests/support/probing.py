"""Processes that the kernel's probes look at for some seconds."""

from __future__ import annotations

import collections
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from steelyard import _core
from steelyard.host.kernel import mount_tracefs

HZ = 99
BUSY = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: sum(range(1000))"


def probe(pids: dict[str, int], **asked: Any) -> _core.Probe:
    roots = [{"pid": pid, "role": role} for role, pid in pids.items()]
    return _core.Probe(json.dumps({"roots": roots, **asked}))


mount_tracefs()
needs_perf_events = pytest.mark.skipif(
    bool(probe({}, profile_hz=HZ, locks=True, sched=True).refused),
    reason="this user may not open perf events of all CPUs: see `steelyard doctor`",
)


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def looked_at(it: _core.Probe, seconds: float) -> dict[str, Any]:
    start_ns = time.monotonic_ns()
    it.open("measure", 0, start_ns, start_ns + int(seconds * 1e9))
    time.sleep(seconds)
    it.close()
    told = it.finish()
    assert told is not None
    return json.loads(told)


def samples(told: dict[str, Any], role: str) -> dict[str, int]:
    """By function, where it ran."""
    found: collections.Counter[str] = collections.Counter()
    table = told["profile"]
    for of, stack, count in zip(table["role"], table["stack"], table["samples"], strict=True):
        if of == role:
            found[stack.split(";")[-1]] += count
    return dict(found)
