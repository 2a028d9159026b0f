"""The lab's engines by name; the result of each at the end of a run: tables and facts, checked on arrival."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pkgutil import resolve_name
from types import UnionType
from typing import Any, Self, cast, get_args, get_type_hints

from steelyard.run_tables.rows import Columns, Rows, SchemaError, check, decoded, encoded
from steelyard.run_tables.schema import BY_NAME, ENGINE_TABLES

# from the plan (JSON) and a listener (lines of JSON) to the result (JSON); an engine that works in turns also
# gets a function that waits so many seconds for the next command (JSON)
_Run = Callable[..., str]
# an object: a plan, an event, a command
Json = Mapping[str, Any]
# called with each line of an engine
Say = Callable[[str], None]
OnEvent = Callable[[Json], None]
Tables = Mapping[str, Columns]
Notice = tuple[str, str]  # code and text


# words with which a server ends a session, and the setting behind them
_TIMEOUTS = {
    "due to idle-session timeout": "idle_session_timeout",
    "due to idle-in-transaction timeout": "idle_in_transaction_session_timeout",
    "due to transaction timeout": "transaction_timeout",
    "because of inactivity": "wait_timeout",
}


class LoadFailed(Exception):
    """The engine could not continue: the text gives the cause, and a time that was too short."""

    def __str__(self) -> str:
        text = super().__str__()
        key = next((key for words, key in _TIMEOUTS.items() if words in text), "")
        return text + (f" (raise {key} in [subject.session])" if key else "")


@dataclass(frozen=True)
class Engine:
    """One engine. place: module:function, a `_Run`; reports_alive: reports at least once per second;
    takes_commands: can work in turns.

    tables: in every result; optional: in a result only if they have rows; facts: that the engine reports
    about itself. A result contains nothing else.
    """

    place: str
    tables: frozenset[str]
    optional: frozenset[str] = frozenset()
    facts: frozenset[str] = frozenset()
    reports_alive: bool = False
    takes_commands: bool = False

    def load(self) -> _Run:
        """The function that runs a plan."""
        return resolve_name(self.place)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOAD_TABLES = _names(
    "phases throughput latency clients transactions executions marks errors samples notices inspect asides"
)
_LOAD_FACTS = _names(
    "threads connections_made reconnections numbered connect_ns_mean backlog io connections_lost"
    " connections_lost_cause began_ns"
)

_LOAD = Engine(
    "steelyard._core:load_run", _LOAD_TABLES, facts=_LOAD_FACTS, reports_alive=True, takes_commands=True
)
ENGINES: dict[str, Engine] = {
    "load": _LOAD,
    "jdbc": replace(_LOAD, place="steelyard.lab.engines.jdbc:run"),
    "latch": Engine(
        "steelyard._core:latch_run",
        _names("phases throughput latency clients errors samples latches latch_histograms"),
        facts=_names("threads busy_turn_ns clock_ns sampled_every spin in_turn sees_misses sees_sleeps")
        | _names("guarded exclusive_gets"),
        reports_alive=True,
    ),
    "dispatch": Engine(
        "steelyard.lab.engines.dispatcher:run",
        _names("phases throughput latency clients samples"),
        optional=_names("trace"),
        facts=_names("events"),
    ),
    "programs": Engine("steelyard.lab.engines.programs:run", _names("phases scores further_scores")),
    # the load engine and the kernel probes run in the guest
    "guest": Engine(
        "steelyard.lab.within_guest:run",
        _LOAD_TABLES,
        optional=_names("profile locks scheduling"),
        facts=_LOAD_FACTS,
    ),
}


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
    def of(cls, values: Json) -> Self:
        """Facts as JSON carries them. Raises KeyError for an unknown name, TypeError for a wrong value."""
        types = get_type_hints(Facts)
        for name, value in values.items():
            if not _fits(value, types[name]):
                raise TypeError(name)
        found: dict[str, Any] = {
            name: tuple(cast("list[int]", value)) if isinstance(value, list) else value
            for name, value in values.items()
        }
        return cls(**found)


def _fits(value: object, kinds: UnionType) -> bool:
    allowed = get_args(kinds)
    if isinstance(value, list):
        return _PerPoint in allowed and {*map(type, cast("list[object]", value))} <= {int}
    return type(value) in allowed or (type(value) is int and float in allowed)


_FACTS = "engine"  # their key in JSON


@dataclass(frozen=True)
class EngineResult:
    """The result of one run. tables: columns by table, as the registry declares for this engine.

    Times are the engine's own: of CLOCK_MONOTONIC, or simulated.
    """

    engine: str
    tables: Tables
    facts: Facts = field(default_factory=Facts)

    @classmethod
    def of(cls, engine: str, result: Json) -> Self:
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
    columns = decoded(name, raw)
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


def joined(table: str, *parts: Columns | None) -> Columns:
    """One table of the rows of several, of those that there are."""
    rows = Rows(table)
    for part in filter(None, parts):
        rows.extend(part)
    return rows.columns()


def noticed(tables: Tables, notices: Sequence[Notice], first: bool = False) -> dict[str, Columns]:
    """The tables with further notices, code and text each, after the existing ones or before them."""
    own = {"code": [code for code, _ in notices], "text": [text for _, text in notices]}
    parts = (own, tables.get("notices")) if first else (tables.get("notices"), own)
    return {**tables, "notices": joined("notices", *parts)}


# t_ns, monitor, entity, metric, value
Sample = tuple[int, str, str, str, float]


def samples_of(samples: Iterable[Sample]) -> Columns:
    """The table `samples`."""
    columns = Rows("samples").columns()
    rows = list(samples)
    return {name: [row[at] for row in rows] for at, name in enumerate(columns)}
