"""The files beside the runs: bundle.json, environment.json and study.toml, each verified when it is read."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from steelyard.bundle.storage.checksum import proven, read_bytes, read_object
from steelyard.bundle.storage.json_models import EnvironmentShape, HeadShape
from steelyard.run_tables.schema import FORMAT_VERSION
from steelyard.study.errors import InputError

_WHICH = "give the folder that `steelyard run` printed"
_LOST = "take this file from a copy of the bundle: the results cannot be read without it"


class Head(NamedTuple):
    """facts: bundle.json. study_text: study.toml."""

    facts: dict[str, Any]
    environment: dict[str, Any]
    study_text: str


def read_head(path: Path) -> Head:
    """All files beside the runs. Raises InputError that names a damaged one."""
    facts = read_facts(path)
    return Head(facts, read_environment(path), _study_text(path, facts))


def read_facts(path: Path) -> dict[str, Any]:
    """bundle.json. Raises InputError when it is missing, damaged, or of another format."""
    place = path / "bundle.json"
    with suppress(OSError, ValueError):
        if not place.exists():
            raise InputError(f"{path}: not a bundle: it has no bundle.json", _WHICH)
    facts = read_object(place, _WHICH)
    number = facts.get("format")
    if not isinstance(number, int) or number < 1:
        raise InputError(f"{place}: not a bundle: it has no format number", _WHICH)
    if number > FORMAT_VERSION:
        raise InputError(
            f"{path}: written by steelyard {facts.get('steelyard')}, in a newer format",
            "use that version or a newer one",
        )
    if number < FORMAT_VERSION:
        raise InputError(
            f"{path}: written in format {number}, before the first release; this version reads format"
            f" {FORMAT_VERSION}",
            "run the study again, or read the tables: they are Parquet files",
        )
    facts = proven(facts, place, _LOST)
    _check(HeadShape, facts, place)
    labels = [option["label"] for option in facts["options"]]
    if len(set(labels)) < len(labels) or facts["baseline"] not in labels:
        raise InputError(
            f"{place}: options: labels are not distinct, or the baseline is not one of them", _LOST
        )
    return facts


def read_environment(path: Path) -> dict[str, Any]:
    """environment.json. Raises InputError when it is missing or damaged."""
    place = path / "environment.json"
    environment = proven(read_object(place, _LOST), place, _LOST)
    _check(EnvironmentShape, environment, place)
    return environment


def study_sha256(content: bytes) -> str:
    """Checksum of the study's text."""
    return hashlib.sha256(content).hexdigest()


def _study_text(path: Path, facts: dict[str, Any]) -> str:
    place = path / "study.toml"
    content = read_bytes(place, _LOST)
    if study_sha256(content) != facts["study_sha256"]:
        raise InputError(f"{place}: edited since the start of the study, or damaged", _LOST)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: not UTF-8: {error}", _LOST) from None


def _check(shape: type[BaseModel], content: dict[str, Any], place: Path) -> None:
    try:
        shape.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{place}: {where}: {first['msg']}", _LOST) from None
