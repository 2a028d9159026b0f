"""An engine's result at the end of a run: tables and facts, checked on arrival."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import UnionType
from typing import Any, Self, cast, get_args, get_origin, get_type_hints

from steelyard.lab.engines.registry import ENGINES, LoadFailed
from steelyard.run_tables.rows import Columns, SchemaError, check, decoded, encoded
from steelyard.run_tables.schema import BY_NAME, ENGINE_TABLES

_PerPoint = tuple[int, ...]


@dataclass(frozen=True)
class Facts:
    """Facts of one run by name; None: not reported by this engine. _PerPoint: one number per load point.

    connections_lost, connections_lost_cause: in all load, measured or not, and the last cause;
    began_ns: when the first transaction began, 0: none did; backlog: arrivals of an open loop without a
    client at the end; numbered: the most numbers drawn of one sequence; sees_misses, sees_sleeps, in_turn,
    spin: of the latch protocol; guarded and exclusive_gets are equal when holders excluded each other.
    """

    io: str | None = None
    threads: int | None = None
    connections_made: int | None = None
    reconnections: int | None = None
    numbered: int | None = None
    connections_lost: int | None = None
    connections_lost_cause: str | None = None
    connect_ns_mean: float | None = None
    backlog: _PerPoint | None = None
    began_ns: _PerPoint | None = None
    busy_turn_ns: float | None = None
    clock_ns: float | None = None
    sampled_every: _PerPoint | None = None
    spin: int | None = None
    in_turn: bool | None = None
    sees_misses: bool | None = None
    sees_sleeps: bool | None = None
    guarded: _PerPoint | None = None
    exclusive_gets: _PerPoint | None = None
    events: int | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Facts as JSON carries them. Raises KeyError for an unknown name, TypeError for a wrong value."""
        types = _types()
        for name, value in values.items():
            if not _fits(value, types[name]):
                raise TypeError(name)
        found: dict[str, Any] = {
            name: tuple(cast("list[int]", value)) if isinstance(value, list) else value
            for name, value in values.items()
        }
        return cls(**found)


@cache
def _types() -> dict[str, UnionType]:
    return get_type_hints(Facts)


def _fits(value: object, kinds: UnionType) -> bool:
    own = type(value)
    for kind in get_args(kinds):
        if get_origin(kind) is tuple:
            fits = own is list and all(type(number) is int for number in cast("list[object]", value))
        else:
            fits = own is kind or (kind is float and own is int)
        if fits:
            return True
    return False


_FACTS = "engine"  # their key in JSON


@dataclass(frozen=True)
class EngineResult:
    """The result of one run. tables: columns by table, as the registry declares for this engine.

    Times are the engine's own: of CLOCK_MONOTONIC, or simulated.
    """

    engine: str
    tables: Mapping[str, Columns]
    facts: Facts = field(default_factory=Facts)

    @classmethod
    def of(cls, engine: str, result: Mapping[str, Any]) -> Self:
        """The result that an engine sent as JSON.

        Raises LoadFailed, with engine, table and column, for a table or column that is unknown or missing,
        a value of a wrong type, columns of unequal lengths.
        """
        declared = ENGINES[engine]
        tables: dict[str, Columns] = {}
        for name, columns in result.items():
            if name == _FACTS:
                continue
            if name not in declared.tables | declared.optional:
                raise _refused(engine, f"table {name}: not declared for this engine")
            try:
                tables[name] = _arrived(name, columns)
            except SchemaError as error:
                raise _refused(engine, str(error)) from None
        for name in sorted(declared.tables - tables.keys()):
            raise _refused(engine, f"table {name} is missing")
        return cls(engine, tables, _facts(engine, result.get(_FACTS, {})))

    def to_json(self) -> str:
        """JSON for `of`."""
        tables = {name: encoded(columns) for name, columns in self.tables.items()}
        facts = {name: getattr(self.facts, name) for name in sorted(ENGINES[self.engine].facts)}
        return json.dumps({**tables, _FACTS: facts})


def _arrived(name: str, sent: Any) -> Columns:
    raw = cast("dict[str, Any]", sent) if isinstance(sent, dict) else {}
    if not raw or not all(isinstance(values, list) for values in raw.values()):
        raise SchemaError(name, next(iter(raw), ""), "not lists of values by column")
    columns: Columns = decoded(name, raw)
    if name == "samples" and "monitor" not in columns:
        columns = {**columns, "monitor": ["engine"] * len(columns.get("t_ns", ()))}
    check(ENGINE_TABLES.get(name) or BY_NAME[name], columns)
    return columns


def _facts(engine: str, sent: Any) -> Facts:
    declared = ENGINES[engine].facts
    if not isinstance(sent, dict):
        raise _refused(engine, f"{_FACTS}: not facts by name")
    raw = cast("dict[str, Any]", sent)
    for name in sorted(declared ^ raw.keys()):
        problem = "is missing" if name in declared else "not declared for this engine"
        raise _refused(engine, f"{_FACTS}.{name}: {problem}")
    try:
        return Facts.of(raw)
    except TypeError as error:
        raise _refused(engine, f"{_FACTS}.{error}: a value of a wrong type") from None


def _refused(engine: str, problem: str) -> LoadFailed:
    return LoadFailed(f"the result of the engine `{engine}` is invalid: {problem}")
