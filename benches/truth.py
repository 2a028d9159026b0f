"""How often the verdicts are right: studies with a known truth, judged as any bundle's evidence is.

    python benches/truth.py --studies 500

Each cell simulates studies whose options differ by a known ratio, or not at all, and counts what the
judgement says. Runs of a block share their level (SD 3 %), each scatters by its option's SD (1 % unless the
cell says otherwise). A rate is given with its 95 % interval (Wilson 1927).
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from evidence import Truth, evidence_of, options_of, study_of
from steelyard.analysis.judge import judge
from steelyard.analysis.measures import THROUGHPUT
from steelyard.analysis.results import Judgement

BASE_PER_S = 10_000.0
RUN_SD = 0.01


@dataclass(frozen=True)
class Cell:
    """Studies of one kind. ratios: true throughput by option, against the first; noisy: SD by option."""

    name: str
    factors: Mapping[str, Sequence[str]]
    blocks: int
    ratios: Mapping[str, float] = field(default_factory=dict[str, float])
    noisy: Mapping[str, float] = field(default_factory=dict[str, float])

    def ratio(self, label: str) -> float:
        """True throughput of an option against the baseline."""
        return self.ratios.get(label, 1.0)


def judged(cell: Cell, seed: int) -> dict[str, bool]:
    """One study: by question, whether its judgement is as the question says."""
    study = study_of(cell.factors)
    labels = [option.label for option in options_of(study)]
    truth = {
        label: Truth(throughput_per_s=BASE_PER_S * cell.ratio(label), user_us=30.0 / cell.ratio(label))
        for label in labels
    }
    chance = np.random.default_rng((seed, len(labels), cell.blocks))
    more = {
        (block, label): math.exp(chance.normal(0, math.sqrt(sd**2 - RUN_SD**2)))
        for label, sd in cell.noisy.items()
        for block in range(1, cell.blocks + 1)
    }
    evidence = evidence_of(
        study,
        truth,
        blocks=cell.blocks,
        noise=RUN_SD,
        seed=seed,
        factor=lambda block, label: more.get((block, label), 1.0),
    )
    return _answers(cell, labels, judge(evidence))


def _answers(cell: Cell, labels: Sequence[str], judgement: Judgement) -> dict[str, bool]:
    compared = [c for c in judgement.comparisons if c.metric == THROUGHPUT.name and c.clients is None]
    best = max(labels, key=cell.ratio)
    alone = sum(math.isclose(cell.ratio(label), cell.ratio(best)) for label in labels) == 1
    winner, sentence = judgement.verdict.winner, judgement.verdict.sentence
    differ = [c for c in compared if c.outcome in ("better", "worse")]
    return {
        "false winner": winner is not None and not (alone and winner == best),
        "right winner": alone and winner == best,
        "a true equal called different": any(cell.ratio(c.option) == 1.0 for c in differ),
        "every interval holds the true ratio": all(c.low <= cell.ratio(c.option) <= c.high for c in compared),
        "all equivalent": all(c.outcome == "equivalent" for c in compared),
        "'what matters most' is said": "What matters most" in sentence,
        "number of blocks unknown": "cannot be told from" in sentence and "begin with" in sentence,
    }


def _levels(name: str, count: int) -> list[str]:
    return [f"{name.upper()}{number}" for number in range(1, count + 1)]


def cells() -> list[Cell]:
    """All kinds of studies, those without any effect first."""
    none = [
        Cell(f"{count} equal options, {blocks} blocks", {"a": _levels("a", count)}, blocks)
        for count in (2, 4, 12, 53)
        for blocks in (5, 6, 10, 14)
        if count < 53 or blocks == 5
    ]
    designs: Mapping[str, Mapping[str, Sequence[str]]] = {
        "2 x 2": {"a": _levels("a", 2), "b": _levels("b", 2)},
        "2 x 2 x 2": {"a": _levels("a", 2), "b": _levels("b", 2), "c": _levels("c", 2)},
        "36 = 6 x 6": {"a": _levels("a", 6), "b": _levels("b", 6)},
    }
    none += [Cell(f"{name}, no effect, 6 blocks", factors, 6) for name, factors in designs.items()]
    noisy = [
        Cell(f"4 options, one of 5 % SD, {n} blocks", {"a": _levels("a", 4)}, n, noisy={"A4": 0.05})
        for n in (5, 6, 10)
    ]
    five = dict.fromkeys(_levels("a", 53)[-5:], 0.05)
    noisy.append(Cell("53 options, five of 5 % SD, 5 blocks", {"a": _levels("a", 53)}, 5, noisy=five))
    effect = [
        Cell(f"2 options, {ratio:.2f}, {blocks} blocks", {"a": ["A1", "A2"]}, blocks, {"A2": ratio})
        for ratio in (0.97, 1.03, 1.05)
        for blocks in (5, 6, 10)
    ]
    effect.append(Cell("4 options, one 1.05, 6 blocks", {"a": _levels("a", 4)}, 6, {"A4": 1.05}))
    return [*none, *noisy, *effect]


def wilson(hits: int, studies: int) -> tuple[float, float]:
    """95 % interval of a rate."""
    z = 1.959964
    rate, size = hits / studies, studies + z * z
    middle = (hits + z * z / 2) / size
    half = z / size * math.sqrt(studies * rate * (1 - rate) + z * z / 4)
    return middle - half, middle + half


def rates(cell: Cell, studies: int, pool: ProcessPoolExecutor) -> dict[str, str]:
    """Rate of each answer over so many studies, with its interval, in per cent."""
    found = list(pool.map(partial(judged, cell), range(1, studies + 1), chunksize=5))
    shown: dict[str, str] = {}
    for question in found[0]:
        hits = sum(answer[question] for answer in found)
        low, high = wilson(hits, studies)
        shown[question] = f"{100 * hits / studies:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
    return shown


def main() -> None:
    """Prints one row per cell, as a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=500, help="per cell")
    parser.add_argument("--only", default="", help="cells whose name holds this")
    parser.add_argument("--quick", action="store_true", help="20 studies per cell")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    studies = 20 if arguments.quick else arguments.studies
    with ProcessPoolExecutor(arguments.processes) as pool:
        head = False
        for cell in cells():
            if arguments.only not in cell.name:
                continue
            shown = rates(cell, studies, pool)
            if not head:
                print("| studies | " + " | ".join(shown) + " |\n|" + "---|" * (len(shown) + 1))
                head = True
            print(f"| {cell.name} | " + " | ".join(shown.values()) + " |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
