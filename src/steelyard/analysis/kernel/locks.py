"""The lock table: waits for kernel locks, by lock and by call site, as lockmeter set them out.

What a source does not report stays None, never 0: tracepoints report waits alone, lockmeter of holds
and all acquisitions too.
"""

from __future__ import annotations

from steelyard.analysis.judgement.kernel import LockRow
from steelyard.bundle.evidence.evidence import Evidence

TOTAL = "*TOTAL*"
FOREIGN = "other processes"
# a lock, its call sites and the total of all locks; waiters for spinning locks burn CPU, all others sleep
_LOCKS = """
    with keyed as (
        select * replace (if(role = 'other', 'other processes', lock) as lock,
                if(role = 'other', '', type) as type, if(role = 'other', '', call_site) as call_site),
            if(type in ('spinlock', 'rwlock:R', 'rwlock:W'), wait_total_ns, 0) as spun_ns
        from locks join runs using (run)
    ), all_keys as (
        from keyed
        union all select * replace ('' as call_site) from keyed where call_site <> ''
        union all select * replace ('*TOTAL*' as lock, '' as type, '' as call_site) from keyed
            where lock <> '*TOTAL*' and role not in ('', 'other')
    ), sums as (
        select option, lock, type, call_site, max(utilisation_percent) as utilisation_percent,
            max(hold_mean_ns) as hold_mean_ns, max(hold_max_ns) as hold_max_ns,
            max(wait_max_ns) as wait_max_ns,
            max(wait_cpu_percent) as told_percent, whole(acquisitions) as acquisitions,
            whole(contended) as contended, whole(wait_total_ns) as wait_ns, sum(spun_ns) as spun_ns
        from all_keys group by option, lock, type, call_site
    ), work as (
        -- a run without a wait has no row, and counts all the same
        select option, if($recorded, null, sum(transactions)) as done, sum(seconds) * 1e9 * $cpus as cpu_ns
        from points where $all_runs or run in (select run from locks) group by option
    ), found as (
        select option, lock, type, call_site, utilisation_percent,
            100 * ratio(contended, acquisitions) as contention_percent, hold_mean_ns, hold_max_ns,
            ratio(wait_ns, contended) as wait_mean_ns, wait_max_ns,
            coalesce(told_percent, if(wait_ns is not null and (
                type in ('spinlock', 'rwlock:R', 'rwlock:W') or lock in ('*TOTAL*', 'other processes')),
                100 * ratio(spun_ns, cpu_ns), null)) as cpu_percent,
            acquisitions, contended, ratio(contended, done) as contended_per_txn,
            ratio(wait_ns / 1e3, done) as wait_us_per_txn
        from sums join work using (option)
    )
    -- the total, then locks by their waits with their call sites below, foreign processes last
    from found order by case lock when '*TOTAL*' then 0 when 'other processes' then 2 else 1 end,
        coalesce(max(wait_us_per_txn) filter (call_site = '') over (partition by option, lock, type), 0) desc,
        lock, type, call_site <> '', coalesce(wait_us_per_txn, 0) desc
"""


def locks(evidence: Evidence) -> tuple[LockRow, ...]:
    """For each option the total first, then every lock and its call sites, the longest waits first.

    Processes that are no part of the study have one row of their own. Empty where no lock was traced. Of a
    recording only rates are known: costs per transaction are not.
    """
    rows = evidence.records(
        _LOCKS,
        recorded=evidence.study.subject.kind == "recording",
        all_runs=evidence.study.probes.locks,
        cpus=evidence.probed_cpus,
    )
    return tuple(LockRow(**row) for row in rows)
