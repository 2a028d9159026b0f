"""What notices mean, by code: the order in which a report shows them, and the list in the docs.

The text of each, with its numbers, is made where they are found. Formats of recordings have codes of their
own, for what a file does not hold.
"""

from __future__ import annotations

# they may overturn the verdict, the gravest first
SEVERE = {
    "disturbed": "others used CPU time that the server or the load engine wanted, or a CPU limit withheld it",
    "server-error": "the server refused some statements; its own message",
    "errors": "transactions failed; figures are of those that succeeded",
    "driver-property": "the driver does not list a property that the study sets",
    "engine-saturated": "the load engine used nearly all CPU that it may use: throughput is its own",
    "backlog": "arrivals of an open loop found no free client: latency is a lower bound",
    "steal": "other virtual machines on the host took CPU time",
    "gauge-not-reclaimed": "something grew and was not released in the cool-down",
    "gauge-full": "something reached its limit",
    "cache-thrash": "a cache is too small for the work: entries are evicted all the time",
    "few-blocks": "fewer blocks than a verdict needs",
    "study-unfinished": "fewer blocks are whole than the study plans",
}
# what the study found beside its answer, those of the whole study before those of single options
FOUND = {
    "another-study": "another study ran on this machine at the same time",
    "block-redone": "a block was run again, with the cause",
    "blocks-differ": "two bundles have not the same number of blocks",
    "carry-over": "a turn leaves something behind for the next one, or for its own second half",
    "data": "what was remarked while data were loaded",
    "data-grew": "tables grew during the study",
    "drift": "a metric drifts within blocks, from one run to the next",
    "drift-over-study": "the work done rose or fell from the first run to the last",
    "drift-within-runs": "the work done rises or falls within runs: no steady state",
    "durability-off": "commits did not wait for storage, as the study chose",
    "engine-bound": "of one of two bundles throughput and latency are the load engine's",
    "file-left-out": "a file or folder under `runs` is of no run",
    "gauge-fills": "something grows steadily",
    "half-width": "intervals are wider than `plan.stop` wants, and how long narrow ones would take",
    "hidden-factor-differs": "a fact of the machine or the server differs between two bundles",
    "hosts-differ": "load hosts with the same share of the work do not do the same",
    "in-process": "the server has no process of its own",
    "incomplete-blocks": "blocks in which an option has no value were left out",
    "instruction-time": "times are counted in instructions, not in seconds",
    "latch-counters-contradict": "counters of a latch contradict one another",
    "latch-hand-over-varies": "the way of a cache line between CPUs was not the same in all measurements",
    "latch-workers-without-cpu": "more workers than CPUs: what the model assumes does not hold",
    "may-be-small": "a difference is proven, but may be smaller than what matters",
    "new-orders": "new orders per second",
    "no-rows": "a statement finds no row under any option",
    "not-compared": "an option or a metric could not be compared, and why",
    "same-runs": "one bundle is a copy of the other",
    "not-interleaved": "runs of two bundles were not interleaved",
    "outlier": "a run is far from the others of its option, and from the others of its block",
    "pace-differs": "options work at different paces: costs and latencies reflect the pace as well",
    "published-figure-differs": "a published figure does not follow from its own counters",
    "reports": "work in the background that got done",
    "retries": "how often transactions were executed again",
    "run-left-out": "a run is damaged, or of another bundle, or a copy",
    "run-missing": "runs are numbered without gaps, and this number is not there",
    "scaling-residuals": "the fitted curve misses a trend in the data",
    "server-differs": "servers of options differ beside the factor",
    "simulation": "what the times of a simulated machine mean",
    "storage-contradicted": "the disks moved less than was counted: these costs are disregarded",
    "storage-in-memory": "data lie in memory: costs of storage were not measured",
    "study-stopped": "the study ended before its last block, by `plan.stop`",
    "table-cannot-matter": "a dispatch table cannot matter to this load",
    "trade-results": "trade results per second",
    "unequal-variances": "options scatter unequally; intervals allow for it",
    "unfair": "some clients did far more work than others",
    "warm-up": "the first seconds of measure still look like warm-up",
    "work-differs": "a statement returns more rows in one of two bundles",
    "work-not-checked": "rows of statements were not counted, so equal work was not checked",
    "work-text": "a statement returns other values under some options, in equal rows",
    "zeros": "a metric is 0 in some runs: compared by differences",
}
# what the machine or the user did not permit, what was not recorded for a time, what the set-up adds
LIMITS = {
    "monitor-silent": "a monitor fell silent while work continued",
    "monitor-lost": "a monitor was lost during a run",
    "probe-lost": "a probe lost events",
    "monitor-partial": "a monitor could not read all of its metrics",
    "monitor-unavailable": "a monitor could not start",
    "probes-differ": "two bundles were measured with other probes",
    "probe-unavailable": "a probe could not start",
    "engine-slept": "the load engine slept before most replies: waking it is part of latency",
    "not-in-turns": "what is not recorded where options take turns",
}
