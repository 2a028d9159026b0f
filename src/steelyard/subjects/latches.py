"""A shared cache under a latch: protocol, child latches, spin budget, threads or processes.

No server runs: workers are threads of the engine's process, or forks of it over shared memory.
"""

import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from steelyard import _core
from steelyard.errors import InputError, nearest
from steelyard.study.factors import settings_given
from steelyard.study.host_settings import cpus_of
from steelyard.study.key_types import Settings
from steelyard.study.study import Option, Options, Study
from steelyard.study.workloads.lookups import CacheWorkload
from steelyard.subjects import NO_SERVER, Kind, Load, Subject

# settings beside the workload, with their defaults
_DEFAULTS: Settings = {
    "protocol": "oracle-x",
    "workers": "threads",
    "children": 1,
    "spin": "default",
    "placement": "free",
    "counters": True,
    "groups": 2,
    "sample_every": 16,
}

_CPUS = Path("/sys/devices/system/cpu")
_SOCKET = "physical_package_id"


def check(study: Study, options: Options) -> None:
    """Checks settings of a latch, and combinations for its protocol. Raises InputError."""
    for at, key, _ in settings_given(study, "server"):
        if key not in _DEFAULTS:
            raise InputError(f'a latch has no setting "{key}"{nearest(key, _DEFAULTS)}', at=at)
    for option in options:
        try:
            _core.latch_check(json.dumps(_plan(option) | _PHASES))
        except _core.PlanError as error:
            raise InputError(
                f"option {option.label}: {error}",
                "change the level, or leave the combination out with [[exclude]]",
                ("factors",),
            ) from None


class Latch(Subject):
    """A plan for the latch engine; the machine is calibrated once per study."""

    def start(self, option: Option) -> Load:
        """The option's settings and workload."""
        settings = {**_DEFAULTS, **option.server}
        return Load(
            "latch",
            _plan(option),
            facts={
                "version": f"latch {settings['protocol']}",
                "settings": settings,
                "sources": dict.fromkeys(settings, "study"),
                "calibration": self._calibration,
            },
        )

    @cached_property
    def _calibration(self) -> Mapping[str, Any]:
        """Medians in ns; with one CPU hand-over to and wake-up by another CPU are left out.

        cpus: the two measured; cpus_share: the closest resource that they share. hand_over_ns is that of a
        cache line: the engine measures the latch's own before each load point.
        """
        costs = json.loads(_core.latch_calibrate(sorted(os.sched_getaffinity(0))))
        return {
            **{
                name: costs[measured]["median"]
                for name, measured in _CALIBRATED.items()
                if costs[measured] is not None
            },
            "wakes": costs["wakes"] or [],
            "pauses": costs["pauses"],
            "cpus": costs["cpus"],
            "cpus_share": shared(*costs["cpus"]),
        }


# a latch is handed over with its cache line; a sleeping worker is woken on another CPU
_CALIBRATED = {
    "hand_over_ns": "line_transfer_ns",
    "wake_up_ns": "futex_other_cpu_ns",
    "wake_up_same_cpu_ns": "futex_same_cpu_ns",
    "spin_turn_ns": "spin_turn_ns",
    "clock_ns": "clock_ns",
}

# a plan is checked before the study's phases are known to the engine
_PHASES = {"points": [1], "warm_up_s": 0, "measure_s": 1, "cool_down_s": 0, "seed": 0}


def _plan(option: Option) -> dict[str, Any]:
    workload = option.workload
    assert isinstance(workload, CacheWorkload)
    settings = {**_DEFAULTS, **option.server}
    placement, spin = settings.pop("placement"), settings.pop("spin")
    return {
        **workload.model_dump(exclude={"kind", "hold_tail_share", "hold_tail_ns"}),
        **settings,
        "spin": None if spin == "default" else spin,
        "cpus": sorted(os.sched_getaffinity(0)) if placement == "pinned" else [],
        "hold_tail": {"probability": workload.hold_tail_share, "hold_ns": workload.hold_tail_ns}
        if workload.hold_tail_share
        else None,
    }


def shared(cpu: int, other: int, cpus: Path = _CPUS) -> str:
    """The closest resource that both use: the core, a cache, the socket; `nothing`, or '' if unknown."""
    here, there = cpus / f"cpu{cpu}", cpus / f"cpu{other}"
    package = _text(here / "topology" / _SOCKET)
    if not package:
        return ""
    alike = package == _text(there / "topology" / _SOCKET)
    if alike and _text(here / "topology" / "core_id") == _text(there / "topology" / "core_id"):
        return "core"
    for cache in sorted((here / "cache").glob("index*")):
        if (sharing := _text(cache / "shared_cpu_list")) and other in cpus_of(sharing):
            return f"L{_text(cache / 'level')} cache"
    return "socket" if alike else "nothing"


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


KIND = Kind(
    "a latch",
    make=lambda _bench: Latch(),
    check=check,
    takes=(CacheWorkload,),
    lacks=NO_SERVER,
    scopes={"server": "the latch's settings", "client": "the workload's"},
    in_process=True,
)
