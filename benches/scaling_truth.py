"""How often the 95 % intervals of scaling curves hold the truth: studies whose curve is known.

    python benches/scaling_truth.py --studies 500

Each cell simulates studies of one option whose throughput follows the Universal Scalability Law, and
counts how often the interval of each quantity holds its true value. Every run has a level of its own
(SD 3 %) and each of its points scatters (SD of the cell); with one block points have equal weight, with
several they are weighted by the scatter between blocks. A rate is given with its 95 % interval (Wilson 1927).
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from evidence import Truth, changed, evidence_of, study_of
from steelyard.analysis.judgement.scaling import Interval, Scaling
from steelyard.analysis.load.scaling import scalings
from steelyard.analysis.metrics.run_metrics import compute_run_metrics
from steelyard.bundle.evidence import Evidence
from truth import wilson

POINTS = {
    5: (1, 2, 4, 8, 16),
    6: (1, 2, 4, 8, 16, 32),
    8: (1, 2, 3, 4, 6, 8, 12, 16),
    10: (1, 2, 3, 4, 6, 8, 12, 16, 24, 32),
}
LAWS = ((0.02, 0.0005), (0.1, 0.001), (0.03, 0.005), (0.05, 0.0), (0.0, 0.001))  # (sigma, kappa)
NOISES = (0.005, 0.02, 0.05)
QUANTITIES = ("contention", "coherency", "one client", "peak", "a trend is said to be missed")
RATE_PER_S = 10_000.0
RUN_SD = 0.03


@dataclass(frozen=True)
class Cell:
    """Studies of one kind. noise: SD of the logarithm of each point of a run."""

    points: int
    blocks: int
    noise: float
    sigma: float
    kappa: float

    @property
    def peak(self) -> float:
        """Clients at the law's maximum."""
        return max(1.0, math.sqrt((1 - self.sigma) / self.kappa)) if self.kappa else math.inf


def cells(points: Sequence[int] = tuple(POINTS)) -> Iterator[Cell]:
    """Every law and noise at each number of points, with one block and with six."""
    for count in points:
        for blocks in (1, 6):
            for noise in NOISES:
                for sigma, kappa in LAWS:
                    yield Cell(count, blocks, noise, sigma, kappa)


def evidence(cell: Cell, seed: int) -> Evidence:
    """What a bundle of one such study would give."""
    clients = POINTS[cell.points]
    study = study_of({"a": ["A", "B"]}, clients=clients)
    # one block: its level cannot be told from the rate of one client, so that there is none
    level = RUN_SD if cell.blocks > 1 else 0.0
    truth = {"A": Truth(throughput_per_s=RATE_PER_S * clients[0])}
    found = evidence_of(study, truth, blocks=cell.blocks, noise=level, block_noise=0.0, seed=seed)
    kind = cell.points, cell.blocks, *(round(1e5 * x) for x in (cell.noise, cell.sigma, cell.kappa))
    chance = np.random.default_rng((seed, *kind))
    n = found.view("points")["clients"].astype(float)
    lost = 1 + cell.sigma * (n - 1) + cell.kappa * n * (n - 1)
    noise = np.exp(chance.normal(0, cell.noise, len(n)))
    done = np.round(found.view("points")["transactions"] * noise / lost).astype(np.int64)
    return changed(found, points={**found.view("points"), "transactions": done})


def scaling_of(cell: Cell, seed: int) -> Scaling:
    """One study, judged as any bundle's evidence is."""
    found = evidence(cell, seed)
    (one,) = scalings(found, compute_run_metrics(found))
    return one


def covered(cell: Cell, seed: int) -> tuple[bool, ...]:
    """One study: whether each interval holds the truth, and whether a trend is said to be missed."""
    curve = next(each for each in scaling_of(cell, seed).curves if each.model == "usl")
    held = [
        _holds(curve.parameters["sigma"], cell.sigma),
        _holds(curve.parameters["kappa"], cell.kappa),
        _holds(curve.parameters["lambda"], RATE_PER_S),
        curve.peak is not None and _holds(curve.peak, cell.peak),
    ]
    return *held, curve.serial is not None and curve.serial.trend


def _holds(interval: Interval, value: float) -> bool:
    return interval.low <= value <= interval.high


def main() -> None:
    """Prints one row per number of points, blocks and noise, as a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=500, help="per law, of which there are five")
    parser.add_argument("--points", type=int, choices=POINTS, action="append", help="only these")
    parser.add_argument("--each", action="store_true", help="a row for each law")
    parser.add_argument("--quick", action="store_true", help="4 studies per law")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    studies = 4 if arguments.quick else arguments.studies
    names = ("points", "blocks", "noise", *(["sigma, kappa"] if arguments.each else []), *QUANTITIES)
    print("| " + " | ".join(names) + " |\n|" + "---|" * len(names))
    with ProcessPoolExecutor(arguments.processes) as pool:
        rows: dict[tuple[str, ...], list[tuple[bool, ...]]] = {}
        for cell in cells(arguments.points or tuple(POINTS)):
            row = (str(cell.points), str(cell.blocks), f"{100 * cell.noise:g} %")
            row += (f"{cell.sigma:g}, {cell.kappa:g}",) if arguments.each else ()
            found = rows.setdefault(row, [])
            found += pool.map(partial(covered, cell), range(1, studies + 1), chunksize=5)
            if arguments.each or (cell.sigma, cell.kappa) == LAWS[-1]:
                print(f"| {' | '.join((*row, *_rates(found)))} |")
                sys.stdout.flush()


def _rates(found: Sequence[tuple[bool, ...]]) -> list[str]:
    shown: list[str] = []
    for answers in zip(*found, strict=True):
        low, high = wilson(sum(answers), len(answers))
        shown.append(f"{100 * sum(answers) / len(answers):.1f} [{100 * low:.1f}, {100 * high:.1f}]")
    return shown


if __name__ == "__main__":
    main()
