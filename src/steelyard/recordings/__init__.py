"""Results that were measured elsewhere, as bundles. A format is one file and its line in FORMATS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from steelyard.run_tables.rows import Columns


@dataclass(frozen=True)
class Recording:
    """What a format reads: a study of kind `recording` as TOML, facts of its machine, tables by option.

    tables: by the option's label, then by name; without `runs`, which the bundle adds.
    """

    study_text: str
    environment: Mapping[str, Any]
    tables: Mapping[str, Mapping[str, Columns]]


class Importer(Protocol):
    """One format of results: a module with these two functions."""

    def sniff(self, head: str) -> bool:
        """Whether a file that begins with this text has the format."""
        ...

    def read(self, file: Path) -> Recording:
        """The recording in a file. Raises InputError."""
        ...


# tried in this order
FORMATS: dict[str, str] = {
    "a table of CSV with columns clients and per_s": "steelyard.recordings.formats.series",
    "a TOML file that describes tables": "steelyard.recordings.formats.described",
}


def importer_of(head: str) -> Importer | None:
    """The first format that has a file with this beginning; None for an unknown one."""
    importers = (cast(Importer, import_module(module)) for module in FORMATS.values())
    return next((importer for importer in importers if importer.sniff(head)), None)
