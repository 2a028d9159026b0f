"""How evenly clients were served, against what chance alone would do."""

from collections.abc import Sequence

from steelyard.analysis.judgement import Fairness, Notice
from steelyard.analysis.statistics.distributions import chi2_tail
from steelyard.bundle.evidence import Evidence
from steelyard.quantities import percent
from steelyard.study.workloads.program import ProgramWorkload
from steelyard.study.workloads.workload import Workload

_ALPHA = 0.001
_CV_THAT_MATTERS = 0.1


# Jain's index, (sum x)^2 / (n sum x^2), is 1 / (1 + CV^2) (Jain, Chiu & Hawe 1984); by chance (Poisson noise)
# CV^2 is (1 - 1/n) / mean. Variance over mean of such counts, summed over runs, is distributed as chi-square
_FAIRNESS = """
    with of_runs as (
        select option, count(*) as n, avg(served) as mean, stddev_pop(served) / mean as cv,
            min(served) / mean as least, coalesce(ratio(max(served), min(served)), 'inf') as most
        from (select run, point, {served}::DOUBLE as served from {table} where {client} >= $apart)
            join points using (run, point)
        group by option, run, point having n > 1 and max(served) > 0
    )
    select option, sum(n * cv * cv * mean), sum(n - 1), n + $apart as clients, median(1 / (1 + cv * cv)),
        median(1 / (1 + {chance} * (1 - 1 / n) / mean)), median(least), median(most), median(cv)
    from of_runs group by option, n order by clients
"""


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
    workload = evidence.workload
    query = _FAIRNESS.format(table="clients", client="client", served="transactions", chance=1)
    if of_instances := isinstance(workload, ProgramWorkload):
        query = _FAIRNESS.format(table="scores", client="instance", served="score", chance=0)
    return tuple(
        Fairness(option, *rest, unfair=rest[-1] > _CV_THAT_MATTERS and (of_instances or chance < _ALPHA))
        for option, dispersion, freedom, *rest in evidence.in_order(query, apart=workload.clients_apart)
        for chance in [chi2_tail(dispersion, freedom)]
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
