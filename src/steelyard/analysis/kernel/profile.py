"""Where CPU time goes: samples of stacks as functions, and the one that differs most.

A sample stands for 1 / rate seconds of one CPU. Samples of a run are few: a function is named as a
reason only with enough of them, and when it differs from block to block alike.
"""

from __future__ import annotations

import numpy as np

from steelyard.analysis.judgement.kernel import ProfileRow
from steelyard.analysis.statistics.distributions import holm, t_two_sided
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import quantity

KERNEL_MARK = "_[k]"
_ALPHA = 0.05
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
    change, blocks = us[:, 0] - us[:, 1], us.shape[2]
    mean, error = change.mean(axis=1), change.std(axis=1, ddof=1) / np.sqrt(blocks)
    p = holm(t_two_sided(mean / np.maximum(error, 1e-12), blocks - 1))
    proven = [i for i in range(len(found)) if p[i] <= _ALPHA]
    if not proven:
        return ()
    most = max(proven, key=lambda i: abs(mean[i]))
    name, samples, *_ = found[most]
    after, before = us[most].mean(axis=1).tolist()
    where = " (kernel)" if name.endswith(KERNEL_MARK) else ""
    return (
        f"In the profile {name.removesuffix(KERNEL_MARK)}{where} differs most: {quantity(after, 'us')}"
        f" of CPU per transaction under {winner}, {quantity(before, 'us')} under {baseline}"
        f" ({samples:,.0f} samples).",
    )
