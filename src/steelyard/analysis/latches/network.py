"""The model's inputs for one latch: what was run, as the study resolves it, and what it cost, as measured."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from steelyard import _core
from steelyard.analysis.judgement import Notice
from steelyard.analysis.judgement.latches import LatchCosts, LatchRow
from steelyard.analysis.latches.model import BASE_SLICE_NS, Holds, Network, Wake, think_ns
from steelyard.analysis.latches.simulation import Rules, woken_as_measured
from steelyard.bundle.evidence import Evidence
from steelyard.study.workloads.lookups import CacheWorkload

Key = tuple[str, str, int]  # option, latch, clients
_SLEEPS_MIN = 1000  # fewer give too poor an estimate of how long one lasts
_SLEEPS_PER_MISS_MIN = 0.1  # rarer ones are mostly for holders without a CPU: no wake-up takes that long
_VARIES = 0.25  # of the median, between the 10th and the 90th percentile
_MEASURED_MIN = 5
_CPU_MIN = 0.9  # of the time in which workers neither sleep nor wait for one another
# measured before each point: those of the latch, where it is spun for, else of a cache line
_HAND_OVERS = """
    select option, coalesce(max(highest) filter (metric = 'hand_over_ns'), max(highest)) as ns
    from peaks join runs using (run) where metric in ('hand_over_ns', 'line_transfer_ns')
    group by option, run, point
"""


def holds_of(evidence: Evidence) -> dict[Key, Holds]:
    """Hold times by key: each quantile the mean of the runs' own, which keeps the mean of all holds."""
    query = """
        select option, latch, clients, list(ns), any_value(share) from holds join points using (run, point)
        where list_max(ns) > 0 group by option, latch, clients
    """
    return {(*key,): Holds.of(np.mean(runs, axis=0), share) for *key, runs, share in evidence.rows(query)}


def rules_of(evidence: Evidence, row: LatchRow) -> Rules:
    """A protocol of ours is known by its name; of any other latch, gets exclude one another."""
    facts = next((p for p in _core.latch_protocols() if p["name"] == row.latch), None)
    workload = evidence.option(row.option).workload
    read_share = workload.read_share if isinstance(workload, CacheWorkload) else 1.0
    if facts is None:
        return Rules(read_share=read_share)
    return Rules(in_turn=facts["in_turn"], shared_gets=facts["shared"], read_share=read_share)


def network_of(evidence: Evidence, mine: list[LatchRow], holds: Mapping[Key, Holds]) -> Network | None:
    """The model of one latch, its think time from the fewest workers; None without hold times."""
    first = mine[0]
    held = holds.get((first.option, first.latch, first.clients))
    if held is None or not first.gets_per_s:
        return None
    costs = evidence.calibration
    turn_ns = costs.get("spin_turn_ns")
    network = Network(
        held,
        # waits at the fewest workers are taken for thinking: measure with one
        think_ns(first.gets_per_s, first.clients, held),
        spin_ns=math.inf if first.spin is None or turn_ns is None else first.spin * turn_ns,
        hand_over_ns=costs.get("hand_over_ns", 0.0),
        wake_up_ns=costs.get("wake_up_ns", 0.0),
        switch_ns=costs.get("wake_up_same_cpu_ns", 0.0),
        wakes=tuple(Wake(**wake) for wake in costs.get("wakes", ())),
        children=first.children,
        cpus=evidence.topology.cpus,
    )
    workload = evidence.option(first.option).workload
    return _as_run(network, workload) if isinstance(workload, CacheWorkload) else network


def _as_run(network: Network, workload: CacheWorkload) -> Network:
    """The loop that the latch lab's workers run: a constant think time, then the gets of one lookup.

    What a lookup alone takes beyond holds and think time, getting and releasing, is spread over its gets.
    """
    gets = workload.gets_per_lookup
    apart_ns = gets * network.think_ns  # of a lookup without its holds, measured
    between_ns = max(0.0, apart_ns - workload.think_ns) / gets
    return replace(
        network,
        think_ns=apart_ns - (gets - 1) * between_ns,
        between_ns=between_ns,
        gets_per_lookup=gets,
        think_is_constant=True,
        line_ns=network.hand_over_ns,
    )


def at_point(
    evidence: Evidence, network: Network, row: LatchRow, holds: Mapping[Key, Holds], rules: Rules
) -> Network:
    """The network as it was with so many workers: their own holds, hand-over, wake-ups and lost CPUs."""
    own = holds[row.option, row.latch, row.clients]
    cpus = network.cpus or row.clients
    if row.clients > cpus:
        # holds of workers that lost their CPU are long; the simulation has them lose it, so holds are taken
        # from where each had one
        fewer = [key for key in holds if key[:2] == (row.option, row.latch) and key[2] <= cpus]
        own = holds[max(fewer, key=lambda key: key[2])] if fewer else own
    pauses = evidence.calibration.get("pauses")
    if pauses:
        own = own.without(pauses["common"], pauses["pause_ns"])
    seen = _workers_at(evidence, row)
    line_ns = seen.get("line_transfer_ns", network.line_ns)
    hand_over_ns = seen.get("hand_over_ns") or line_ns or network.hand_over_ns
    lost = seen.get("switches_involuntary", 0.0)
    sleeps, system_ns = row.sleeps or 0.0, seen.get("cpu_system_ns", 0.0)
    cpu_ns = seen.get("cpu_user_ns", 0.0) + system_ns
    now = replace(
        network,
        holds=own,
        hand_over_ns=hand_over_ns,
        line_ns=line_ns if network.line_ns else 0.0,
        slice_ns=max(cpu_ns / lost, 1e3) if lost and cpu_ns else BASE_SLICE_NS,
    )
    often = sleeps >= _SLEEPS_MIN and (row.sleeps_per_miss or 0.0) >= _SLEEPS_PER_MISS_MIN
    if often and row.wait_per_sleep_ns and system_ns and network.wakes:
        return woken_as_measured(now, row.clients, rules, row.wait_per_sleep_ns, system_ns / sleeps)
    return now


def _workers_at(evidence: Evidence, row: LatchRow) -> dict[str, float]:
    """What the workers of a point counted of themselves, sums over runs; the hand-over: median."""
    query = """
        select metric, if(metric in ('line_transfer_ns', 'hand_over_ns'), median(highest), sum(highest))
        from peaks join points using (run, point) where option = $option and clients = $clients
        group by metric
    """
    return dict(evidence.rows(query, option=row.option, clients=row.clients))


def costs_of(evidence: Evidence) -> LatchCosts | None:
    """The hand-over as measured before each point, else as calibrated; None where neither was."""
    known = evidence.calibration
    query = f"select median(ns), min(ns), max(ns), count(*) from ({_HAND_OVERS})"
    ((median, least, most, count),) = evidence.rows(query)
    if not count and "hand_over_ns" in known:
        median, least, most, count = *[float(known["hand_over_ns"])] * 3, 1
    if not count:
        return None
    longest = max(known.get("wakes", ()), key=lambda wake: wake["asleep_ns"], default=None)
    return LatchCosts(
        median,
        least,
        most,
        count,
        tuple(known.get("cpus", ())),
        known.get("cpus_share", ""),
        longest and longest["wake_ns"],
        longest and longest["post_ns"],
    )


def hand_over_notices(evidence: Evidence) -> list[Notice]:
    """That an option's hand-over differed from point to point by more than a quarter of its median."""
    cpus = " and ".join(map(str, evidence.calibration.get("cpus", ())))
    between = f" between CPUs {cpus}" if cpus else ""
    text = f"the hand-over{between} was not stable: each prediction uses that of its own points"
    query = f"select option, count(*), quantile_cont(ns, [0.1, 0.5, 0.9]) from ({_HAND_OVERS}) group by all"
    return [
        Notice(
            "latch-hand-over-varies",
            text,
            option,
            detail=f"8 of 10 of {count} took {low:.3g} to {high:.3g} ns, median {middle:.3g} ns",
        )
        for option, count, (low, middle, high) in evidence.in_order(query)
        if count >= _MEASURED_MIN and high - low > _VARIES * middle
    ]


def cpu_notices(evidence: Evidence, rows: list[LatchRow]) -> Iterator[Notice]:
    """That workers were kept from their CPUs by others, for which no prediction allows."""
    for row in rows:
        if row.clients > (evidence.topology.cpus or 0) or row.predicted_gets_per_s is None:
            continue
        seen = _workers_at(evidence, row)
        cpu_ns = seen.get("cpu_user_ns", 0.0) + seen.get("cpu_system_ns", 0.0)
        query = "select sum(seconds) from points where option = $option and clients = $clients"
        seconds = evidence.column(query, option=row.option, clients=row.clients)[0]
        had = (cpu_ns + (row.wait_ns or 0.0)) / (row.clients * seconds * 1e9)
        if cpu_ns and had < _CPU_MIN:
            text = (
                "the workers had no CPU for part of the time although there was one for each: predictions do"
                " not hold, measure again on a quiet machine"
            )
            detail = f"at {row.clients} they ran or slept for {100 * had:.3g} % of the time"
            yield Notice("latch-workers-without-cpu", text, row.option, detail=detail)
