"""Where CPU time goes: samples of stacks as functions, and the one that differs most.

A sample stands for 1 / rate seconds of one CPU. Samples of a run are few: a function is named as a
reason only with enough of them, and when it differs from block to block alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.judgement.kernel import ProfileRow
from steelyard.analysis.statistics.distributions import holm, t_two_sided
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import quantity

KERNEL_MARK = "_[k]"
_ALPHA = 0.05
_SAMPLES_MIN = 200  # of a function, over all runs of both options: +-14 % at 95 %
_BLOCKS_MIN = 5
# the roles whose work depends on the options of a study
_ROLES = ("server", "kernel")
_UNNAMED = "["


@dataclass(frozen=True)
class _Key:
    role: str
    function: str


def profile(evidence: Evidence) -> tuple[ProfileRow, ...]:
    """Functions by option, the most samples first; of recordings too. Empty without a profile."""
    table = evidence.view("functions")
    if not len(table["run"]):
        return ()
    option_of = _options(evidence)
    hz = evidence.study.probes.profile_hz
    found: dict[str, dict[_Key, float]] = {}
    runs: dict[str, set[int]] = {}
    for run, role, function, samples in _rows(evidence):
        option = option_of[run]
        runs.setdefault(option, set()).add(run)
        mine = found.setdefault(option, {})
        key = _Key(role, function)
        mine[key] = mine.get(key, 0.0) + samples
    work = transactions_of(evidence)
    out: list[ProfileRow] = []
    for option in (o.label for o in evidence.options if o.label in found):
        total = sum(found[option].values())
        done = sum(work.get(run, 0.0) for run in runs[option])
        for key, samples in sorted(found[option].items(), key=lambda item: -item[1]):
            out.append(
                ProfileRow(
                    option=option,
                    role=key.role,
                    function=key.function.removesuffix(KERNEL_MARK),
                    in_kernel=key.function.endswith(KERNEL_MARK),
                    samples=round(samples),
                    share=samples / total,
                    us_per_txn=samples / hz * 1e6 / done if hz and done else None,
                )
            )
    return tuple(out)


def profile_reasons(evidence: Evidence, winner: str | None) -> tuple[str, ...]:
    """The function whose CPU time per transaction differs most between winner and baseline, if one does.

    A paired t test over blocks, corrected for all functions with enough samples (Holm).
    """
    baseline, hz = evidence.baseline, evidence.study.probes.profile_hz
    if winner is None or winner == baseline or not hz:
        return ()
    runs = _paired_runs(evidence, winner)
    if len(runs) < _BLOCKS_MIN:
        return ()
    work = transactions_of(evidence)
    counts: dict[_Key, dict[int, float]] = {}
    for run, role, function, samples in _rows(evidence):
        # what has no name is many functions
        if role in _ROLES and not function.startswith(_UNNAMED):
            counts.setdefault(_Key(role, function), {})[run] = samples
    known = {run for pair in runs for run in pair}
    keys = [k for k, by in counts.items() if sum(n for run, n in by.items() if run in known) >= _SAMPLES_MIN]
    if not keys or any(not work.get(run) for run in known):
        return ()
    us = np.asarray(
        [[[counts[k].get(run, 0.0) / hz * 1e6 / work[run] for run in pair] for pair in runs] for k in keys]
    )
    change = us[:, :, 0] - us[:, :, 1]
    mean, error = change.mean(axis=1), change.std(axis=1, ddof=1) / np.sqrt(len(runs))
    p = holm(t_two_sided(mean / np.maximum(error, 1e-12), len(runs) - 1))
    proven = [i for i in range(len(keys)) if p[i] <= _ALPHA]
    if not proven:
        return ()
    most = max(proven, key=lambda i: abs(mean[i]))
    after, before = us[most].mean(axis=0).tolist()
    name = keys[most].function
    where = " (kernel)" if name.endswith(KERNEL_MARK) else ""
    samples = round(sum(n for run, n in counts[keys[most]].items() if run in known))
    return (
        f"In the profile {name.removesuffix(KERNEL_MARK)}{where} differs most: {quantity(after, 'us')}"
        f" of CPU per transaction under {winner}, {quantity(before, 'us')} under {baseline}"
        f" ({samples:,} samples).",
    )


def transactions_of(evidence: Evidence) -> dict[int, float]:
    """Transactions of each run, over all its points."""
    work: dict[int, float] = {}
    points = evidence.view("points")
    for run, count in zip(points["run"].tolist(), points["transactions"].tolist(), strict=True):
        work[run] = work.get(run, 0.0) + count
    return work


def _paired_runs(evidence: Evidence, winner: str) -> list[tuple[int, int]]:
    """Runs of winner and baseline in the same block."""
    table = evidence.view("runs")
    place = {
        (str(option), int(block)): int(run)
        for run, option, block in zip(table["run"], table["option"], table["block"], strict=True)
    }
    profiled = set(evidence.view("functions")["run"].tolist())
    pairs = [
        (place[winner, block], place[evidence.baseline, block])
        for block in sorted({block for _, block in place})
        if (winner, block) in place and (evidence.baseline, block) in place
    ]
    return [pair for pair in pairs if profiled.issuperset(pair)]


def _options(evidence: Evidence) -> dict[int, str]:
    return dict(
        zip(evidence.view("runs")["run"].tolist(), map(str, evidence.view("runs")["option"]), strict=True)
    )


def _rows(evidence: Evidence) -> Iterator[tuple[int, str, str, float]]:
    table = evidence.view("functions")
    columns = (table[name].tolist() for name in ("run", "role", "function", "samples"))
    return zip(*columns, strict=True)
