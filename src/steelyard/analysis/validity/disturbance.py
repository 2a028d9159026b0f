"""Runs in which other work kept the server or the load engine from its CPUs, by what the bundle holds.

The rule is that of the lab (run_tables/disturbance.py), whatever plan.disturbed said.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.analysis.judgement import Notice
from steelyard.bundle.evidence import Evidence, grouped
from steelyard.quantities import count, listed, percent, quantity, ranges, span_of
from steelyard.run_tables.disturbance import DISTURBED_SHARE, ROLES, Disturbance, cpu_use, disturbance
from steelyard.study.host_settings import cpus_by_role

_RATES = """
    select p.run, p.option, p.seconds, list((monitor, entity, metric)), list(rate_per_s)
    from points p left join (from rates where monitor in ('host', 'processes', 'disturbance')
        and (suffix(metric, '_ns_total') or monitor <> 'host')) using (run, point)
    group by p.run, p.point, p.option, p.seconds order by p.run, p.point
"""


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
    found: dict[int, Disturbance] = {}
    shares: dict[int, float] = {}
    studies = _studies(evidence)
    for run, option, seconds, keys, per_s in evidence.rows(_RATES) if evidence.placement else ():
        host = evidence.option(option).host
        cpus = cpus_by_role(host, evidence.placement["server"], evidence.placement["engine"])
        seen = dict[Any, float](zip(keys or (), per_s or (), strict=True))
        for use in filter(None, (cpu_use(seen, seconds, role, cpus) for role in ROLES)):
            shares[run] = max(shares.get(run, 0.0), use.share)
        one = disturbance(seen, seconds, cpus, studies.get(run, 0))
        if one and (run not in found or one.lost_s > found[run].lost_s):
            found[run] = one
    rest = {run: share for run, share in shares.items() if run not in found}
    return Disturbed(found, len(evidence.rows("from runs")), evidence.workload.WHO, rest)


_RUNS_IN_FULL = 4  # of more, the span of what they lost


def disturbance_notices(evidence: Evidence, judged: Disturbed) -> list[Notice]:
    """disturbed: by option and run; block-redone: what the lab ran again; another-study: on the machine."""
    labels = dict(evidence.rows("select run, option from runs"))
    redone = _redone(evidence, judged, labels)
    return [*_by_option(evidence, judged, labels), *redone, *_another_study(evidence)]


def _by_option(evidence: Evidence, judged: Disturbed, labels: Mapping[int, str]) -> Iterator[Notice]:
    by_option = grouped(((labels[run], one.cause == "CPU limit"), run) for run, one in judged.found.items())
    for (option, limited), runs in by_option.items():
        taken = "the CPU limit of the lab's control group withheld" if limited else "others used"
        mend = "under a higher limit" if limited else "on a quieter machine"
        alone = f"trust CPU costs more than rates and times, and repeat the study {mend}"
        text = (
            f"disturbed: {taken} CPU time for which tasks of the {judged.who_works}, or of the load engine,"
            " waited; in parentheses how much, and its share of the CPU time that these tasks wanted;"
            f" {_in_turns(judged, labels) if evidence.rows('from turns') else alone}"
        )
        yield Notice("disturbed", text, option, tuple(runs), _shares(judged, runs))


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
    lost = judged.undisturbed | {run: found.share for run, found in judged.found.items()}
    by_option = grouped((labels[run], share) for run, share in lost.items())
    means = {option: sum(shares) / len(shares) for option, shares in by_option.items()}
    least, most = min(means, key=lambda o: means[o]), max(means, key=lambda o: means[o])
    if means[most] - means[least] < DISTURBED_SHARE:
        return "the options took turns and lost about the same share: trust ratios more than absolute values"
    return (
        f"though the options took turns, {most} lost {percent(means[most])} on average and {least}"
        f" {percent(means[least])}: the ratios of rates and latencies are less favourable to {most} than"
        " undisturbed; trust CPU costs more"
    )


def _redone(evidence: Evidence, judged: Disturbed, labels: Mapping[int, str]) -> list[Notice]:
    """In the words of the verdict where the run counts: the lab saw it before all of it was recorded."""
    causes = {
        run: found.sentence(judged.who_works, f"under option {labels[run]}")
        for run, found in judged.found.items()
    }
    query = "select block, status, used, run, cause from redone order by rowid"
    blocks = grouped(
        ((block, status, used), (run, causes.get(run) or cause))
        for block, status, used, run, cause in evidence.rows(query)
    )
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
    studies = {**_studies(evidence), **dict(evidence.rows("select run, studies from redone"))}
    runs = tuple(sorted(run for run, number in studies.items() if number))
    text = "one or more other studies ran on this machine at the same time: run one after the other"
    return [Notice("another-study", text, runs=runs)] if runs else []


def _studies(evidence: Evidence) -> dict[int, int]:
    """The most other studies at a time, by run."""
    query = """
        select run, coalesce(highest, 0)::INTEGER from gauges
        where monitor = 'disturbance' and metric = 'studies'
    """
    return dict(evidence.rows(query))
