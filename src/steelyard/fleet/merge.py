"""Results of several engines as that of one: counts and histograms are added, times on the lab's clock."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard import _core
from steelyard.fleet.connection import Offset
from steelyard.fleet.on_host import HostResult
from steelyard.lab.engines.registry import LoadFailed
from steelyard.lab.engines.result import EngineResult, Facts
from steelyard.quantities import count
from steelyard.run_tables.rows import Columns, each

_Reduce = Mapping[str, Callable[[Sequence[Any]], Any]]

# of one turn
_REPEATS_MAX = 3


def _first(values: Sequence[Any]) -> Any:
    return next((value for value in values if value), values[0])


def _known_sum(values: Sequence[Any]) -> Any:
    return None if None in values else sum(values)


# by table: the columns that name a row, and what becomes of the others
_KEYS: Mapping[str, tuple[tuple[str, ...], _Reduce]] = {
    "phases": (("point", "phase"), {"clients": sum, "start_ns": min, "end_ns": max}),
    "throughput": (("point", "second", "statement"), {"count": sum, "errors": sum}),
    "latency": (("point", "statement"), {"count": sum, "histogram": _core.histogram_merge}),
    "transactions": (
        ("point", "transaction"),
        {"count": sum, "errors": sum, "retries": sum, "rolled_back": sum, "code": _first, "message": _first},
    ),
    "executions": (
        ("point", "statement"),
        {"executions": sum, "rows": _known_sum, "empty": _known_sum, "bytes": _known_sum},
    ),
    "marks": (("statement", "execution"), {"clients": sum, "rows": sum, "empty": sum}),
    "errors": (("point", "code"), {"count": sum, "message": _first}),
    "asides": (("point", "phase"), {"transactions": sum}),
}
_TIMES = {"phases": ("start_ns", "end_ns"), "samples": ("t_ns",)}


@dataclass(frozen=True)
class Part:
    """The result of one host, and its clock."""

    host: str
    clock: Offset
    own: HostResult


def merged(parts: Sequence[Part]) -> EngineResult:
    """One result of all: as of an engine with all clients. Its notices name the host."""
    results = [_on_lab_clock(part) for part in parts]
    tables: dict[str, Columns] = {}
    for name in results[0].tables:
        found = [result.tables[name] for result in results]
        tables[name] = _added(found, *_KEYS[name]) if name in _KEYS else _joined(found)
    tables["clients"] = _sorted(tables["clients"], ("point", "client"))
    notices = [notice for part in parts for notice in _notices(part)]
    codes, texts = zip(*notices, strict=True) if notices else ((), ())
    tables["notices"] = {"code": list(codes), "text": list(texts)}
    return EngineResult(results[0].engine, tables, _facts([result.facts for result in results], parts))


def _on_lab_clock(part: Part) -> EngineResult:
    result = part.own.result
    tables = {
        name: {**columns, **{t: list(map(part.clock.to_lab, columns[t])) for t in _TIMES.get(name, ())}}
        for name, columns in result.tables.items()
    }
    return EngineResult(result.engine, tables, result.facts)


def _added(tables: Sequence[Columns], key: tuple[str, ...], reduce: _Reduce) -> Columns:
    found: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for columns in tables:
        for row, values in zip(each(columns, *key), each(columns, *reduce), strict=True):
            found.setdefault(row, []).append(values)
    merged: dict[str, list[Any]] = {name: [row[at] for row in found] for at, name in enumerate(key)}
    for at, (name, of) in enumerate(reduce.items()):
        merged[name] = [of([values[at] for values in rows]) for rows in found.values()]
    return merged


def _joined(tables: Sequence[Columns]) -> Columns:
    return {name: [value for columns in tables for value in columns[name]] for name in tables[0]}


def _sorted(columns: Columns, by: Sequence[str]) -> Columns:
    keys = list(each(columns, *by))
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return {name: [values[at] for at in order] for name, values in columns.items()}


def _notices(part: Part) -> Iterator[tuple[str, str]]:
    own = part.own.result.tables["notices"]
    for code, text in (*each(own, "code", "text"), *part.own.notices):
        yield code, f"host {part.host}: {text}"


def began_ns(part: Part) -> list[int]:
    """By load point, when the host's first transaction began, on the lab's clock; 0: none did."""
    return [part.clock.to_lab(t_ns) if t_ns else 0 for t_ns in part.own.result.facts.began_ns or ()]


def _facts(facts: Sequence[Facts], parts: Sequence[Part]) -> Facts:
    made = sum(one.connections_made or 0 for one in facts)
    connect_ns = sum((one.connect_ns_mean or 0.0) * (one.connections_made or 0) for one in facts)
    began = [began_ns(part) for part in parts]
    causes = [
        f"host {part.host}: {one.connections_lost_cause}"
        for one, part in zip(facts, parts, strict=True)
        if one.connections_lost_cause
    ]
    return Facts(
        io=", ".join(sorted({one.io or "" for one in facts})),
        threads=sum(one.threads or 0 for one in facts),
        connections_made=made,
        reconnections=sum(one.reconnections or 0 for one in facts),
        numbered=max(one.numbered or 0 for one in facts) * len(facts),
        connections_lost=sum(one.connections_lost or 0 for one in facts),
        connections_lost_cause=causes[0] if causes else None,
        connect_ns_mean=connect_ns / max(made, 1),
        backlog=tuple(map(sum, zip(*(one.backlog or () for one in facts), strict=True))),
        began_ns=tuple(
            min((t_ns for t_ns in point if t_ns), default=0) for point in zip(*began, strict=True)
        ),
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
