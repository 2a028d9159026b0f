"""The latch table: counters as ratios, effective hold times, predicted beside measured.

A get misses when it meets a holder, so misses a get are about the utilisation that N - 1 others
cause: with g gets per transaction the effective hold time at N is m(N) / (g X(N-1)).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from steelyard.analysis.judgement import Notice
from steelyard.analysis.judgement.latches import LatchCosts, LatchRow, WhatIf
from steelyard.analysis.latches.model import Network
from steelyard.analysis.latches.network import (
    at_point,
    costs_of,
    cpu_notices,
    hand_over_notices,
    holds_of,
    network_of,
    rules_of,
)
from steelyard.analysis.latches.simulation import Rules, alternatives, simulate
from steelyard.bundle.evidence import Evidence, grouped
from steelyard.quantities import listed

# a counter that one run lacks is lacking. Work is that of all runs in which latches were watched, in which
# this one need not have shown; gets that were counted in a phase of their own are of the runs that have one
_ROWS = """
    with work as (
        select option, clients, sum(transactions) as transactions, sum(seconds) as seconds
        from points semi join latches using (run, point) group by option, clients
    ), counting as (
        select option, clients, sum(transactions) as transactions
        from points semi join latch_gets using (run, point) group by option, clients
    ), apart as (
        select option, latch, clients, sum(g.gets_per_txn * p.transactions) as gets
        from latch_gets g join points p using (run, point) group by option, latch, clients
    ), sums as (
        select option, latch, clients, whole(gets) as gets, whole(misses) as misses,
            whole(spin_gets) as spin_gets, whole(sleeps) as sleeps, whole(wait_ns) as wait_ns,
            whole(get_ns) as get_ns, whole(hand_overs) as hand_overs,
            first(children order by run) as children, first(spin order by run) as spin
        from latches join points using (run, point) group by option, latch, clients
    ), ratios as (
        select *, ratio(misses, gets) as misses_per_get, ratio(sleeps, misses) as sleeps_per_miss,
            ratio(sleeps, transactions) as sleeps_per_txn, ratio(wait_ns, transactions) as wait_ns_per_txn,
            ratio(wait_ns, sleeps) as wait_per_sleep_ns, ratio(gets, seconds) as gets_per_s,
            ratio(hand_overs, seconds) as hand_overs_per_s
        from sums join work using (option, clients)
    )
    select r.* exclude (hand_overs, transactions, seconds),
        if(a.gets is null, ratio(r.gets, r.transactions), ratio(a.gets, c.transactions)) as gets_per_txn,
        coalesce(ratio(spin_gets, misses), if(sleeps_per_miss > 1, 0, 1 - sleeps_per_miss))
            as spin_efficiency,
        null as hold_ns, false as hold_is_measured, null as predicted_misses_per_get,
        null as predicted_gets_per_s
    from ratios r left join apart a using (option, latch, clients)
        left join counting c using (option, clients)
    order by latch, clients
"""


@dataclass(frozen=True)
class Latches:
    """All results on latches; empty where none was watched."""

    rows: tuple[LatchRow, ...]
    what_if: tuple[WhatIf, ...]
    notices: tuple[Notice, ...]
    costs: LatchCosts | None = None


def effective_hold_ns(misses_per_get: float, gets_per_s_before: float) -> float:
    """Hold time that explains the misses with N workers. gets_per_s_before: with N - 1 of them."""
    return misses_per_get / gets_per_s_before * 1e9


def latches(evidence: Evidence) -> Latches:
    """Every latch, by option and number of clients."""
    rows = [LatchRow(**row) for row in evidence.records(_ROWS)]
    if not rows:
        return Latches((), (), ())
    holds = holds_of(evidence)
    series = grouped(((row.option, row.latch), row) for row in rows)
    done: list[LatchRow] = []
    what_if: list[WhatIf] = []
    for mine in series.values():
        network, rules = network_of(evidence, mine, holds), rules_of(evidence, mine[0])
        there = {
            row.clients: at_point(evidence, network, row, holds, rules)
            for row in mine
            if network is not None and (row.option, row.latch, row.clients) in holds
        }
        done += [_completed(row, mine, there.get(row.clients), rules) for row in mine]
        what_if += _what_if(mine[-1], there.get(mine[-1].clients), rules)
    predicted = any(row.predicted_gets_per_s is not None for row in done)
    return Latches(
        tuple(done),
        tuple(what_if),
        (
            *_contradictions(done, evidence.workload.points_are),
            *((*hand_over_notices(evidence), *cpu_notices(evidence, done)) if predicted else ()),
        ),
        costs_of(evidence) if predicted else None,
    )


def _completed(row: LatchRow, mine: list[LatchRow], network: Network | None, rules: Rules) -> LatchRow:
    if network is not None:
        found = simulate(network, row.clients, rules)
        return replace(
            row,
            hold_ns=network.holds.mean_ns,
            hold_is_measured=True,
            predicted_misses_per_get=found.misses_per_get,
            predicted_gets_per_s=found.gets_per_s,
            predicted_sleeps_per_miss=found.sleeps_per_miss,
            predicted_gets_per_s_half=found.gets_per_s_half,
            predicted_misses_per_get_half=found.misses_per_get_half,
            predicted_sleeps_per_miss_half=found.sleeps_per_miss_half,
        )
    known = [(r.clients, r.gets_per_s) for r in mine if r.gets_per_s]
    if row.misses_per_get is None or len(known) < 2 or row.clients - 1 < known[0][0]:
        return row
    before = float(np.interp(row.clients - 1, [n for n, _ in known], [x for _, x in known]))
    return replace(row, hold_ns=effective_hold_ns(row.misses_per_get, before))


def _what_if(last: LatchRow, network: Network | None, rules: Rules) -> Iterator[WhatIf]:
    for change, p in alternatives(network, last.clients, rules) if network else ():
        yield WhatIf(
            last.option,
            last.latch,
            last.clients,
            change,
            p.gets_per_s,
            p.misses_per_get,
            p.sleeps_per_miss,
            p.wait_mean_ns,
            p.gets_per_s_half,
            p.misses_per_get_half,
        )


def _contradictions(rows: list[LatchRow], points_are: str) -> list[Notice]:
    """Counters that cannot be: each bound holds for every protocol (sleeps + spin_gets >= misses)."""
    wrong = grouped(
        ((row.option, row.latch, what), str(row.clients)) for row in rows for what in _impossible(row)
    )
    return [
        Notice(
            "latch-counters-contradict",
            f"{latch}: {what} (number of {points_are}: {listed(clients)})",
            option,
        )
        for (option, latch, what), clients in wrong.items()
    ]


def _impossible(row: LatchRow) -> Iterator[str]:
    gets, misses, spun, sleeps = row.gets, row.misses, row.spin_gets, row.sleeps
    if gets is not None and misses is not None and misses > gets:
        yield "more misses than gets"
    if misses is not None and spun is not None and spun > misses:
        yield "more spin gets than misses"
    if misses is not None and spun is not None and sleeps is not None and sleeps + spun < misses:
        yield "misses that neither spun nor slept"
