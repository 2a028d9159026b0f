"""Stacks of the profile, for charts."""

from __future__ import annotations

from typing import Protocol

from steelyard.bundle.evidence.evidence import Columns

_STACKS = """
    with chosen as (select run, option from used_runs where run in (select run from profile)),
    work as (
        select c.option, sum(t.count) as done from throughput t join chosen c using (run)
        where t.statement = 'transaction' and coalesce(t.second, 0) >= 0 group by c.option
    )
    select c.option, p.role, p.stack, sum(p.samples) * {us}::DOUBLE / any_value(w.done) as us_per_txn
    from profile p join chosen c using (run) join work w on w.option = c.option
    where w.done > 0 group by c.option, p.role, p.stack order by c.option, p.role, p.stack
"""


class _Reader(Protocol):
    def columns(self, query: str) -> Columns:
        """The result of a query."""
        ...


def stacks(bundle: _Reader, profile_hz: int) -> Columns:
    """Folded stacks: option, role, stack, us_per_txn (CPU time, over all its runs)."""
    return bundle.columns(_STACKS.format(us=1e6 / profile_hz)) if profile_hz else {}
