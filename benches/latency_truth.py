"""Are the latencies true? An open loop against a server whose stall is known to the microsecond.

The null server answers at once, but for one stall of 500 ms. An arrival t after the stall began
waits 500 ms - t, so every quantile is known in advance. A driver that times from dispatch, not
from the intended start, shows one slow answer per client and a p99 of some microseconds.

    python benches/latency_truth.py [--quick] [--json]

Ends with exit code 1 when p99 or maximum is off by more than 1 % and more than 50 us.
"""

from __future__ import annotations

import argparse
import base64
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard import _core

_PORT = 5432
_STALL_MS = 500.0

_STUB = """
import sys
from steelyard import _core
_core.stub_serve(sys.argv[1], sys.argv[2], lambda: print("ready", flush=True))
"""


@dataclass(frozen=True)
class Case:
    """An open loop, and how long it is observed."""

    spacing: str
    rate_per_s: int
    clients: int
    seconds: float

    @property
    def gap_ms(self) -> float:
        """Between two arrivals, in the mean."""
        return 1000 / self.rate_per_s


def cases(quick: bool) -> list[Case]:
    # the p99 of a Poisson process is the wait of the k-th of its n arrivals in the stall, k = n / 100,
    # which spreads by sqrt(k) gaps: 1.6 ms at 8000 a second, so that 1 % of it is three deviations;
    # k is below the number of clients, so none of those k queues behind another
    return [Case("even", 200, 8, 4.0 if quick else 10.0), Case("poisson", 8000, 256, 2.0)]


def expected_ms(case: Case, stall_at_ms: float) -> dict[str, float]:
    """What p99 and maximum must be: by counting even arrivals, in the mean of Poisson ones."""
    if case.spacing == "poisson":
        return {"p99": _STALL_MS - 0.01 * case.seconds * 1000, "max": _STALL_MS - case.gap_ms}
    waits: list[float] = []
    for number in range(round(case.seconds * case.rate_per_s)):
        since = number * case.gap_ms - stall_at_ms
        waits.append(_STALL_MS - since if 0 <= since < _STALL_MS else 0.0)
    waits.sort()
    # HdrHistogram's quantile: the smallest value that has this share of all at or below it
    return {"p99": waits[math.ceil(0.99 * len(waits)) - 1], "max": waits[-1]}


def plan(folder: str, case: Case, io: str) -> dict[str, Any]:
    lookup = {
        "name": "lookup",
        "sql": "select :id",
        "parameters": {"id": {"kind": "uniform", "low": 1, "high": 9}},
    }
    return {
        "server": {
            "host": folder, "port": _PORT, "user": "nobody", "password": None,
            "database": "null", "tls": "disable", "ca_file": None,
        },
        "session": [],
        "text": "identical",
        "distinct_texts": 1,
        "parameters": "client",
        "handle": "named",
        "statements": [lookup],
        "transactions": [{"name": "lookup", "weight": 1.0, "statements": ["lookup"], "begin": False}],
        "arrival": {"kind": "open", "rate_per_s": case.rate_per_s, "spacing": case.spacing},
        "points": [case.clients],
        "warm_up_s": 0,
        "measure_s": case.seconds,
        "cool_down_s": 0,
        "deadline_ms": 10000,
        "threads": 1,
        "seed": 1,
        "io": io,
    }  # fmt: skip


def measured_ms(case: Case, stall_at_ms: float, io: str) -> dict[str, float]:
    """p99 and maximum as the engine tells them; server and engine on different CPUs."""
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpus[-1]})
    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder) / f".s.PGSQL.{_PORT}")
        config = json.dumps({"stall": {"at_s": stall_at_ms / 1000, "for_ms": _STALL_MS}})
        server = subprocess.Popen(
            [sys.executable, "-c", _STUB, address, config], stdout=subprocess.PIPE, text=True
        )
        os.sched_setaffinity(server.pid, {cpus[0]})
        try:
            assert server.stdout is not None
            server.stdout.readline()
            result = json.loads(_core.load_run(json.dumps(plan(folder, case, io)), lambda line: None))
        finally:
            server.kill()
            server.wait()
            os.sched_setaffinity(0, set(cpus))
    row = result["latency"]["statement"].index("transaction")
    histogram = base64.b64decode(result["latency"]["histogram_base64"][row])
    p99_ns, max_ns = _core.histogram_quantiles(histogram, [0.99, 1.0])
    return {"p99": p99_ns / 1e6, "max": max_ns / 1e6}


def main() -> int:
    parser = argparse.ArgumentParser(description="Latencies against a server whose stall is known")
    parser.add_argument("--json", action="store_true", help="the results as JSON on standard output")
    parser.add_argument("--quick", action="store_true", help="1 round in place of 5, and shorter")
    parser.add_argument("--io", default="auto", help="auto, epoll or io_uring")
    options = parser.parse_args()
    rounds = 1 if options.quick else 5
    results: list[dict[str, Any]] = []
    for case in cases(options.quick):
        # between two arrivals: which of them falls into the stall must not hang on microseconds
        stall_at_ms = 1000 + case.gap_ms / 2
        known = expected_ms(case, stall_at_ms)
        told = [measured_ms(case, stall_at_ms, options.io) for _ in range(rounds)]
        for name, truth in known.items():
            values = [one[name] for one in told]
            worst = max(abs(value - truth) for value in values)
            row = {
                "spacing": case.spacing,
                "quantile": name,
                "expected_ms": truth,
                "measured_ms": {"min": min(values), "median": statistics.median(values), "max": max(values)},
                "error_ms": worst,
                "error_percent": 100 * worst / truth,
                "true": worst <= max(0.01 * truth, 0.05),
            }
            results.append(row)
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        for row in results:
            spread = "/".join(f"{row['measured_ms'][part]:.2f}" for part in ("min", "median", "max"))
            print(
                f"{row['spacing']} {row['quantile']}: expected {row['expected_ms']:.2f} ms,"
                f" measured {spread} ms (min/median/max), off by at most {row['error_percent']:.2f} %:"
                f" {'true' if row['true'] else 'NOT TRUE'}"
            )
    return 0 if all(row["true"] for row in results) else 1


if __name__ == "__main__":
    sys.exit(main())
