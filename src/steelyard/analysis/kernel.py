"""What the kernel's probes found: where CPU time goes, waits for locks, how the scheduler treated each role.

A sample of the profile stands for 1 / rate seconds of one CPU. Samples of a run are few: a function is named
as a reason only with enough of them, and when it differs from block to block alike. Waits for locks are by
lock and by call site, as lockmeter set them out; what a source does not report stays None, never 0:
tracepoints report waits alone, lockmeter of holds and all acquisitions too.
"""

import numpy as np

from steelyard.analysis.judgement.latches import LockRow, ProfileRow, SchedulingRow
from steelyard.analysis.statistics.distributions import ALPHA, holm, t_test
from steelyard.bundle.evidence import Evidence
from steelyard.quantities import quantity

_KERNEL_MARK = "_[k]"
_SAMPLES_MIN = 200  # of a function, over all runs of both options: +-14 % at 95 %
_BLOCKS_MIN = 5


_PROFILE = """
    with work as (
        select option, sum(transactions) as done from points semi join functions using (run) group by option
    )
    select option, role, regexp_replace(function, '_\\[k\\]$', '') as function,
        suffix(function, '_[k]') as in_kernel, sum(samples)::BIGINT as samples,
        sum(samples) / sum(sum(samples)) over (partition by option) as share,
        ratio(1e6 * sum(samples) / nullif($hz, 0), any_value(done)) as us_per_txn
    from functions f join runs using (run) left join work using (option)
    group by option, role, f.function order by sum(samples) desc, min(f.rowid)
"""
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


def profile(evidence: Evidence) -> tuple[ProfileRow, ...]:
    """Functions by option, the most samples first; of recordings too. Empty without a profile."""
    rows = evidence.records(_PROFILE, hz=evidence.study.probes.profile_hz)
    return tuple(ProfileRow(**row) for row in rows)


# CPU time per transaction by block under both options, of functions with a name and enough samples
_PAIRS = """
    with profiled as (
        select r.*, sum(transactions) as done from runs r join points using (run)
        where r.run in (select run from functions) group by all
    ), pairs as (
        select block, w.run as run, w.done as done, b.run as before, b.done as done_before
        from profiled w join profiled b using (block) where w.option = $winner and b.option = $baseline
    ), names as (
        select distinct role, function from functions
        where role in ('server', 'kernel') and not starts_with(function, '[')
    )
    select n.function, sum(coalesce(f.samples, 0) + coalesce(g.samples, 0)) as seen,
        list(ratio(1e6 / $hz * coalesce(f.samples, 0), done) order by block),
        list(ratio(1e6 / $hz * coalesce(g.samples, 0), done_before) order by block)
    from names n cross join pairs p
        left join functions f on f.run = p.run and f.role = n.role and f.function = n.function
        left join functions g on g.run = p.before and g.role = n.role and g.function = n.function
    group by n.role, n.function having seen >= $least and count(*) >= $blocks
        and min(done) > 0 and min(done_before) > 0 order by n.role, n.function
"""


def profile_reasons(evidence: Evidence, winner: str | None) -> tuple[str, ...]:
    """The function whose CPU time per transaction differs most between winner and baseline, if one does.

    A paired t test over blocks, corrected for all functions with enough samples (Holm).
    """
    baseline, hz = evidence.baseline, evidence.study.probes.profile_hz
    if winner is None or winner == baseline or not hz:
        return ()
    found = evidence.rows(
        _PAIRS, winner=winner, baseline=baseline, hz=hz, least=_SAMPLES_MIN, blocks=_BLOCKS_MIN
    )
    if not found:
        return ()
    us = np.array([pair for _, _, *pair in found])
    change = us[:, 0] - us[:, 1]
    mean, p = change.mean(axis=1), holm(t_test(change))
    proven = [i for i in range(len(found)) if p[i] <= ALPHA]
    if not proven:
        return ()
    most = max(proven, key=lambda i: abs(mean[i]))
    name, samples, *_ = found[most]
    after, before = us[most].mean(axis=1).tolist()
    where = " (kernel)" if name.endswith(_KERNEL_MARK) else ""
    return (
        f"In the profile {name.removesuffix(_KERNEL_MARK)}{where} differs most: {quantity(after, 'us')}"
        f" of CPU per transaction under {winner}, {quantity(before, 'us')} under {baseline}"
        f" ({samples:,.0f} samples).",
    )


def locks(evidence: Evidence) -> tuple[LockRow, ...]:
    """For each option the total first, then every lock and its call sites, the longest waits first.

    Processes that are no part of the study have one row of their own. Empty where no lock was traced. Of a
    recording only rates are known: costs per transaction are not.
    """
    rows = evidence.records(
        _LOCKS, recorded=evidence.recorded, all_runs=evidence.study.probes.locks, cpus=evidence.probed_cpus
    )
    return tuple(LockRow(**row) for row in rows)


def scheduling(evidence: Evidence) -> tuple[SchedulingRow, ...]:
    """One row per option and role, in the order of the study; empty where nothing was traced."""
    rows = evidence.records("from scheduling where role <> 'idle' order by role")
    return tuple(SchedulingRow(**row) for row in rows)
