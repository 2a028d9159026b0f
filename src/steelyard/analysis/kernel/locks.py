"""The lock table: waits for kernel locks, by lock and by call site, as lockmeter set them out.

What a source does not report stays None, never 0: tracepoints report waits alone, lockmeter of holds
and all acquisitions too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from steelyard.analysis.judgement.kernel import LockRow
from steelyard.analysis.kernel.profile import transactions_of
from steelyard.bundle.evidence.evidence import Evidence

TOTAL = "*TOTAL*"
FOREIGN = "other processes"
_FOREIGN_ROLE = "other"
# waiters for these burn CPU; waiters for all others sleep
_SPINNING = ("spinlock", "rwlock:R", "rwlock:W")
_Key = tuple[str, str, str]  # lock, type, call site


@dataclass
class _Sums:
    """At one key, over the runs of an option. None: not known of one of them."""

    contended: float | None = 0.0
    acquisitions: float | None = 0.0
    wait_ns: float | None = 0.0
    wait_max_ns: float | None = None
    spun_ns: float = 0.0
    told_cpu_percent: float | None = None
    utilisation_percent: float | None = None
    hold_mean_ns: float | None = None
    hold_max_ns: float | None = None


@dataclass(frozen=True)
class _Option:
    label: str
    transactions: float
    cpu_ns: float


def locks(evidence: Evidence) -> tuple[LockRow, ...]:
    """For each option the total first, then every lock and its call sites, the longest waits first.

    Processes that are no part of the study have one row of their own. Empty where no lock was traced.
    """
    table = evidence.view("locks")
    if not len(table["run"]):
        return ()
    option_of = dict(
        zip(evidence.view("runs")["run"].tolist(), map(str, evidence.view("runs")["option"]), strict=True)
    )
    found: dict[str, dict[_Key, _Sums]] = {}
    for i, run in enumerate(table["run"].tolist()):
        row = {name: table[name][i] for name in table}
        if str(row["role"]) == _FOREIGN_ROLE:
            keys: list[_Key] = [(FOREIGN, "", "")]
        else:
            lock, kind, site = str(row["lock"]), str(row["type"]), str(row["call_site"])
            keys = [(lock, kind, site)]
            keys += [(lock, kind, "")] if site else []
            keys += [(TOTAL, "", "")] if lock != TOTAL and str(row["role"]) else []
        for key in keys:
            _add(found.setdefault(option_of[run], {}).setdefault(key, _Sums()), row)
    out: list[LockRow] = []
    for option in (o.label for o in evidence.options if o.label in found):
        mine = _of(evidence, option, option_of)
        rows = [_row(mine, key, sums) for key, sums in found[option].items()]
        weight = {(row.lock, row.type): row.wait_us_per_txn or 0.0 for row in rows if not row.call_site}
        rows.sort(key=lambda row: _place(row, weight))
        out += rows
    return tuple(out)


def _place(row: LockRow, weight: dict[tuple[str, str], float]) -> tuple[Any, ...]:
    """Total, then locks by their waits with their call sites below, foreign processes last."""
    group = 0 if row.lock == TOTAL else 2 if row.lock == FOREIGN else 1
    waits = row.wait_us_per_txn or 0.0
    return group, -weight[row.lock, row.type], row.lock, row.type, bool(row.call_site), -waits


def _add(sums: _Sums, row: dict[str, Any]) -> None:
    sums.contended = _plus(sums.contended, row["contended"])
    sums.acquisitions = _plus(sums.acquisitions, row["acquisitions"])
    sums.wait_ns = _plus(sums.wait_ns, row["wait_total_ns"])
    if str(row["type"]) in _SPINNING:
        sums.spun_ns += float(row["wait_total_ns"])
    sums.told_cpu_percent = _most(sums.told_cpu_percent, row["wait_cpu_percent"])
    for name in ("wait_max_ns", "utilisation_percent", "hold_mean_ns", "hold_max_ns"):
        setattr(sums, name, _most(getattr(sums, name), row[name]))


def _plus(sum_: float | None, value: float) -> float | None:
    return None if sum_ is None or math.isnan(value) else sum_ + float(value)


def _most(highest: float | None, value: float) -> float | None:
    return highest if math.isnan(value) else max(highest or 0.0, float(value))


def _of(evidence: Evidence, option: str, option_of: dict[int, str]) -> _Option:
    # a run without a wait has no row, and counts all the same
    seen = option_of if evidence.study.probes.locks else set(evidence.view("locks")["run"].tolist())
    traced = {run for run in seen if option_of[run] == option}
    # of what was published only rates are known: costs per transaction are not known
    work = {} if evidence.study.subject.kind == "recording" else transactions_of(evidence)
    points = evidence.view("points")
    seconds = sum(
        s for r, s in zip(points["run"].tolist(), points["seconds"].tolist(), strict=True) if r in traced
    )
    return _Option(option, sum(work.get(run, 0.0) for run in traced), seconds * 1e9 * evidence.probed_cpus)


def _row(option: _Option, key: _Key, sums: _Sums) -> LockRow:
    lock, kind, site = key
    wait_ns, done = sums.wait_ns, option.transactions
    cpu_percent = sums.told_cpu_percent
    spins = kind in _SPINNING or lock in (TOTAL, FOREIGN)
    if cpu_percent is None and spins and option.cpu_ns and wait_ns is not None:
        cpu_percent = 100 * sums.spun_ns / option.cpu_ns
    row = LockRow(
        option=option.label,
        lock=lock,
        type=kind,
        call_site=site,
        utilisation_percent=sums.utilisation_percent,
        contention_percent=None,
        hold_mean_ns=sums.hold_mean_ns,
        hold_max_ns=sums.hold_max_ns,
        wait_mean_ns=wait_ns / sums.contended if wait_ns is not None and sums.contended else None,
        wait_max_ns=sums.wait_max_ns,
        cpu_percent=cpu_percent,
        acquisitions=sums.acquisitions,
        contended=sums.contended,
        contended_per_txn=sums.contended / done if sums.contended is not None and done else None,
        wait_us_per_txn=wait_ns / 1e3 / done if wait_ns is not None and done else None,
    )
    if row.acquisitions and row.contended is not None:
        row = replace(row, contention_percent=100 * row.contended / row.acquisitions)
    return row
