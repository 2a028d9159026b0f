"""Profiles as files that other tools open: folded stacks, and speedscope's own format.

Folded: one stack per line, outermost first, and its samples, as flamegraph.pl reads it.
https://www.speedscope.app/file-format-schema.json
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steelyard.bundle.reader import Bundle
from steelyard.bundle.storage.files import file_names, write_whole
from steelyard.study.errors import InputError

FORMATS = ("speedscope", "folded")

_STACKS = """
    select u.option, p.role || ';' || p.stack as stack, sum(p.samples)::BIGINT as samples
    from profile p join (select run, option from used_runs) u using (run)
    group by u.option, p.role, p.stack order by u.option, stack
"""


def export_stacks(bundle: Bundle, folder: Path, kind: str) -> Iterator[Path]:
    """One file per option, all its runs together, the role as outermost frame. Raises InputError."""
    by_option: dict[str, list[tuple[str, int]]] = {}
    for option, stack, samples in bundle.duckdb.execute(_STACKS).fetchall():
        by_option.setdefault(str(option), []).append((str(stack), int(samples)))
    if not by_option:
        raise InputError(f"{bundle.path}: the bundle has no profile", "steelyard run STUDY --profile")
    hz = bundle.study.probes.profile_hz
    names = file_names(by_option)
    for option, stacks in by_option.items():
        if kind == "folded":
            place = folder / f"{names[option]}.folded"
            text = "".join(f"{stack} {samples}\n" for stack, samples in stacks)
        else:
            place = folder / f"{names[option]}.speedscope.json"
            text = json.dumps(_speedscope(f"{bundle.study.name}: {option}", stacks, hz))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(place, text)
        except OSError as error:
            raise InputError(f"{place}: cannot be written: {error.strerror}") from error
        yield place


def _speedscope(name: str, stacks: list[tuple[str, int]], hz: int) -> dict[str, Any]:
    """Weights in microseconds of CPU time where the rate is known, else samples."""
    each_us = 1e6 / hz if hz else 1.0
    numbers: dict[str, int] = {}
    samples = [[numbers.setdefault(frame, len(numbers)) for frame in stack.split(";")] for stack, _ in stacks]
    weights = [count * each_us for _, count in stacks]
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": name,
        "exporter": "steelyard",
        "shared": {"frames": [{"name": frame} for frame in numbers]},
        "profiles": [
            {
                "type": "sampled",
                "name": name,
                "unit": "microseconds" if hz else "none",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        ],
    }
