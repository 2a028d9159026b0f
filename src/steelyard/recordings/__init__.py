"""Results that were measured elsewhere, as bundles. A new file below `formats` is a new format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.run_tables.rows import Columns


@dataclass(frozen=True)
class RecordedRun:
    """One run: its tables by name, without `runs`, which the bundle adds. started_at: ISO 8601, or ''."""

    option: str
    block: int
    tables: Mapping[str, Columns]
    started_at: str = ""


@dataclass(frozen=True)
class Recording:
    """A study of kind `recording` as TOML, facts of its machine, and its runs. files: its tables."""

    study_text: str
    environment: Mapping[str, Any]
    runs: Sequence[RecordedRun]
    files: Mapping[str, Path] = field(default_factory=dict[str, Path])
