"""Processor sets: the CPUs of a machine divided among instances of a program, without splitting cores."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")


def divide(cpus: Iterable[int], instances: int) -> list[frozenset[int]]:
    """One set of CPUs per instance, sizes as equal as possible; CPUs of a package stay together.

    With more instances than CPUs, each instance gets one CPU, and some CPUs serve several instances.
    """
    near = sorted(cpus, key=_place)
    if instances > len(near):
        return [frozenset({near[instance % len(near)]}) for instance in range(instances)]
    edges = [len(near) * instance // instances for instance in range(instances + 1)]
    return [frozenset(near[start:end]) for start, end in pairwise(edges)]


def _place(cpu: int) -> tuple[int, int, int]:
    """Package and core: the threads of one core come one after another, whatever their numbers."""
    topology = _CPUS / f"cpu{cpu}" / "topology"
    try:
        package = int((topology / "physical_package_id").read_text())
        return package, int((topology / "core_id").read_text()), cpu
    except (OSError, ValueError):
        return 0, cpu, cpu
