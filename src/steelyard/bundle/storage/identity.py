"""The identity of a run in `run.json`: its bundle, number and place, and a checksum of each table."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from steelyard.bundle.storage.checksum import read_sealed
from steelyard.study.errors import InputError

RUN_FILE = "run.json"

# the writer keeps the tables of a run in memory, so no table is larger, and hashing takes time
_TABLE_BYTES_MAX = 4 << 30
_Number = Annotated[int, Field(ge=1, le=2**31 - 1)]


class Identity(BaseModel):
    """bundle: its id. tables: SHA-256 of each table's file, by name of the table."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    bundle: str
    run: _Number
    option: str
    block: _Number
    attempt: _Number
    status: Literal["done", "void", "disturbed"]
    tables: dict[str, str]


@dataclass(frozen=True)
class Found:
    """A run's folder.

    identity: None where the run is unknown. why: the reason to leave it out; '' for an intact run.
    strange: files in it that belong to no run.
    """

    number: int
    identity: Identity | None = None
    why: str = ""
    strange: tuple[str, ...] = ()


def identify(folder: Path, number: int, bundle: str, options: Collection[str]) -> Found:
    """The run in a folder, with the checksums of its tables verified.

    bundle: the required id; options: the allowed labels.
    """
    try:
        content = read_sealed(folder / RUN_FILE, "")
        identity = Identity.model_validate(content)
    except InputError as error:
        return Found(number, why=_within(folder, str(error)))
    except ValidationError as error:
        first = error.errors()[0]
        return Found(number, why=f"{_named(folder, RUN_FILE)}: {_dotted(first['loc'])}: {first['msg']}")
    if identity.bundle != bundle:
        return Found(number, why=f"{_named(folder, RUN_FILE)} belongs to another bundle")
    if identity.run != number:
        return Found(number, why=f"{_named(folder, RUN_FILE)} belongs to run {identity.run}")
    if identity.option not in options or "runs" not in identity.tables:
        return Found(
            number, why=f"{_named(folder, RUN_FILE)}: its option or its tables are not those of a run"
        )
    wrong = [
        f"{_named(folder, name)}: {what}"
        for name, checksum in ((f"{table}.parquet", found) for table, found in identity.tables.items())
        if (what := _damage(folder / name, checksum))
    ]
    return Found(number, identity, "; ".join(wrong), _strange(folder, identity))


def _damage(place: Path, checksum: str) -> str:
    try:
        if not place.is_file():
            return "not a file" if place.exists() else "missing"
        if place.stat().st_size > _TABLE_BYTES_MAX:
            return f"larger than {_TABLE_BYTES_MAX >> 30} GiB: damaged"
        with place.open("rb") as file:
            same = hashlib.file_digest(file, "sha256").hexdigest() == checksum
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except ValueError:
        return "not a valid file name"
    return "" if same else "its checksum differs: damaged or edited"


def _strange(folder: Path, identity: Identity) -> tuple[str, ...]:
    known = {RUN_FILE, *(f"{table}.parquet" for table in identity.tables)}
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError:
        # its tables are read by their names
        return ()
    # hidden files belong to file systems and file managers
    return tuple(_named(folder, name) for name in names if name not in known and not name.startswith("."))


def _named(folder: Path, name: str) -> str:
    return f"runs/{folder.name}/{name}"


def _within(folder: Path, text: str) -> str:
    return text.replace(str(folder), f"runs/{folder.name}")


def _dotted(parts: tuple[int | str, ...]) -> str:
    return ".".join(map(str, parts))
