"""How often the verdicts are right: studies with a known truth, judged as any bundle's evidence is.

    python benches/truth.py --studies 500            # one table per group of cells, in Markdown
    python benches/truth.py --studies 500 --keep     # and benches/truth.json, which the tests compare with

Each cell simulates studies whose options differ by a known ratio, or not at all, and counts what the
judgement says. Runs of a block share their level (SD 3 %), each scatters by its option's SD (1 % unless the
cell says otherwise). A rate is given with its 95 % interval (Wilson 1927).
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.comparison.stopping import narrow_enough
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement import Comparison, Judgement
from steelyard.analysis.metrics.measured import SERVER_CPU
from steelyard.analysis.metrics.run_metrics import P99, THROUGHPUT
from steelyard.bundle.evidence import Evidence
from steelyard.study.plan import options

BASE_PER_S = 10_000.0
RUN_SD = 0.01
KEPT = Path(__file__).with_suffix(".json")
# of mean 0 and SD 1; an option that pauses is slower at times, never faster
SHAPES: Mapping[str, Callable[[np.random.Generator], float]] = {
    "normal": lambda chance: chance.normal(),
    "lognormal": lambda chance: (math.exp(0.5) - math.exp(chance.normal())) / math.sqrt(math.e**2 - math.e),
    "exponential": lambda chance: 1 - chance.exponential(),
    "t3": lambda chance: chance.standard_t(3) / math.sqrt(3),
}

WRONG = ("false winner", "an equal option called different", "a true ratio outside its interval")
DOUBT = ("word and interval disagree", "p99 a reason, its comparison inconclusive", "drift-over-study")


@dataclass(frozen=True)
class Cell:
    """Studies of one kind. ratios: true throughput by option, against the first; noisy: SD by option, of
    this shape.

    width_percent: of plan.stop, with `blocks` the most; fails: error rate by option. questions: what is
    counted, of those that `judged` answers.
    """

    group: str
    name: str
    factors: Mapping[str, Sequence[str]]
    blocks: int
    questions: Sequence[str]
    ratios: Mapping[str, float] = field(default_factory=dict[str, float])
    noisy: Mapping[str, float] = field(default_factory=dict[str, float])
    fails: Mapping[str, float] = field(default_factory=dict[str, float])
    run_sd: float = RUN_SD
    shape: str = "normal"
    width_percent: float | None = None

    def ratio(self, label: str) -> float:
        """True throughput of an option against the baseline."""
        return self.ratios.get(label, 1.0)


def judged(cell: Cell, seed: int) -> dict[str, bool]:
    """One study: by question, whether its judgement is as the question says."""
    stop = {"stop": {"half_width_percent": cell.width_percent}} if cell.width_percent else {}
    plan = {"clients": [8], "measure_s": 10, "blocks": cell.blocks, **stop}
    study = study_of(cell.factors, plan=plan)
    labels = [option.label for option in options(study)]
    truth = {
        label: Truth(
            throughput_per_s=BASE_PER_S * cell.ratio(label),
            user_us=45.0 / cell.ratio(label),
            system_us=0.0,
            error_share=cell.fails.get(label, 0.0),
        )
        for label in labels
    }
    chance = np.random.default_rng((seed, len(labels), cell.blocks))
    more = {
        (block, label): math.exp(math.sqrt(sd**2 - cell.run_sd**2) * SHAPES[cell.shape](chance))
        for label, sd in cell.noisy.items()
        for block in range(1, cell.blocks + 1)
    }

    def of(blocks: int) -> Evidence:
        return evidence_of(
            study,
            truth,
            blocks=blocks,
            noise=cell.run_sd,
            seed=seed,
            factor=lambda block, label: more.get((block, label), 1.0),
        )

    blocks = cell.blocks
    if cell.width_percent:
        looks = range(5, cell.blocks)
        blocks = next((n for n in looks if narrow_enough(of(n), cell.width_percent)), cell.blocks)
    return _answers(cell, labels, judge(of(blocks)))


def _answers(cell: Cell, labels: Sequence[str], judgement: Judgement) -> dict[str, bool]:
    counting = [c for c in judgement.comparisons if c.metric in (THROUGHPUT.name, SERVER_CPU.name)]
    compared = [c for c in counting if c.metric == THROUGHPUT.name]
    best = max(labels, key=cell.ratio)
    alone = sum(math.isclose(cell.ratio(label), cell.ratio(best)) for label in labels) == 1
    winner, sentence = judgement.verdict.winner, " ".join(judgement.verdict.lines)
    p99 = {c.option: c for c in judgement.comparisons if c.metric == P99.name}
    tails = [r for r in judgement.verdict.reasons if r.startswith("Latency p99")]
    answers = {
        "false winner": winner is not None and not (alone and winner == best),
        "right winner": alone and winner == best,
        "an equal option called different": any(
            cell.ratio(c.option) == 1.0 and (c.low > 1 or c.high < 1) for c in counting
        ),
        "a true ratio outside its interval": not all(
            c.low <= cell.ratio(c.option) <= c.high for c in compared
        ),
        "equivalent": all(c.outcome == "equivalent" for c in counting),
        "any difference shown": any(c.low > 1 or c.high < 1 for c in counting),
        "'what matters most'": "What matters most" in " ".join((sentence, *judgement.verdict.reasons)),
        "number of blocks unknown": "cannot show how many" in sentence,
        "word and interval disagree": any(not _agree(c, sentence) for c in counting),
        "p99 a reason, its comparison inconclusive": bool(tails)
        and not any(c.outcome in ("better", "worse") for c in p99.values()),
        "drift-over-study": any(n.code == "drift-over-study" for n in judgement.notices),
        "stopped early": any(n.code == "study-stopped" for n in judgement.notices),
    }
    if (share := _share(cell, labels, judgement)) is not None:
        answers["a true share outside its interval"] = not share
    return answers


def _agree(c: Comparison, sentence: str) -> bool:
    """Whether mark, interval and word say one thing."""
    leaves_out_one = c.low > 1 or c.high < 1
    marked = c.outcome in ("better", "worse")
    said_inconclusive = f"is inconclusive, ratio {c.ratio:.3f} [{c.low:.3f} to {c.high:.3f}]" in sentence
    return not (marked and said_inconclusive) and (marked == leaves_out_one or c.outcome == "equivalent")


def _share(cell: Cell, labels: Sequence[str], judgement: Judgement) -> bool | None:
    """Whether the first factor's share lies in its interval; None where no ratio was given."""
    effect = next((e for e in judgement.effects if e.factors == ("a",) and e.metric == THROUGHPUT.name), None)
    if effect is None or not cell.ratios:
        return None
    logs = np.log([cell.ratio(label) for label in labels])
    codes = [label.split("_")[0] for label in labels]
    of_a = np.array([logs[[c == code for c in codes]].mean() for code in codes])
    squares = float(((of_a - logs.mean()) ** 2).sum())
    whole = float(((logs - logs.mean()) ** 2).sum()) + cell.run_sd**2 * (len(labels) - 1)
    return effect.low <= squares / whole <= effect.high


def _levels(name: str, count: int) -> list[str]:
    return [f"{name.upper()}{number}" for number in range(1, count + 1)]


def cells() -> Iterator[Cell]:
    """All kinds of studies, those without any effect first."""
    for count in (2, 4, 12, 53):
        for blocks in (5, 6, 10, 14) if count < 53 else (5,):
            name = f"{count} equal options, {blocks} blocks"
            asked = (*WRONG, "equivalent", "number of blocks unknown", *DOUBT)
            yield Cell("no effect", name, {"a": _levels("a", count)}, blocks, asked)
    designs = {"2 x 2": (2, 2), "2 x 2 x 2": (2, 2, 2), "6 x 6": (6, 6)}
    for name, sizes in designs.items():
        factors = {letter: _levels(letter, size) for letter, size in zip("abc", sizes, strict=False)}
        asked = ("'what matters most'", *WRONG)
        for sd in (RUN_SD, 0.03):
            title = f"{name}, no effect, run SD {100 * sd:.0f} %, 6 blocks"
            yield Cell("several factors", title, factors, 6, asked, run_sd=sd)
    factors = {"a": _levels("a", 2), "b": _levels("b", 3)}
    for ratio in (1.02, 1.05):
        ratios = {f"A2_B{n}": ratio for n in (1, 2, 3)}
        asked = ("'what matters most'", "a true share outside its interval")
        yield Cell("several factors", f"2 x 3, one factor {ratio}, 6 blocks", factors, 6, asked, ratios)
    asked = (*WRONG, *DOUBT)
    for noisy in ({"A4": 0.05}, {"A1": 0.05}, {"A4": 0.02}):
        which = "the baseline" if "A1" in noisy else "one"
        for blocks in (5, 6, 10):
            name = f"4 options, {which} of {100 * max(noisy.values()):.0f} % SD, {blocks} blocks"
            yield Cell("unequal scatter", name, {"a": _levels("a", 4)}, blocks, asked, noisy=noisy)
    five = dict.fromkeys(_levels("a", 53)[-5:], 0.05)
    name = "53 options, five of 5 % SD, 5 blocks"
    yield Cell("unequal scatter", name, {"a": _levels("a", 53)}, 5, asked, noisy=five)
    yield from _skewed()
    asked = ("right winner", *WRONG, "word and interval disagree")
    for count in (2, 4, 12):
        last = _levels("a", count)[-1]
        for ratio in (0.97, 1.03, 1.05) if count == 2 else (1.03, 1.05):
            for blocks in (5, 6, 10):
                name = f"{count} options, one of {ratio}, {blocks} blocks"
                yield Cell("power", name, {"a": _levels("a", count)}, blocks, asked, {last: ratio})
    yield Cell("power", "53 options, one of 1.05, 5 blocks", {"a": _levels("a", 53)}, 5, asked, {"A53": 1.05})
    for width in (1.0, 1.5, 2.0):
        name = f"2 equal options, stops at +-{width:g} %, run SD 2 %, 20 blocks"
        asked = ("stopped early", *WRONG)
        two = {"a": _levels("a", 2)}
        yield Cell("stopping on width", name, two, 20, asked, run_sd=0.02, width_percent=width)
    failing = {"A2": 0.5}
    asked = ("right winner", "false winner")
    name = "2 options, half of the faster's transactions fail, 6 blocks"
    yield Cell("failures", name, {"a": ["A1", "A2"]}, 6, asked, {"A2": 1.5}, fails=failing)


def _skewed() -> Iterator[Cell]:
    """One option that pauses beside a quiet one, and what the rule for them costs: differences within 3 %."""
    asked = (*WRONG, "equivalent", "word and interval disagree")
    two = {"a": _levels("a", 2)}
    numbers = {("lognormal", 0.03): (5, 6, 10, 20), ("lognormal", 0.1): (6, 20)}
    for shape, sd in (*numbers, ("exponential", 0.03), ("t3", 0.03)):
        for blocks in numbers.get((shape, sd), (6, 20)):
            name = f"2 options, one of {100 * sd:.0f} % SD ({shape}), the other .5 %, {blocks} blocks"
            yield Cell(
                "skewed scatter", name, two, blocks, asked, noisy={"A2": sd}, run_sd=0.005, shape=shape
            )
    for ratio in (1.01, 1.02):
        for blocks in (5, 10):
            name = f"2 options, one of {ratio}, {blocks} blocks"
            asked = ("any difference shown", "equivalent", "right winner")
            yield Cell("too small to matter", name, two, blocks, asked, {"A2": ratio})


def wilson(hits: int, studies: int, z: float = 1.959964) -> tuple[float, float]:
    """Interval of a rate, 95 % unless z says otherwise."""
    rate, size = hits / studies, studies + z * z
    middle = (hits + z * z / 2) / size
    half = z / size * math.sqrt(studies * rate * (1 - rate) + z * z / 4)
    return middle - half, middle + half


def counted(cell: Cell, seeds: Sequence[int], pool: ProcessPoolExecutor | None = None) -> dict[str, int]:
    """How many of the studies each of the cell's questions holds for."""
    each = partial(judged, cell)
    found = list(pool.map(each, seeds, chunksize=5) if pool else map(each, seeds))
    return {question: sum(answer[question] for answer in found) for question in cell.questions}


def main() -> None:
    """Prints one row per cell, one table per group, in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--studies", type=int, default=500, help="per cell")
    parser.add_argument("--only", default="", help="cells whose group or name holds this")
    parser.add_argument("--quick", action="store_true", help="20 studies per cell")
    parser.add_argument("--keep", action="store_true", help=f"writes the rates to {KEPT.name}")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    studies = 20 if arguments.quick else arguments.studies
    kept: dict[str, dict[str, float]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    head: tuple[str, Sequence[str]] = "", ()
    with ProcessPoolExecutor(arguments.processes) as pool:
        for cell in cells():
            if arguments.only not in f"{cell.group}: {cell.name}":
                continue
            if head != (cell.group, cell.questions):
                head = cell.group, cell.questions
                print(f"\n| {cell.group}, % of studies | " + " | ".join(cell.questions) + " |")
                print("|---" * (len(cell.questions) + 1) + "|")
            hits = counted(cell, range(1, studies + 1), pool)
            kept[cell.name] = {question: n / studies for question, n in hits.items()}
            shown: list[str] = []
            for n in hits.values():
                low, high = wilson(n, studies)
                shown.append(f"{100 * n / studies:.1f} [{max(100 * low, 0):.1f}, {100 * high:.1f}]")
            print(f"| {cell.name} | " + " | ".join(shown) + " |")
            sys.stdout.flush()
            if arguments.keep:
                KEPT.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
