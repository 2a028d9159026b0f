"""How far the rows of statements without a difference were compared, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from statistics import fmean

from steelyard.analysis.validity.equal_work.counts import Counts, Sums, relative
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import count, percent, significant


def held(evidence: Evidence, counts: Counts, others: Set[str]) -> Mapping[str, str]:
    """By statement, in all options. others: statements with a difference."""
    if len(evidence.options) < 2:
        return {}
    query = "select statement, answer, draws from rehearsal where step = 'work' order by rowid"
    rehearsed = {name: (answer, draws) for name, answer, draws in evidence.rows(query)}
    found = dict[str, str]()
    for name in sorted({*rehearsed, *(name for name, _ in counts.beside)} - others):
        (answer, draws), parts = rehearsed.get(name, ("", 0)), list[str]()
        if draws and answer in ("", "text"):
            parts.append(f"equal rows in {count(draws, 'execution')} of the rehearsal")
        if options := [sums for (statement, _), sums in counts.beside.items() if statement == name]:
            parts.append(_under_load(options))
        if parts:
            found[name] = "; ".join(parts)
    return found


def _under_load(options: Sequence[Sequence[Sums]]) -> str:
    all_of = [sums for of_option in options for sums in of_option]
    rows = sum(s.baseline_rows for s in all_of) / sum(s.executions for s in all_of)
    each = f"{significant(rows)} rows per execution"
    if exact := sum(s.executions for s in all_of if not s.unsure):
        return f"equal rows in {count(exact, 'execution')} under load, {each}"
    most = max(abs(fmean(differences)) for sums in options for differences in relative(sums))
    blocks = count(min(map(len, options)), "block")
    less = f"differ by {percent(most)} or less" if most else "do not differ"
    return f"rows under load {less} over {blocks}, {each}"
