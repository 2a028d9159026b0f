"""Settings of scope `host`: scheduling and CPU share of each role, and settings of the whole machine.

server.slice_ms, server.policy, server.rt_priority, server.nice, server.cpus
server.cpuset, server.cpu_weight, server.cpu_quota
the same for engine. and hogs.; of the first line also for report., the reporting sessions; hogs.count
thp, thp_defrag, preempt; sched.base_slice_ns; sysctl.NAME
kernel, and cmdline.NAME of its command line: these need a boot
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from steelyard.errors import nearest

if TYPE_CHECKING:  # the guard of each study imports this module, and pydantic would be most of its start
    from steelyard.study.key_types import Setting, Settings

_Cpus = frozenset[int]

# sessions of the server, whose threads have no control group of their own
SESSIONS = "report"
ROLES = ("server", "engine", "hogs", SESSIONS)
REAL_TIME = ("rr", "fifo")

# numbers: from, to, the unit and a remark
_NUMBERS = {
    # the kernel clamps to these limits silently (kernel/sched/syscalls.c, __setparam_fair)
    "slice_ms": (0.1, 100.0, "milliseconds", " (the kernel silently clamps other values)"),
    # a quota is per period of 100 ms, and the kernel accepts none below 1 ms
    "cpu_quota": (0.01, 8192.0, "a number of CPUs", ", such as 1.5"),
}
# settings that are whole numbers: of the machine, and of a role
_WHOLE = {
    "hogs.count": (0, 1000),
    "sched.base_slice_ns": (100_000, 1_000_000_000),
    "rt_priority": (1, 99),
    "nice": (-20, 19),
    "cpu_weight": (1, 10_000),
}
_LISTS = ("cpus", "cpuset")
_LONGEST_LIST = 1000
# settings whose value is one of a few words
_WORDS = {
    "policy": ("other", "batch", "idle", "rr", "fifo"),
    "thp": ("always", "madvise", "never"),
    "thp_defrag": ("always", "defer", "defer+madvise", "madvise", "never"),
    "preempt": ("none", "voluntary", "full", "lazy"),
}
_MACHINE = {
    "thp": Path("/sys/kernel/mm/transparent_hugepage/enabled"),
    "thp_defrag": Path("/sys/kernel/mm/transparent_hugepage/defrag"),
    "preempt": Path("/sys/kernel/debug/sched/preempt"),
    "sched.base_slice_ns": Path("/sys/kernel/debug/sched/base_slice_ns"),
}
KERNEL = "kernel"
_CMDLINE = re.compile(r"cmdline\.([A-Za-z][\w.-]*)")
_WORD = re.compile(r"[\x21\x23-\x7e]*")  # printable, no blank, no quote
_SYSCTL = re.compile(r"sysctl\.(\w[\w-]*(?:[./][\w-]+)+)")


class _Attributes:
    """Settings of a role; None: unchanged."""

    def given(self) -> Iterator[tuple[str, object]]:
        """Name and value of each attribute that is set."""
        for name, value in vars(self).items():
            if value is not None:
                yield name, value


@dataclass(frozen=True)
class Schedule(_Attributes):
    """Scheduling parameters of each thread of a role."""

    policy: str | None = None
    rt_priority: int | None = None
    nice: int | None = None
    slice_ms: float | None = None
    cpus: _Cpus | None = None


@dataclass(frozen=True)
class Share(_Attributes):
    """Limits of the control group of all processes of a role.

    cpuset: the CPUs that they may use; cpu_weight: relative to other groups, whose default is 100;
    cpu_quota: CPU time per second, in seconds.
    """

    cpuset: _Cpus | None = None
    cpu_weight: int | None = None
    cpu_quota: float | None = None


_Given = TypeVar("_Given", Schedule, Share)


@dataclass(frozen=True)
class HostSettings:
    """schedules, shares: by role, only roles with any; files: name of the setting, file, value to write."""

    schedules: Mapping[str, Schedule]
    shares: Mapping[str, Share]
    hogs: int
    files: tuple[tuple[str, Path, str], ...]


def host_settings(settings: Settings) -> HostSettings:
    """Settings of scope host, by name, as actions. They must have passed check_setting."""
    return HostSettings(
        schedules=_by_role(Schedule, settings),
        shares=_by_role(Share, settings),
        hogs=int(settings.get("hogs.count", 0)),
        files=tuple(
            (key, path, str(int(value) if isinstance(value, bool) else value))
            for key, value in settings.items()
            if (path := file_of(key)) is not None
        ),
    )


def cpus_by_role(settings: Settings, server: _Cpus, engine: _Cpus) -> dict[str, _Cpus]:
    """The CPUs that each role may use. server, engine: where the study places them unless a setting does.

    A pooler and hogs stand with the server, the lab's monitors are not named: they work for both.
    """
    found = {"server": server, "engine": engine, "pooler": server, "hogs": server}
    given = host_settings(settings)
    found |= {role: s.cpus for role, s in given.schedules.items() if s.cpus is not None and role in found}
    found |= {role: s.cpuset for role, s in given.shares.items() if s.cpuset is not None}
    return found


def _by_role(kind: type[_Given], settings: Settings) -> dict[str, _Given]:
    found: dict[str, _Given] = {}
    for role in ROLES:
        mine: dict[str, object] = {}
        for name in _names(kind):
            if (value := settings.get(f"{role}.{name}")) is not None:
                mine[name] = cpus_of(str(value)) if name in _LISTS else value
        if mine:
            found[role] = kind(**mine)  # pyright: ignore[reportArgumentType]
    return found


def _names(kind: type[Schedule] | type[Share]) -> list[str]:
    return [field.name for field in fields(kind)]


def _attributes_of(role: str) -> list[str]:
    return _names(Schedule) if role == SESSIONS else [*_names(Schedule), *_names(Share)]


def file_of(key: str) -> Path | None:
    """The file of a machine-wide setting; None for a setting of a role."""
    if found := _SYSCTL.fullmatch(key):
        # as sysctl(8): names are separated by dots, or by slashes
        name = found[1] if "/" in found[1] else found[1].replace(".", "/")
        return Path("/proc/sys") / name
    return _MACHINE.get(key)


def _known_settings() -> list[str]:
    """Every name of a setting; `<name>` stands for any name."""
    each = [f"{role}.{attribute}" for role in ROLES for attribute in _attributes_of(role)]
    return [*each, "hogs.count", *_MACHINE, "sysctl.<name>", KERNEL, "cmdline.<name>"]


def boot_arguments(settings: Settings) -> tuple[str, ...]:
    """Arguments of the kernel's command line: `preempt=full`; true gives the bare name, false none."""
    found = {match[1]: value for key, value in settings.items() if (match := _CMDLINE.fullmatch(key))}
    return tuple(
        name if value is True else f"{name}={value}" for name, value in found.items() if value is not False
    )


def boot_of(settings: Settings) -> tuple[tuple[str, Setting], ...]:
    """The settings of scope host that need a boot, sorted by name."""
    return tuple(sorted((key, value) for key, value in settings.items() if takes_boot(key)))


def takes_boot(key: str) -> bool:
    """Whether a setting of scope host takes effect only at boot."""
    return key == KERNEL or _CMDLINE.fullmatch(key) is not None


def check_setting(key: str, value: Setting) -> None:
    """Raises ValueError for an unknown name or an invalid value."""
    role, _, attribute = key.partition(".")
    of_role = role in ROLES and attribute in _attributes_of(role)
    name = attribute if of_role else key
    if _SYSCTL.fullmatch(key):
        return
    if takes_boot(key):
        if not _WORD.fullmatch(str(value)) or (key == KERNEL and not str(value)):
            raise ValueError(f"{key} = {value!r}: expected one word without blanks")
    elif not of_role and key not in ("hogs.count", *_MACHINE):
        raise ValueError(f'no setting "{key}" of scope host{nearest(key, _known_settings())}')
    elif name in _WORDS:
        if value not in _WORDS[name]:
            raise ValueError(f'unknown {key} "{value}"{nearest(str(value), _WORDS[name])}')
    elif name in _WHOLE:
        low, high = _WHOLE[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"{key} = {value}: expected a whole number from {low} to {high}")
    elif name in _LISTS:
        cpus_of(str(value))
    else:
        low, high, unit, text = _NUMBERS[name]
        if isinstance(value, bool | str) or not low <= value <= high:
            raise ValueError(f"{key} = {value}: expected {unit} from {low} to {high:g}{text}")


def lasting(key: str) -> str:
    """Why a setting of scope host cannot change between turns, as a clause; '' where it can.

    Those of the server and of the engine hold for processes that each option has to itself; of the machine's,
    the scheduler obeys within microseconds.
    """
    if takes_boot(key):
        return "takes effect only at boot"
    if key.startswith("hogs."):
        return "CPU hogs of one option would run in the turns of the others"
    if key.startswith(("thp", "sysctl.vm.", "sysctl.vm/")):
        return "acts on memory beyond the turn in which it is set"
    return ""


def idle(settings: Settings, background_clients: int = 0) -> dict[str, str]:
    """Settings without effect in combination with the others: reason by name.

    background_clients: how many sessions report.
    """
    found: dict[str, str] = {}
    for key in settings:
        role, _, attribute = key.partition(".")
        policy = str(settings.get(f"{role}.policy", "other"))
        if role == "hogs" and key != "hogs.count" and not settings.get("hogs.count"):
            found[key] = "there are no hogs (hogs.count)"
        elif role == SESSIONS and not background_clients:
            found[key] = "no session executes reports (workload.report_clients)"
        elif attribute == "cpus" and f"{role}.cpuset" in settings:
            found[key] = f"{role}.cpuset already sets the CPUs"
        elif attribute == "cpu_weight" and policy in REAL_TIME:
            found[key] = f"{role}.policy is {policy}; real-time processes ignore weights"
        elif attribute == "rt_priority" and policy not in REAL_TIME:
            found[key] = f"{role}.policy is {policy}; only rr and fifo have real-time priorities"
        elif attribute == "nice" and policy in (*REAL_TIME, "idle"):
            found[key] = f"{role}.policy = {policy} ignores nice"
        elif attribute == "slice_ms" and policy not in ("other", "batch"):
            found[key] = f"{role}.policy = {policy} has no slice"
    return found


def cpus_of(text: str) -> _Cpus:
    """`0-2,5` as numbers. Raises ValueError."""
    if len(text) > _LONGEST_LIST:
        raise ValueError(f"the list of CPUs is too long: {len(text):,} characters")
    found = set[int]()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,4})(?:-(\d{1,4}))?\s*", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise ValueError(f'"{text}" is not a list of CPUs such as 0-1,4')
        found |= set(range(first, last + 1))
    return frozenset(found)
