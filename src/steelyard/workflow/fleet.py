"""The fleet of a file: brought up, checked, or used as the place of a study's engines."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from types import ModuleType

from steelyard.errors import InputError
from steelyard.lab.engines.process import Place, ThisMachine
from steelyard.study.load_study import fleet_of
from steelyard.subjects.drivers.connection import driven, located
from steelyard.workflow.prepare import PreparedStudy


def place_of_engines(prepared: PreparedStudy) -> AbstractContextManager[Place]:
    """Where the load engines of a study run, while the context lasts. Raises InputError."""
    fleet = prepared.study.fleet
    if fleet is None:
        return nullcontext(ThisMachine())
    workloads = filter(None, map(driven, prepared.options))
    drivers = {located(workload.driver, prepared.folder) for workload in workloads}
    return _of_fleet("place").load_hosts(fleet, prepared.folder / fleet.folder, drivers)


def fleet_up(file: Path, say: Callable[[str], None]) -> None:
    """Starts scheduler and workers, and ends them on SIGINT. Raises InputError."""
    fleet = fleet_of(file)
    _of_fleet("up").up(fleet, Path(fleet.folder), say)


def fleet_check(file: Path, as_json: bool) -> None:
    """Prints what was found of the hosts. Raises InputError when they cannot run a study."""
    fleet = fleet_of(file)
    place = _of_fleet("place")
    found = place.checked(fleet, Path(fleet.folder))
    print(json.dumps(found, indent=2) if as_json else place.text(found))


def _of_fleet(module: str) -> ModuleType:
    """A module of the package that needs dask.distributed: the single machine never imports it."""
    try:
        return import_module(f"steelyard.fleet.{module}")
    except ModuleNotFoundError as missing:
        raise InputError(f"[fleet] needs {missing.name}", "pip install 'steelyard[fleet]'") from None
