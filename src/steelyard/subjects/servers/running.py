"""A server that runs, and what it was started with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.study.key_types import Setting


@dataclass(frozen=True)
class Running:
    """programs: the folder of its programs, or the program; data: the directory that its data come from."""

    pid: int
    programs: Path
    data: Path
    settings: Mapping[str, Setting]
