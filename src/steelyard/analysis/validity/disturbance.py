"""Runs in which other work kept the server or the load engine from its CPUs, by what the bundle holds.

The rule is that of the lab (run_tables/disturbance.py), whatever plan.disturbed said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from steelyard.analysis.judgement.results import Notice
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import count, listed, percent, quantity, ranges, span_of
from steelyard.run_tables.disturbance import DISTURBED_SHARE, ROLES, Disturbance, cpu_use, disturbance
from steelyard.study.host_settings import cpus_by_role

_MONITORS = ("host", "processes", "disturbance")


@dataclass(frozen=True)
class Disturbed:
    """found: of the runs that count, those that were disturbed, by number. runs: how many count.

    undisturbed: of the other runs, the largest share that a role lost at a load point; where that is known.
    """

    found: Mapping[int, Disturbance]
    runs: int
    who_works: str = "server"
    undisturbed: dict[int, float] = field(default_factory=dict[int, float])

    @property
    def sentence(self) -> str:
        """For the verdict: the run that lost most CPU time; '' where none was disturbed."""
        if not self.found:
            return ""
        worst = max(self.found, key=lambda run: self.found[run].lost_s)
        text = self.found[worst].sentence(self.who_works, f"in run {worst}")
        more = len(self.found) - 1
        were = "was" if more == 1 else "were"
        others = f"; {more} more of the {count(self.runs, 'run')} that count {were} disturbed"
        return f"Disturbed: {text}{others if more else ''}."


def disturbed(evidence: Evidence) -> Disturbed:
    """Every run that counts, judged at its worst load point."""
    runs = evidence.view("runs")["run"].tolist()
    found: dict[int, Disturbance] = {}
    shares: dict[int, float] = {}
    if not evidence.placement:
        return Disturbed(found, len(runs), evidence.study.workload.WHO)
    option_of = dict(zip(runs, map(str, evidence.view("runs")["option"]), strict=True))
    rates, studies = _rates(evidence), _studies(evidence)
    columns = (evidence.view("points")[name].tolist() for name in ("run", "point", "seconds"))
    for run, point, seconds in zip(*columns, strict=True):
        host = evidence.option(option_of[run]).host
        cpus = cpus_by_role(host, evidence.placement["server"], evidence.placement["engine"])
        seen = rates.get((run, point), {})
        for use in filter(None, (cpu_use(seen, seconds, role, cpus) for role in ROLES)):
            shares[run] = max(shares.get(run, 0.0), use.share)
        one = disturbance(seen, seconds, cpus, studies.get(run, 0))
        if one and (run not in found or one.lost_s > found[run].lost_s):
            found[run] = one
    rest = {run: share for run, share in shares.items() if run not in found}
    return Disturbed(found, len(runs), evidence.study.workload.WHO, rest)


_RUNS_IN_FULL = 4  # of more, the span of what they lost


def disturbance_notices(evidence: Evidence, judged: Disturbed) -> list[Notice]:
    """disturbed: by option and run; block-redone: what the lab ran again; another-study: on the machine."""
    return [*_by_option(evidence, judged), *_redone(evidence, judged), *_another_study(evidence)]


def _by_option(evidence: Evidence, judged: Disturbed) -> list[Notice]:
    if not judged.found:
        return []
    labels = dict(
        zip(evidence.view("runs")["run"].tolist(), map(str, evidence.view("runs")["option"]), strict=True)
    )
    by_option: dict[tuple[str, bool], list[int]] = {}
    for run, one in judged.found.items():
        by_option.setdefault((labels[run], one.cause == "CPU limit"), []).append(run)
    notices: list[Notice] = []
    for (option, limited), runs in by_option.items():
        taken = "the CPU limit of the lab's control group withheld" if limited else "others used"
        mend = "under a higher limit" if limited else "on a quieter machine"
        alone = f"trust CPU costs more than rates and times, and repeat the study {mend}"
        text = (
            f"disturbed: {taken} CPU time for which tasks of the {judged.who_works}, or of the load engine,"
            " waited; in parentheses how much, and its share of the CPU time that these tasks wanted;"
            f" {_in_turns(judged, labels) if evidence.rows('from turns') else alone}"
        )
        notices.append(Notice("disturbed", text, option, tuple(runs), _shares(judged, runs)))
    return notices


def _shares(judged: Disturbed, runs: list[int]) -> str:
    """Of every run: `1.77 s or 68.1 % in run 1 and ...`; of many `1.06 s to 2.00 s or ... in runs 1 to 8`."""
    if len(runs) <= _RUNS_IN_FULL:
        return listed([_lost(judged, [run]) for run in runs])
    return _lost(judged, sorted(runs))


def _lost(judged: Disturbed, runs: list[int]) -> str:
    found = [judged.found[run] for run in runs]
    lost = span_of([one.lost_s for one in found], lambda value: quantity(value, "s"))
    share = span_of([one.share for one in found], percent)
    return f"{lost} or {share} in run{'s' * (len(runs) > 1)} {ranges(runs)}"


def _in_turns(judged: Disturbed, labels: Mapping[int, str]) -> str:
    """What disturbance does to ratios between options that took turns: little, if all lost the same share."""
    by_option: dict[str, list[float]] = {}
    lost = {run: found.share for run, found in judged.found.items()}
    for run, share in (judged.undisturbed | lost).items():
        by_option.setdefault(labels[run], []).append(share)
    means = {option: sum(shares) / len(shares) for option, shares in by_option.items()}
    least, most = min(means, key=lambda o: means[o]), max(means, key=lambda o: means[o])
    if means[most] - means[least] < DISTURBED_SHARE:
        return "the options took turns and lost about the same share: trust ratios more than absolute values"
    return (
        f"though the options took turns, {most} lost {percent(means[most])} on average and {least}"
        f" {percent(means[least])}: the ratios of rates and latencies are less favourable to {most} than"
        " undisturbed; trust CPU costs more"
    )


def _redone(evidence: Evidence, judged: Disturbed) -> list[Notice]:
    """In the words of the verdict where the run counts: the lab saw it before all of it was recorded."""
    labels = dict(
        zip(evidence.view("runs")["run"].tolist(), map(str, evidence.view("runs")["option"]), strict=True)
    )
    causes = {
        run: found.sentence(judged.who_works, f"under option {labels[run]}")
        for run, found in judged.found.items()
    }
    table = evidence.view("redone")
    columns = (table[name].tolist() for name in ("run", "block", "status", "cause", "used"))
    blocks: dict[tuple[int, str, bool], list[tuple[int, str]]] = {}
    for run, block, status, cause, used in zip(*columns, strict=True):
        blocks.setdefault((block, status, used), []).append((int(run), causes.get(int(run), str(cause))))
    return [_of_block(*key, sorted(attempt)) for key, attempt in blocks.items()]


def _of_block(block: int, status: str, used: bool, attempt: Sequence[tuple[int, str]]) -> Notice:
    """attempt: its runs that are void or disturbed, each with the cause."""
    runs = tuple(run for run, _ in attempt)
    first, cause = attempt[0]
    were = f"run {first} was" if len(runs) == 1 else f"runs {ranges(runs)} were"
    which = "" if len(runs) == 1 else f"in run {first} "
    counts = "it counts, as the repetition was disturbed more; " if used else ""
    text = f"block {block} was run again, as {were} {status}: {which}{cause};"
    return Notice("block-redone", f"{text} {counts}every attempt is in the bundle", runs=runs)


def _another_study(evidence: Evidence) -> list[Notice]:
    """In the runs that were redone as well, whose notices name the other study as a cause."""
    redone = zip(
        evidence.view("redone")["run"].tolist(), evidence.view("redone")["studies"].tolist(), strict=True
    )
    studies = {**_studies(evidence), **dict(redone)}
    runs = tuple(sorted(run for run, number in studies.items() if number))
    text = "one or more other studies ran on this machine at the same time: run one after the other"
    return [Notice("another-study", text, runs=runs)] if runs else []


def _rates(evidence: Evidence) -> dict[tuple[int, int], dict[tuple[str, str, str], float]]:
    """Rates by monitor, entity and metric, of each run and point."""
    table = evidence.view("rates")
    found: dict[tuple[int, int], dict[tuple[str, str, str], float]] = {}
    for i in np.flatnonzero(np.isin(table["monitor"].astype(str), _MONITORS)):
        key = str(table["monitor"][i]), str(table["entity"][i]), str(table["metric"][i])
        found.setdefault((int(table["run"][i]), int(table["point"][i])), {})[key] = float(
            table["rate_per_s"][i]
        )
    return found


def _studies(evidence: Evidence) -> dict[int, int]:
    """The most other studies at a time, by run."""
    table = evidence.view("gauges")
    mine = (table["monitor"].astype(str) == "disturbance") & (table["metric"].astype(str) == "studies")
    found: dict[int, int] = {}
    for i in np.flatnonzero(mine):
        highest = float(table["highest"][i])
        found[int(table["run"][i])] = int(highest) if np.isfinite(highest) else 0
    return found
