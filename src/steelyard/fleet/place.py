"""The hosts of a study's fleet as the place of its load engines, while a study runs."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steelyard.fleet.bus import Bus
from steelyard.fleet.check import refuse_unlike, refuse_without_drivers
from steelyard.fleet.connection import Connection
from steelyard.fleet.engine import FleetEngine
from steelyard.lab.engines.place import Place
from steelyard.lab.engines.registry import LoadFailed
from steelyard.study.fleet import Fleet


@contextmanager
def load_hosts(fleet: Fleet, folder: Path, drivers: Collection[str]) -> Generator[Place]:
    """The place, while the context lasts. folder: of the scheduler file; drivers: of JDBC, for each host.

    Raises InputError when the fleet is not up, or a host lacks a driver.
    """
    with Bus(Connection.of(fleet, folder), fleet.with_role("load")) as bus:
        refuse_unlike(bus.facts)
        refuse_without_drivers(bus, drivers)
        yield FleetPlace(bus)


class FleetPlace:
    """The load hosts of a bus."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    def __call__(self, engine: str, plan: Mapping[str, Any], _cpus: frozenset[int], /) -> FleetEngine:
        """Starts an engine on each host, as one."""
        return FleetEngine(self._bus, engine, plan)

    def check(self) -> None:
        """Raises LoadFailed, which names the host, when one is lost: none takes its place."""
        if self._bus.failure:
            raise LoadFailed(self._bus.failure)
