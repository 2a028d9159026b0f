"""How evenly clients were served, against what chance alone would do."""

import math
from collections.abc import Sequence

import numpy as np

from steelyard.analysis.judgement import Fairness, Notice
from steelyard.analysis.statistics import distributions
from steelyard.analysis.statistics.distributions import Floats
from steelyard.bundle.evidence import Evidence
from steelyard.quantities import percent
from steelyard.study.workloads.program import ProgramWorkload
from steelyard.study.workloads.workload import Workload

_ALPHA = 0.001
_CV_THAT_MATTERS = 0.1


def jain(throughput: Sequence[float] | Floats) -> float:
    """Fairness index of per-client throughput, 1/n (one client has all) to 1 (equal).

    throughput: transactions per client, one run. Raises ValueError when empty or all zero.
    Jain, Chiu & Hawe 1984: (sum x)^2 / (n sum x^2).
    """
    x = np.asarray(throughput, dtype=np.float64)
    if not len(x) or not x.any():
        raise ValueError("fairness of no transactions is not defined")
    x = x / np.abs(x).max()  # so that squares neither overflow nor vanish
    return float(x.sum() ** 2 / (len(x) * (x**2).sum()))


def jain_of_chance(clients: int, mean_transactions: float) -> float:
    """The index expected if clients differ by Poisson noise only: CV^2 = (1 - 1/n) / mean."""
    return 1 / (1 + (1 - 1 / clients) / mean_transactions)


def fairness(evidence: Evidence) -> tuple[Fairness, ...]:
    """For each option and number of clients: medians over runs; points with one client left out.

    unfair: clients differ clearly more than chance makes them (a dispersion test over all runs,
    p < 0.001) and by enough to matter: CV over 10 %. Jain's index is 1 / (1 + CV^2), so that is 0.99; of 8
    clients the quickest then does about a third more than the slowest (the range of 8 normal values is 2.85
    standard deviations; Tippett 1925). The slices of a scheduler alone make a CV of 2 to 4 % in a run of
    seconds, of which no user of a server takes notice. A client without a transaction makes max_over_min
    infinite. Clients that execute other transactions than the rest are left out, but counted. Instances of
    a program count as clients with their scores, without the test: how chance changes a score is not known.
    """
    of_instances = isinstance(evidence.workload, ProgramWorkload)
    apart = evidence.workload.clients_apart
    served = "instance as client, score::DOUBLE" if of_instances else "client, transactions::DOUBLE"
    query = f"""
        with counts as (
            select option, run, point, list(served order by client) as served
            from (select run, point, {served} as served from {"scores" if of_instances else "clients"})
                join points using (run, point)
            where client >= $apart group by option, run, point having count(*) > 1 and max(served) > 0
        )
        select option, len(served) + $apart as clients, list(served order by run, point)
        from counts group by option, clients order by clients
    """
    return tuple(
        _of_runs(label, clients, [np.array(one) for one in runs], of_instances)
        for label, clients, runs in evidence.in_order(query, apart=apart)
    )


def fairness_notices(found: Sequence[Fairness], workload: Workload) -> list[Notice]:
    """unfair: one per option and number of clients, with the scatter between them.

    None of a replay, whose clients play sessions of any length.
    """
    if not workload.steady and not workload.in_rounds:
        return []
    points_are = workload.points_are
    work = "did far more work than others in the same time"
    more = "took far longer than others" if workload.lower_is_better else work
    of_chance = "" if isinstance(workload, ProgramWorkload) else ", by more than chance explains"
    text = f"some {points_are} {more}{of_chance}: a mean over {points_are} hides that; the report shows each"
    return [
        Notice("unfair", text, one.option, detail=f"CV {percent(one.cv)} of {one.clients} {points_are}")
        for one in found
        if one.unfair
    ]


def _of_runs(label: str, clients: int, runs: list[Floats], of_instances: bool) -> Fairness:
    compared = len(runs[0])
    cv = _median([x.std() / x.mean() for x in runs])
    # variance over mean of Poisson counts; sums of chi-squares over runs are chi-square again
    dispersion = sum(float(((x - x.mean()) ** 2).sum() / x.mean()) for x in runs)
    chance = distributions.chi2_tail(dispersion, len(runs) * (compared - 1))
    return Fairness(
        option=label,
        clients=clients,
        jain=_median([jain(x) for x in runs]),
        jain_null=1.0 if of_instances else _median([jain_of_chance(compared, float(x.mean())) for x in runs]),
        min_over_mean=_median([x.min() / x.mean() for x in runs]),
        max_over_min=_median([x.max() / x.min() if x.min() > 0 else math.inf for x in runs]),
        cv=cv,
        unfair=cv > _CV_THAT_MATTERS and (of_instances or chance < _ALPHA),
    )


def _median(values: Sequence[float]) -> float:
    return float(np.median(np.asarray(values, dtype=np.float64)))
