"""How narrow, and how honest, the intervals are: options in turns, one after another, and without a lab.

    python benches/precision.py --simulate 1000      # false verdicts and coverage, of simulated machines
    python benches/precision.py --live --seconds 30 60 120 [--neighbours]
    python benches/precision.py --identical 40       # real studies of the same option twice, with neighbours

Simulated machines have a speed that wanders (AR(1), 2 s), drifts and breaks down when neighbours come and
go; starts of servers and sets of connections differ by 2 %. Live, all methods answer the same question on
the same machine one after another: simple or prepared statements on PostgreSQL, 8 clients. `pgbench pairs`:
runs of 1 s, both modes in random order per pair, on one server; paired t interval. `means`: all runs of one
mode, then all of the other; Welch's interval. Neighbours: processes that compute, for 1 to 4 s at a time, as
many at once as CPUs, with pauses of 2 to 8 s.
"""

# pyright: basic
from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
from scipy import stats

from driver_cost import Server, postgres
from evidence import Truth, evidence_of, study_of
from steelyard.analysis.judge import judge
from steelyard.lab.turns.block import deals
from steelyard.study.study import Plan
from truth import wilson

STUDY = """\
name = "precision"
question = "Which is faster, by how much?"
subject.kind = "postgres"
workload = {{ kind = "lookup", rows = 100_000 }}
[factors.handle]
scope = "client"
levels = {{ {levels} }}
[plan]
clients = [8]
warm_up_s = 0.5
measure_s = {measure_s}
cool_down_s = 0.1
blocks = {blocks}
turns = {turns}
turn_ms = 100
"""
STEP_S = 0.01
START_SD = 0.02
BLOCKS = 6
PLAN = Plan(measure_s=3, turn_ms=100)
# of a block's set-up, a change of connections, between turns with the head that settles
SET_UP_S, DEAL_S, GAP_S = 2.0, 0.3, 0.06


@dataclass(frozen=True)
class Answer:
    """What one study said: whether it found a winner, and the interval of the ratio."""

    winner: bool
    low: float
    high: float

    @property
    def half_width_percent(self) -> float:
        """Half of the interval on the scale of logarithms."""
        return 100 * math.expm1(math.log(self.high / self.low) / 2)


def speed(seconds: float, chance: np.random.Generator) -> np.ndarray:
    """Log of the machine's speed by step."""
    steps = math.ceil(seconds / STEP_S)
    keep = math.exp(-STEP_S / 2.0)
    shocks = chance.normal(0, 0.05 * math.sqrt(1 - keep**2), steps)
    wander = np.empty(steps)
    level = chance.normal(0, 0.05)
    for step, shock in enumerate(shocks):
        level = keep * level + shock
        wander[step] = level
    busy = np.zeros(steps)
    at = chance.exponential(10)
    while at < seconds:
        ends = at + chance.exponential(3)
        busy[int(at / STEP_S) : int(ends / STEP_S)] = math.log(0.6)
        at = ends + chance.exponential(10)
    return wander + busy + chance.normal(0, 0.1) * np.arange(steps) / steps


def simulated(turns: bool, ratio: float, seed: int) -> Answer:
    """One study of two options, b at `ratio` times a, on a machine of its own."""
    chance, order = np.random.default_rng(seed), Random(seed)
    machine = speed(BLOCKS * (SET_UP_S + 2 * (PLAN.measure_s + 6)), chance)
    now, rates = 0.0, dict[tuple[int, str], float]()

    def loaded(length_s: float, effect: float) -> float:
        nonlocal now
        piece = machine[int(now / STEP_S) : int((now + length_s) / STEP_S)]
        now += length_s
        return float(np.exp(piece + effect).mean()) if len(piece) else float(np.exp(effect))

    for block in range(1, BLOCKS + 1):
        labels = ["a", "b"] if order.random() < 0.5 else ["b", "a"]
        start = {label: chance.normal(0, START_SD) for label in labels}
        found: dict[str, list[float]] = {"a": [], "b": []}
        now += SET_UP_S
        if not turns:
            for label in labels:
                now += SET_UP_S
                found[label].append(loaded(PLAN.measure_s, start[label] + chance.normal(0, START_SD)))
        else:
            for deal in deals(2, PLAN, order):
                now += DEAL_S
                effect = [start[label] + chance.normal(0, START_SD) for label in ("a", "b")]
                for index in (index for one in deal.rounds for index in one):
                    found["ab"[index]].append(loaded(PLAN.turn_ms / 1000, effect[index]))
                    now += GAP_S
        rates |= {(block, label): float(np.mean(values)) for label, values in found.items()}
    study = study_of({"which": ["a", "b"]})
    truth = {"a": Truth(), "b": Truth(throughput_per_s=10_000 * ratio)}
    evidence = evidence_of(
        study,
        truth,
        blocks=BLOCKS,
        noise=0,
        cpu_noise=0.01,
        block_noise=0,
        seed=seed,
        factor=lambda block, label: rates[block, label],
    )
    judgement = judge(evidence)
    work = judgement.headlines.work
    found_one = next(c for c in judgement.comparisons if work and c.metric == work.name and c.clients is None)
    winner = judgement.verdict.outcome in ("winner", "trade-off")
    return Answer(winner, found_one.low, found_one.high)


def simulate(studies: int) -> None:
    """Prints false verdicts, coverage and widths, in turns and one after another."""
    print("| simulated | ratio | a winner, % of studies | intervals with the ratio, % | half-width |")
    print("|---|---|---|---|---|")
    with ProcessPoolExecutor(2) as pool:
        for turns in (True, False):
            for ratio in (1.0, 1.05):
                each = partial(simulated, turns, ratio)
                answers = list(pool.map(each, range(1, studies + 1), chunksize=10))
                inside = sum(one.low <= ratio <= one.high for one in answers)
                print(
                    f"| {'in turns' if turns else 'one after another'} | {ratio:g}"
                    f" | {_rate(sum(one.winner for one in answers), studies)} | {_rate(inside, studies)}"
                    f" | ±{np.median([one.half_width_percent for one in answers]):.1f} % |",
                    flush=True,
                )


def _rate(hits: int, studies: int) -> str:
    low, high = wilson(hits, studies)
    return f"{100 * hits / studies:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def _compute() -> None:
    chance = random.Random()
    while True:
        ends = time.monotonic() + chance.uniform(1, 4)
        while time.monotonic() < ends:
            sum(range(1000))
        time.sleep(chance.uniform(2, 8))


@contextmanager
def neighbours(wanted: bool) -> Generator[None]:
    """Processes that come and go beside what is measured."""
    count = multiprocessing.cpu_count() if wanted else 0
    beside = [multiprocessing.Process(target=_compute, daemon=True) for _ in range(count)]
    for process in beside:
        process.start()
    try:
        yield
    finally:
        for process in beside:
            process.kill()
            process.join()


def study(turns: bool, seconds: float, levels: str = 'simple = "none", named = "named"') -> Answer:
    """A study that takes about so long, by the command line; blocks of 2 s per option."""
    measure_s = 2.0
    blocks = max(5, round(seconds / (2.5 + 2 * (measure_s * 1.15 + 0.7))))
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as folder:
        path = Path(folder) / "study.toml"
        path.write_text(
            STUDY.format(levels=levels, blocks=blocks, measure_s=measure_s, turns=str(turns).lower())
        )
        command = [sys.executable, "-m", "steelyard.cli", "run", path, "--json", "--bundle", f"{folder}/b"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        judgement = json.loads(done.stdout)["judgement"]
    found = next(c for c in judgement["comparisons"] if c["metric"] == "throughput_per_s")
    return Answer(judgement["verdict"]["outcome"] in ("winner", "trade-off"), found["low"], found["high"])


def pgbench(server: Server, mode: str) -> float:
    """Transactions per second of one second of pgbench."""
    command = [
        *("taskset", "-c", ",".join(map(str, server.driver_cpus)), server.bindir / "pgbench"),
        *("-h", server.folder, "-U", "postgres", "-n", "-c", "8", "-T", "1", "-M", mode),
        *("-f", server.folder / "lookup.sql", "postgres"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("tps"))
    return float(line.split()[2])


def pairs(server: Server, seconds: float) -> Answer:
    """Runs of both modes in random order per pair; paired t interval of the log ratio."""
    logs: list[float] = []
    ends = time.monotonic() + seconds
    while time.monotonic() < ends or len(logs) < 3:
        modes = random.sample(["simple", "prepared"], 2)
        rates = {mode: pgbench(server, mode) for mode in modes}
        logs.append(math.log(rates["prepared"] / rates["simple"]))
    return _answer(stats.t.interval(0.95, len(logs) - 1, np.mean(logs), stats.sem(logs)))


def means(server: Server, seconds: float) -> Answer:
    """All runs of one mode, then all of the other; Welch's interval of the difference of logs."""
    logs: list[list[float]] = []
    for mode in ("simple", "prepared"):
        found: list[float] = []
        ends = time.monotonic() + seconds / 2
        while time.monotonic() < ends or len(found) < 3:
            found.append(math.log(pgbench(server, mode)))
        logs.append(found)
    return _answer(stats.ttest_ind(logs[1], logs[0], equal_var=False).confidence_interval(0.95))


def _answer(interval: Sequence[float]) -> Answer:
    low, high = interval
    return Answer(low > 0 or high < 0, math.exp(low), math.exp(high))


def live(lengths_s: Sequence[float], beside: bool) -> None:
    """Prints the interval of each method after each length."""
    print(
        "| method, "
        + ("with neighbours" if beside else "as the machine is")
        + " | seconds | prepared : simple |"
    )
    print("|---|---|---|", flush=True)
    with postgres(100_000, False, None) as server:
        (server.folder / "lookup.sql").write_text(
            "\\set id random(1, 100000)\nselect filler from item where id = :id;\n"
        )
        methods: dict[str, Callable[[float], Answer]] = {
            "in turns": partial(study, True),
            "one after another": partial(study, False),
            "pgbench pairs": partial(pairs, server),
            "means": partial(means, server),
        }
        for seconds in lengths_s:
            for name, method in methods.items():
                with neighbours(beside):
                    began = time.monotonic()
                    one = method(seconds)
                    took = time.monotonic() - began
                print(
                    f"| {name} | {took:.0f} | {math.sqrt(one.low * one.high):.3f} [{one.low:.3f},"
                    f" {one.high:.3f}], ±{one.half_width_percent:.1f} % |",
                    flush=True,
                )


def identical(studies: int) -> None:
    """Real studies of one option under two names, with neighbours: how many find a winner."""
    answers: list[Answer] = []
    for number in range(1, studies + 1):
        with neighbours(True):
            answers.append(study(True, 20, 'one = "named", other = "named"'))
        print(number, answers[-1], file=sys.stderr)
    inside = sum(one.low <= 1 <= one.high for one in answers)
    print(f"winners: {_rate(sum(one.winner for one in answers), studies)} % of {studies} studies")
    print(f"intervals with 1: {_rate(inside, studies)} %")
    print(f"half-width: ±{np.median([one.half_width_percent for one in answers]):.1f} % (median)")


def main() -> None:
    """Runs what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--simulate", type=int, default=0, metavar="STUDIES")
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--seconds", type=float, nargs="+", default=[30, 60, 120])
    parser.add_argument("--neighbours", action="store_true")
    parser.add_argument("--identical", type=int, default=0, metavar="STUDIES")
    parser.add_argument("--quick", action="store_true", help="20 simulated studies")
    arguments = parser.parse_args()
    if arguments.simulate or arguments.quick:
        simulate(20 if arguments.quick else arguments.simulate)
    if arguments.live:
        live(arguments.seconds, arguments.neighbours)
    if arguments.identical:
        identical(arguments.identical)


if __name__ == "__main__":
    main()
