"""Facts that an engine reports about itself, apart from its measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Any, cast, get_args, get_origin, get_type_hints

PerPoint = tuple[int, ...]


@dataclass(frozen=True)
class Facts:
    """Facts of one run by name; None: not reported by this engine. PerPoint: one number per load point.

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
    backlog: PerPoint | None = None
    began_ns: PerPoint | None = None
    busy_turn_ns: float | None = None
    clock_ns: float | None = None
    sampled_every: PerPoint | None = None
    spin: int | None = None
    in_turn: bool | None = None
    sees_misses: bool | None = None
    sees_sleeps: bool | None = None
    guarded: PerPoint | None = None
    exclusive_gets: PerPoint | None = None
    events: int | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Facts:
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
