"""What an option takes beside time: memory by a server's setting, space and log by a schema; and what a
winner loses in a crash, by settings that trade durability for speed (manuals of the servers).
"""

import re
from collections.abc import Iterator

import numpy as np

from steelyard.analysis.comparison.pairwise import PairResult
from steelyard.analysis.verdict.findings import Findings
from steelyard.bundle.evidence import Evidence
from steelyard.quantities import listed, quantity
from steelyard.study.study import Option, Options

# values with which commits are lost in a crash, and those with which data are damaged
_COMMITS = {
    "synchronous_commit": ("off",),
    "innodb_flush_log_at_trx_commit": ("off", "2"),
    "synchronous": ("1", "normal"),
    "appendfsync": ("off", "everysec"),
    "appendonly": ("off",),
}
_DATA = {
    "fsync": ("off",),
    "full_page_writes": ("off",),
    "innodb_doublewrite": ("off",),
    "innodb_flush_method": ("nosync", "littlesync"),
    "engine": ("myisam",),
    "synchronous": ("off",),
    "journal_mode": ("off", "memory"),
}
_ROWS = {"unlogged": ("on",), "engine": ("memory",)}
_LOSES = tuple(
    (name, values, what)
    for settings, what in (
        (_DATA, "may have damaged data after a crash"),
        (_ROWS, "loses all rows of some tables in a crash"),
        (_COMMITS, "loses committed transactions in a crash"),
    )
    for name, values in settings.items()
)
# of settings that lose commits where nobody sets them
_UNSET = {"appendfsync": "everysec", "appendonly": "off"}
_LEAST_CHANGE = 0.1
_LEAST_BYTES = 2.0**20
_SIZES = {"indexes_bytes": "indexes", "tables_bytes": "tables"}


def lost_in_a_crash(winner: Option, other: Option) -> str:
    """`OFF loses committed transactions in a crash: synchronous_commit = off.`; '' where both do, or none."""
    mine, theirs = map(_given, (winner, other))
    for name, values, what in _LOSES:
        if mine.get(name) in values and theirs.get(name, _UNSET.get(name)) not in values:
            return f"{winner.label} {what}: {name} = {mine[name]}."
    return ""


def lost_by_all(options: Options) -> str:
    """The first of these for every option, in words; '' where one option keeps it."""
    for name, values, what in _LOSES:
        if all(_given(option).get(name) in values for option in options):
            return f"every option {what} ({name})"
    return ""


def _given(option: Option) -> dict[str, str]:
    """Values by the settings of options, statements and schemas: `alter role lab set fsync = off`, too."""
    sql = f"{option.schema} {option.workload}"
    found = {
        name: said[1]
        for name in {**_DATA, **_COMMITS}
        if (said := re.search(rf"{name}\W+(?:to\W+)?(\w+)", sql, re.IGNORECASE))
    }
    if re.search(r"\bunlogged\b", sql, re.IGNORECASE):
        found["unlogged"] = "on"
    return {name: _text(value) for name, value in {**found, **option.server, **option.session}.items()}


def _text(value: object) -> str:
    """As servers write it: true is on, false and 0 are off, and so are their unique prefixes."""
    text = str(value).strip().lower()
    if text and (text == "0" or any(word.startswith(text) for word in ("off", "false", "no"))):
        return "off"
    return "on" if text == "true" else text


def at_risk(options: Options) -> Iterator[str]:
    """A sentence for each way in which an option loses in a crash what another keeps."""
    distinct: dict[tuple[str | None, ...], Option] = {}
    for option in reversed(options):
        given = _given(option)
        distinct[tuple(given.get(name) for name, *_ in _LOSES)] = option
    for option in reversed(distinct.values()):
        yield from dict.fromkeys(lost_in_a_crash(option, other) for other in distinct.values())


def memory_costs(findings: Findings, pair: PairResult) -> str:
    """`B takes 86.0 MiB more memory than A (at most 117 MiB in use under B, private and shared once).`

    '' where no setting of the server differs, or the largest amounts of their runs overlap.
    """
    evidence = findings.evidence
    levels = [evidence.option(label).levels for label in (pair.option, pair.other)]
    settings = (name for name, factor in evidence.study.factors.items() if factor.scope == "server")
    if all(levels[0].get(name) == levels[1].get(name) for name in settings):
        return ""
    mine, other = (_highest(evidence, label) for label in (pair.option, pair.other))
    if not mine or not other or (min(mine) <= max(other) and min(other) <= max(mine)):
        return ""
    after, before = float(np.median(mine)), float(np.median(other))
    if abs(after - before) < max(_LEAST_BYTES, _LEAST_CHANGE * before):
        return ""
    return (
        f"{pair.option} takes {_change(after - before, 'bytes')} memory than {pair.other}"
        f" (at most {quantity(after, 'bytes')} in use under {pair.option}, private and shared once)."
    )


def _highest(evidence: Evidence, label: str) -> list[float]:
    """Of each run of an option, the most that its server used."""
    query = """
        select highest from gauges join runs using (run) where option = $option and entity = 'server'
            and metric = 'memory_bytes' and highest is not null order by run
    """
    return evidence.column(query, option=label)


def schema_costs(findings: Findings, pair: PairResult) -> str:
    """`IX takes 1.65 MiB more for indexes and 220 B more WAL per transaction than NONE.`

    '' where the two have the same schema, or nothing that is known differs.
    """
    mine, other = (findings.evidence.schemas.get(label, {}) for label in (pair.option, pair.other))
    sizes = {name: mine[name] - other[name] for name in _SIZES if name in mine and name in other}
    parts = [f"{_change(size, 'bytes')} for {_SIZES[name]}" for name, size in sizes.items() if size]
    # at another pace, bytes of a log per transaction are not the cost of the schema
    if sizes and not findings.unlike_pace(pair):
        parts += [
            f"{_change(cost.change, cost.unit)} {cost.metric.title} {cost.metric.each}"
            for cost in findings.costs.of(pair)
            if cost.metric.kind == "log" and cost.material
        ]
    return f"{pair.option} takes {listed(parts)} than {pair.other}." if parts else ""


def _change(value: float, unit: str) -> str:
    return f"{quantity(abs(value), unit)} {'more' if value > 0 else 'less'}"
