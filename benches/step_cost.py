"""CPU of the load engine per statement: a plain list of statements against the same statements by steps.

Both send five statements to a server that answers at once. The steps draw a value, compute one, branch, and
loop over the statements. Engine and server share the machine; rounds alternate, so that whatever else
it does meets both alike; the ratio pairs the two of one round.

    python benches/step_cost.py [--rounds 15] [--core FILE]

--core: another build of the extension, for the plain list: what the steps cost those who do not use them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_STATEMENTS = 5
_STUB = """
import sys
from steelyard import _core
_core.stub_serve(sys.argv[1], '{}', lambda: print("ready", flush=True))
"""
_ENGINE = """
import importlib.util, json, os, resource, sys
spec = importlib.util.spec_from_file_location("_core", sys.argv[1])
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
for line in sys.stdin:
    before = resource.getrusage(resource.RUSAGE_SELF)
    result = json.loads(core.load_run(line, lambda _: True))
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(cpu_s / sum(result["transactions"]["count"]) / 5 * 1e6, flush=True)
"""
_ID = {"kind": "uniform", "low": 1, "high": 100_000}


def plan(folder: str, transaction: dict[str, Any]) -> str:
    """Five lookups per transaction by one client, prepared."""
    server = {
        "host": folder, "port": 5432, "user": "u", "password": None, "database": "d", "tls": "disable",
        "ca_file": None,
    }  # fmt: skip
    return json.dumps(
        {
            "server": server, "session": [], "text": "identical", "distinct_texts": 1,
            "parameters": "client", "handle": "named",
            "statements": [{"name": "lookup", "sql": "select filler from item where id = :id"}],
            "transactions": [{"name": "t", "weight": 1, **transaction}],
            "arrival": {"kind": "closed", "think_ms": 0, "think": "fixed"}, "points": [8], "warm_up_s": 0,
            "measure_s": 1, "cool_down_s": 0, "deadline_ms": 10_000, "threads": 1, "seed": 1, "inspect": [],
        }
    )  # fmt: skip


PLAIN = {"statements": ["lookup"] * _STATEMENTS, "values": {"id": _ID}}
STEPS = {
    "steps": [
        {"do": "draw", "value": "first", "from": _ID},
        {
            "do": "loop",
            "times": _STATEMENTS,
            "index": "n",
            "steps": [
                {"do": "set", "value": "id", "to": ["mod", ["add", "first", ["mul", "n", 17]], 100_000]},
                {
                    "do": "if",
                    "condition": ["lt", "id", 50_000],
                    "then": [{"do": "statement", "name": "lookup"}],
                    "else": [{"do": "statement", "name": "lookup", "rows": "rows"}],
                },
            ],
        },
    ]
}


def engine(core: str) -> subprocess.Popen[str]:
    """A process that runs the plans it reads, with this build of the extension."""
    return subprocess.Popen(
        [sys.executable, "-c", _ENGINE, core], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def cost_us(process: subprocess.Popen[str], asked: str) -> float:
    """CPU per statement of one run."""
    assert process.stdin and process.stdout
    process.stdin.write(asked + "\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def main() -> None:
    """Prints the costs, and their ratio with its interval."""
    from steelyard import _core

    ours = str(_core.__file__)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--core", default=ours)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder) / ".s.PGSQL.5432"
        server = subprocess.Popen([sys.executable, "-c", _STUB, str(socket)], stdout=subprocess.PIPE)
        assert server.stdout
        server.stdout.readline()
        plain, other, steps = engine(ours), engine(given.core), engine(ours)
        costs: dict[str, list[float]] = {"plain": [], "other core": [], "steps": []}
        try:
            for _ in range(given.rounds):
                costs["plain"].append(cost_us(plain, plan(folder, PLAIN)))
                costs["other core"].append(cost_us(other, plan(folder, PLAIN)))
                costs["steps"].append(cost_us(steps, plan(folder, STEPS)))
        finally:
            for process in (plain, other, steps, server):
                process.kill()
    for name, values in costs.items():
        print(f"{name:12} {statistics.median(values):.3f} us CPU per statement")
    for name, over in (("steps", "plain"), ("plain", "other core")):
        ratios = sorted(a / b for a, b in zip(costs[name], costs[over], strict=True))
        quarter = len(ratios) // 4
        print(
            f"{name} / {over}: {statistics.median(ratios):.3f}"
            f" (middle half {ratios[quarter]:.3f} to {ratios[-1 - quarter]:.3f})"
        )


if __name__ == "__main__":
    main()
