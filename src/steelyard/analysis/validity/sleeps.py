"""Whether the load engine slept before most replies: a property of the set-up, not of the server.

A CPU at rest must be woken for each statement: the engine's for the reply, the server's for the request. On
virtual machines that costs about 10 us, which is part of latency and of CPU per transaction then
(docs/performance.md).
"""

from __future__ import annotations

import numpy as np

from steelyard.analysis.judgement.results import Notice
from steelyard.analysis.metrics.run_metrics import RunMetrics
from steelyard.analysis.validity.stability import Finding, merged
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import percent, span_of
from steelyard.study.workloads.arrival import ClientWorkload

# of the replies
_MOST = 0.5

_Place = tuple[int, int]


def sleep_notices(evidence: Evidence, run_metrics: RunMetrics) -> list[Notice]:
    """engine-slept, for loads in which clients send at once what they have received."""
    sends_at_once = {
        option.label
        for option in evidence.options
        if isinstance(option.workload, ClientWorkload)
        and not option.workload.open_loop
        and not option.workload.thinks
    }
    option_of = dict(zip(run_metrics.run.tolist(), run_metrics.option.tolist(), strict=True))
    slept: dict[int, float] = {}
    for (run, _), share in _sleeps_per_reply(evidence).items():
        if option_of.get(run) in sends_at_once:
            slept[run] = max(slept.get(run, 0.0), share)
    several = " at one load point or more" if len(evidence.study.plan.clients) > 1 else ""
    return merged(
        run_metrics,
        "engine-slept",
        [Finding(run, min(share, 1.0)) for run, share in slept.items() if share > _MOST],
        f"the load engine slept before most replies{several}: a CPU at rest is woken for each statement,"
        " about 10 µs on virtual machines: a property of this set-up, not of the server (more clients, or"
        " plan.pin = false, keep CPUs awake)",
        lambda shares: f"{span_of(shares, percent)} of replies",
    )


def _sleeps_per_reply(evidence: Evidence) -> dict[_Place, float]:
    """Voluntary switches of the engine's threads per reply, by run and load point."""
    rates, latency, points = evidence.view("rates"), evidence.view("latency"), evidence.view("points")
    replies: dict[_Place, float] = {}
    columns = (latency[name].tolist() for name in ("run", "point", "statement", "count"))
    for run, point, statement, count in zip(*columns, strict=True):
        if statement != "transaction":
            replies[run, point] = replies.get((run, point), 0.0) + count
    seconds: dict[_Place, float] = {}
    names = ("run", "point", "seconds", "transactions")
    for run, point, length, transactions in zip(*(points[name].tolist() for name in names), strict=True):
        seconds[run, point] = length
        # a transaction of one statement has no rows by statement
        replies[run, point] = max(replies.get((run, point), 0.0), transactions)
    engine = (rates["monitor"] == "processes") & (rates["entity"] == "engine")
    found: dict[_Place, float] = {}
    for i in np.flatnonzero(engine & (rates["metric"] == "voluntary_switches_total")).tolist():
        place = int(rates["run"][i]), int(rates["point"][i])
        if replies.get(place):
            found[place] = float(rates["rate_per_s"][i]) * seconds[place] / replies[place]
    return found
