"""The hosts of a study's fleet as the place of its load engines, while a study runs."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from steelyard.fleet.bus import Bus
from steelyard.fleet.check import refuse_unlike
from steelyard.fleet.connection import Connection
from steelyard.fleet.engine import FleetEngine
from steelyard.lab.engines.place import Place
from steelyard.study.fleet import Fleet


@contextmanager
def place_of(fleet: Fleet, connection: Connection) -> Generator[Place]:
    """The place, while the context lasts. Raises InputError when the fleet is not up."""
    with Bus(connection, fleet.with_role("load")) as bus:
        refuse_unlike(bus.facts)
        yield lambda engine, plan, _: FleetEngine(bus, engine, plan)
