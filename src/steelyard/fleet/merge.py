"""Results of several engines as that of one: counts and histograms are added, times on the lab's clock."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from steelyard import _core
from steelyard.fleet.connection import Offset
from steelyard.fleet.on_host import HostResult
from steelyard.lab.engines.result import EngineResult, Facts, LoadFailed, Notice, noticed
from steelyard.lab.engines.result_tables import on_clock
from steelyard.quantities import count
from steelyard.run_tables.questions import asked
from steelyard.run_tables.rows import Columns, each

# of one turn
_REPEATS_MAX = 3


# by table, its rows as those of one engine
_MERGED = {
    "phases": """
        select point, phase, sum(clients) as clients, min(start_ns) as start_ns, max(end_ns) as end_ns
        from phases group by all order by min(rowid)
    """,
    "throughput": """
        select point, second, statement, sum(count) as count, sum(errors) as errors
        from throughput group by all order by min(rowid)
    """,
    "latency": """
        select point, statement, sum(count) as count, list(histogram) as histogram
        from latency group by all order by min(rowid)
    """,
    "transactions": """
        select point, transaction, sum(count) as count, sum(errors) as errors, sum(retries) as retries,
            sum(rolled_back) as rolled_back, coalesce(arg_min(code, rowid) filter (code <> ''), '') as code,
            coalesce(arg_min(message, rowid) filter (message <> ''), '') as message
        from transactions group by all order by min(rowid)
    """,
    "executions": """
        select point, statement, sum(executions) as executions,
            if(bool_and(rows is not null), sum(rows), null) as rows,
            if(bool_and(empty is not null), sum(empty), null) as empty,
            if(bool_and(bytes is not null), sum(bytes), null) as bytes
        from executions group by all order by min(rowid)
    """,
    "marks": """
        select statement, execution, sum(clients) as clients, sum(rows) as rows, sum(empty) as empty
        from marks group by all order by min(rowid)
    """,
    "errors": """
        select point, code, sum(count) as count,
            coalesce(arg_min(message, rowid) filter (message <> ''), '') as message
        from errors group by all order by min(rowid)
    """,
    "asides": """
        select point, phase, sum(transactions) as transactions from asides group by all order by min(rowid)
    """,
    "clients": "select * from clients order by point, client",
}


@dataclass(frozen=True)
class Part:
    """The result of one host, and its clock."""

    host: str
    clock: Offset
    own: HostResult


def merged(parts: Sequence[Part]) -> EngineResult:
    """One result of all: as of an engine with all clients. Its notices name the host."""
    found = [on_clock(part.own.result.tables, part.clock.to_lab) for part in parts]
    tables: dict[str, Columns] = {}
    for name in found[0]:
        columns = [one[name] for one in found]
        tables[name] = {key: [value for one in columns for value in one[key]] for key in columns[0]}
        if name in _MERGED:
            tables[name] = asked(_MERGED[name], tables)
    whole = map(_core.histogram_merge, tables["latency"]["histogram"])
    tables["latency"] = {**tables["latency"], "histogram": list(whole)}
    del tables["notices"]
    tables = noticed(tables, [notice for part in parts for notice in _notices(part)])
    return EngineResult(parts[0].own.result.engine, tables, _facts(parts))


def _notices(part: Part) -> Iterator[Notice]:
    for code, text in (*each(part.own.result.tables["notices"], "code", "text"), *part.own.notices):
        yield code, f"host {part.host}: {text}"


def began_ns(part: Part) -> list[int]:
    """By load point, when the host's first transaction began, on the lab's clock; 0: none did."""
    return [part.clock.to_lab(t_ns) if t_ns else 0 for t_ns in part.own.result.facts.began_ns or ()]


def _facts(parts: Sequence[Part]) -> Facts:
    facts = [part.own.result.facts for part in parts]
    connect_ns = sum((one.connect_ns_mean or 0.0) * (one.connections_made or 0) for one in facts)
    began = map(began_ns, parts)
    causes = (
        f"host {part.host}: {one.connections_lost_cause}"
        for one, part in zip(facts, parts, strict=True)
        if one.connections_lost_cause
    )

    def total(name: str) -> int:
        return sum(getattr(one, name) or 0 for one in facts)

    made = total("connections_made")
    return Facts(
        io=", ".join(sorted({one.io or "" for one in facts})),
        threads=total("threads"),
        connections_made=made,
        reconnections=total("reconnections"),
        numbered=max(one.numbered or 0 for one in facts) * len(facts),
        connections_lost=total("connections_lost"),
        connections_lost_cause=next(causes, None),
        connect_ns_mean=connect_ns / max(made, 1),
        backlog=tuple(map(sum, zip(*(one.backlog or () for one in facts), strict=True))),
        began_ns=tuple(min((ns for ns in point if ns), default=0) for point in zip(*began, strict=True)),
    )


class Repeats:
    """Those of one engine."""

    def __init__(self) -> None:
        self._in_succession = self._turns = self._done = 0
        self._latest_ms: dict[str, float] = {}

    def add(self, late_ms: Mapping[str, float], done: int) -> None:
        """One more. late_ms: by host; done: transactions of the others. Raises LoadFailed after the third."""
        self._in_succession += 1
        self._turns += 1
        self._done += done
        for host, ms in late_ms.items():
            self._latest_ms[host] = max(ms, self._latest_ms.get(host, 0.0))
        if self._in_succession > _REPEATS_MAX:
            host = max(late_ms, key=late_ms.__getitem__)
            raise LoadFailed(
                f"host {host}: the command to begin a turn came too late {self._in_succession} times in"
                f" succession, the last time by {late_ms[host]:.0f} ms"
            )

    def over(self) -> int:
        """All have done their turn; transactions of those before it that count nowhere."""
        done, self._done, self._in_succession = self._done, 0, 0
        return done

    @property
    def notice(self) -> str:
        """A sentence; '' where none was repeated."""
        if not self._turns:
            return ""
        hosts = ", ".join(f"{host} (by up to {ms:.1f} ms)" for host, ms in self._latest_ms.items())
        turns = count(self._turns, "turn was", "turns were")
        return f"{turns} repeated: the command to begin came late on {hosts}"
