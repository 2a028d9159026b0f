"""Whether the load engine slept before most replies: a property of the set-up, not of the server.

A CPU at rest must be woken for each statement: the engine's for the reply, the server's for the request. On
virtual machines that costs about 10 us, which is part of latency and of CPU per transaction then
(docs/performance.md).
"""

from __future__ import annotations

from steelyard.analysis.judgement.results import Notice
from steelyard.analysis.validity.stability import merged
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import percent, span_of
from steelyard.study.workloads.arrival import ClientWorkload

# of the replies
_MOST = 0.5

# voluntary switches of the engine per reply: a transaction of one statement has no rows by statement
_SLEPT = """
    with replied as (
        select run, point, option, any_value(seconds) as seconds, greatest(any_value(transactions),
            coalesce(sum(count) filter (statement <> 'transaction'), 0)) as replies
        from points left join latency using (run, point) group by run, point, option
    )
    select option, run, max(least(1, ratio(rate_per_s * seconds, replies))) as share
    from replied join rates using (run, point)
    where monitor = 'processes' and entity = 'engine' and metric = 'voluntary_switches_total'
        and list_contains($options::VARCHAR[], option)
    group by option, run having share > $most order by run
"""


def sleep_notices(evidence: Evidence) -> list[Notice]:
    """engine-slept, for loads in which clients send at once what they have received."""
    sends_at_once = [
        option.label
        for option in evidence.options
        if isinstance(option.workload, ClientWorkload)
        and not option.workload.open_loop
        and not option.workload.thinks
    ]
    several = " at one load point or more" if len(evidence.study.plan.clients) > 1 else ""
    return merged(
        "engine-slept",
        evidence.rows(_SLEPT, options=sends_at_once, most=_MOST),
        f"the load engine slept before most replies{several}: a CPU at rest is woken for each statement,"
        " about 10 µs on virtual machines: a property of this set-up, not of the server (more clients, or"
        " plan.pin = false, keep CPUs awake)",
        lambda shares: f"{span_of(shares, percent)} of replies",
    )
