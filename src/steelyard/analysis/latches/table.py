"""The latch table: counters as ratios, effective hold times, predicted beside measured.

A get misses when it meets a holder, so misses a get are about the utilisation that N - 1 others
cause: with g gets per transaction the effective hold time at N is m(N) / (g X(N-1)).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from steelyard.analysis.judgement.latches import LatchCosts, LatchRow, WhatIf
from steelyard.analysis.judgement.results import Notice
from steelyard.analysis.latches.model import Network
from steelyard.analysis.latches.network import (
    Key,
    at_point,
    costs_of,
    cpu_notices,
    hand_over_notices,
    holds_of,
    network_of,
    rules_of,
)
from steelyard.analysis.latches.simulation import Rules, alternatives, expected
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import listed

_COUNTERS = ("gets", "misses", "spin_gets", "sleeps", "wait_ns", "get_ns", "hand_overs")


@dataclass(frozen=True)
class Latches:
    """All results on latches; empty where none was watched."""

    rows: tuple[LatchRow, ...]
    what_if: tuple[WhatIf, ...]
    notices: tuple[Notice, ...]
    costs: LatchCosts | None = None


@dataclass
class _Sums:
    """Of all runs at one key. A counter that one run lacks is lacking.

    transactions, seconds: of all runs in which latches were watched, in which this one need not have shown.
    counted_apart: gets per transaction times transactions, of the runs in which they were counted in a
    phase of their own, and those transactions; None: in no run.
    """

    counters: dict[str, float]
    children: int
    spin: float | None
    transactions: float = 0.0
    seconds: float = 0.0
    counted_apart: tuple[float, float] | None = None


def effective_hold_ns(misses_per_get: float, gets_per_s_before: float) -> float:
    """Hold time that explains the misses with N workers. gets_per_s_before: with N - 1 of them."""
    return misses_per_get / gets_per_s_before * 1e9


def latches(evidence: Evidence) -> Latches:
    """Every latch, by option and number of clients."""
    sums = _summed(evidence)
    if not sums:
        return Latches((), (), ())
    order = {option.label: i for i, option in enumerate(evidence.options)}
    rows = [_row(key, found) for key, found in sums.items()]
    rows.sort(key=lambda row: (order.get(row.option, 0), row.latch, row.clients))
    holds = holds_of(evidence)
    series = {(row.option, row.latch): [r for r in rows if _same(r, row)] for row in rows}
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
            *_contradictions(done, evidence.study.workload.points_are),
            *((*hand_over_notices(evidence), *cpu_notices(evidence, done)) if predicted else ()),
        ),
        costs_of(evidence) if predicted else None,
    )


def _same(one: LatchRow, other: LatchRow) -> bool:
    return (one.option, one.latch) == (other.option, other.latch)


def _summed(evidence: Evidence) -> dict[Key, _Sums]:
    option_of = dict(zip(evidence.runs["run"].tolist(), map(str, evidence.runs["option"]), strict=True))
    points = evidence.points
    at = {key: i for i, key in enumerate(zip(points["run"].tolist(), points["point"].tolist(), strict=True))}
    table = evidence.latches
    sums: dict[Key, _Sums] = {}
    work: dict[tuple[str, int], tuple[float, float]] = {}
    for key in dict.fromkeys(zip(table["run"].tolist(), table["point"].tolist(), strict=True)):
        if key in at:
            where = option_of[key[0]], int(points["clients"][at[key]])
            done, seconds = work.get(where, (0.0, 0.0))
            more = float(points["transactions"][at[key]]), float(points["seconds"][at[key]])
            work[where] = done + more[0], seconds + more[1]
    for i, key in enumerate(zip(table["run"].tolist(), table["point"].tolist(), strict=True)):
        if key not in at:
            continue
        where = option_of[key[0]], str(table["latch"][i]), int(points["clients"][at[key]])
        spin = float(table["spin"][i])
        family = _Sums(
            dict.fromkeys(_COUNTERS, 0.0), int(table["children"][i]), spin if math.isfinite(spin) else None
        )
        found = sums.setdefault(where, family)
        for name in _COUNTERS:
            found.counters[name] += float(table[name][i])
        found.transactions, found.seconds = work[where[0], where[2]]
    _count_apart(evidence, sums, option_of, at)
    return sums


def _count_apart(
    evidence: Evidence,
    sums: Mapping[Key, _Sums],
    option_of: Mapping[int, str],
    at: Mapping[tuple[int, int], int],
) -> None:
    """Notes gets that were counted apart: a latch without any where others had some had none."""
    points, table = evidence.points, evidence.latch_gets
    gets: dict[Key, float] = {}
    work: dict[tuple[str, int], dict[tuple[int, int], float]] = {}
    columns = (table[name].tolist() for name in ("run", "point", "latch", "gets_per_txn"))
    for run, point, latch, gets_per_txn in zip(*columns, strict=True):
        if (run, point) in at:
            i = at[run, point]
            option, clients, done = (
                option_of[run],
                int(points["clients"][i]),
                float(points["transactions"][i]),
            )
            work.setdefault((option, clients), {})[run, point] = done
            key = option, str(latch), clients
            gets[key] = gets.get(key, 0.0) + gets_per_txn * done
    for key, found in gets.items():
        if key in sums:
            sums[key].counted_apart = found, sum(work[key[0], key[2]].values())


def _row(key: Key, found: _Sums) -> LatchRow:
    known = {name: x if math.isfinite(x) else None for name, x in found.counters.items()}
    sleeps_per_miss = _ratio(known["sleeps"], known["misses"])
    spun = _ratio(known["spin_gets"], known["misses"])
    if spun is None and sleeps_per_miss is not None:
        spun = max(0.0, 1 - sleeps_per_miss)
    option, latch, clients = key
    hand_overs = known.pop("hand_overs")
    return LatchRow(
        option=option,
        latch=latch,
        clients=clients,
        **known,
        children=found.children,
        spin=found.spin,
        hand_overs_per_s=_ratio(hand_overs, found.seconds),
        misses_per_get=_ratio(known["misses"], known["gets"]),
        sleeps_per_miss=sleeps_per_miss,
        gets_per_txn=_ratio(*(found.counted_apart or (known["gets"], found.transactions))),
        sleeps_per_txn=_ratio(known["sleeps"], found.transactions),
        wait_ns_per_txn=_ratio(known["wait_ns"], found.transactions),
        wait_per_sleep_ns=_ratio(known["wait_ns"], known["sleeps"]),
        spin_efficiency=spun,
        hold_ns=None,
        hold_is_measured=False,
        gets_per_s=_ratio(known["gets"], found.seconds),
        predicted_misses_per_get=None,
        predicted_gets_per_s=None,
    )


def _ratio(above: float | None, below: float | None) -> float | None:
    return None if above is None or not below else above / below


def _completed(row: LatchRow, mine: list[LatchRow], network: Network | None, rules: Rules) -> LatchRow:
    if network is not None:
        found = expected(network, row.clients, rules)
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


def _what_if(last: LatchRow, network: Network | None, rules: Rules) -> list[WhatIf]:
    if network is None:
        return []
    return [
        WhatIf(
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
        for change, p in alternatives(network, last.clients, rules)
    ]


def _contradictions(rows: list[LatchRow], points_are: str) -> list[Notice]:
    """Counters that cannot be: each bound holds for every protocol (sleeps + spin_gets >= misses)."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        gets, misses, spun, sleeps = row.gets, row.misses, row.spin_gets, row.sleeps
        wrong = {
            "more misses than gets": gets is not None and misses is not None and misses > gets,
            "more spin gets than misses": misses is not None and spun is not None and spun > misses,
            "misses that neither spun nor slept": None not in (misses, spun, sleeps)
            and (sleeps or 0) + (spun or 0) < (misses or 0),
        }
        for what, true in wrong.items():
            if true:
                found.setdefault((row.option, row.latch, what), []).append(str(row.clients))
    return [
        Notice(
            "latch-counters-contradict",
            f"{latch}: {what} (number of {points_are}: {listed(clients)})",
            option,
        )
        for (option, latch, what), clients in found.items()
    ]
