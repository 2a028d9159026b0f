"""The [fleet] of a file of its own, or of a study file."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from steelyard.study.errors import InputError
from steelyard.study.fleet import Fleet
from steelyard.study.key_types import Strict
from steelyard.study.source import text_of, toml_of
from steelyard.study.validation_errors import all_placed


class _File(Strict):
    fleet: Fleet


def fleet_of(path: Path) -> Fleet:
    """The fleet in a file, its folder as an absolute path. Raises InputError with file and line."""
    try:
        text = text_of(path)
    except FileNotFoundError:
        raise InputError(
            f"{path}: no such file", "write [fleet.hosts.NAME], with address and roles"
        ) from None
    raw = toml_of(text, str(path))
    if "fleet" not in raw:
        raise InputError(f"{path}: has no [fleet]", "[fleet.hosts.NAME] with address and roles, per host")
    own = {"fleet": raw["fleet"]}
    try:
        fleet = _File.model_validate(own).fleet
    except ValidationError as error:
        raise InputError(all_placed(error, own, text, str(path))) from None
    folder = path.parent.absolute() / Path(fleet.folder).expanduser()
    return fleet.model_copy(update={"folder": str(folder)})
