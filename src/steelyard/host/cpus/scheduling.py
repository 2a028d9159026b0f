"""Scheduling attributes of a process and its descendants, set and read back.

Policy, nice, slice and CPUs are inherited by threads and children started later, and end with them.
"""

import ctypes
import os
import platform
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.study.host_settings import REAL_TIME, Schedule


@dataclass(frozen=True)
class Placement:
    """CPUs of the server and of the engine; the lab's own threads run on the engine's CPUs."""

    server: frozenset[int]
    engine: frozenset[int]

    @property
    def apart(self) -> bool:
        """Whether they share no CPU."""
        return not self.server & self.engine


def place(engine_threads: int, pin: bool) -> Placement:
    """The engine gets one of the last CPUs per thread, at most half of them; the server gets the rest.

    An engine without threads only waits, and takes no CPU from the server.
    """
    cpus = frozenset(os.sched_getaffinity(0))
    if not pin or len(cpus) < 2 or not engine_threads:
        return Placement(cpus, cpus)
    engine = frozenset(sorted(cpus)[-min(engine_threads, len(cpus) // 2) :])
    return Placement(cpus - engine, engine)


def pin(pid: int, cpus: Iterable[int]) -> None:
    """Puts a process and all its threads on these CPUs; children that it starts later inherit them."""
    with suppress(ProcessLookupError, FileNotFoundError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(ProcessLookupError):
                os.sched_setaffinity(int(task.name), cpus)


_NUMBERS = {"other": 0, "fifo": 1, "rr": 2, "batch": 3, "idle": 5}  # linux/sched.h
_WORDS = {number: word for word, number in _NUMBERS.items()}
# sched_setattr and sched_getattr have no wrapper in libc
_SET, _GET = {"x86_64": (314, 315), "s390x": (345, 346), "ppc64le": (355, 356)}.get(
    platform.machine(), (274, 275)
)
_RESET_ON_FORK = 1
# a task started during a pass is found in the next pass
PASSES = 20


class _Attributes(ctypes.Structure):
    """struct sched_attr, version 0 (linux/sched/types.h)."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    )


class NotTaken(Exception):
    """The kernel refused a value, or reads back another than requested; the text names the attribute."""


def schedule_of(tid: int) -> Schedule:
    """Attributes of a thread now; slice_ms is 0 where the kernel has no slices per task.

    Raises OSError. Linux 6.12 and later show the slice of policies other and batch.
    """
    found = _read(tid)
    policy = _WORDS.get(found.policy, str(found.policy))
    return Schedule(
        policy=policy,
        rt_priority=found.priority if policy in REAL_TIME else None,
        nice=found.nice,
        slice_ms=found.runtime / 1e6 if policy in ("other", "batch") else None,
        cpus=frozenset(os.sched_getaffinity(tid)),
    )


def impose(pid: int, requested: Schedule) -> None:
    """Schedules a process, its threads and its descendants as requested. Raises NotTaken."""
    found: dict[int, str] = {}
    for _ in range(PASSES):
        found = misfits(pid, requested)
        if not found:
            return
        for tid in found:
            with suppress(ProcessLookupError):
                _write(tid, requested)
    raise NotTaken(next(iter(found.values())))


def misfit_of(tid: int, requested: Schedule, narrower: bool = False) -> str:
    """`nice = 5: it has 0`, for the first attribute that is not as requested; '' if all are.

    narrower: it may have bound itself to some of the requested CPUs.
    """
    has = schedule_of(tid)
    if narrower and has.cpus and requested.cpus and has.cpus < requested.cpus:
        has = replace(has, cpus=requested.cpus)
    for name, value in requested.given():
        if (found := shown(getattr(has, name))) != shown(value):
            return f"{name} = {shown(value)}: it has {found}"
    return ""


def misfits(pid: int, requested: Schedule, narrower: bool = False) -> dict[int, str]:
    """Threads of a process and of its descendants that are not as requested, each with the attribute."""
    found: dict[int, str] = {}
    for tid in tasks(pid):
        with suppress(ProcessLookupError):
            if misfit := misfit_of(tid, requested, narrower):
                found[tid] = misfit
    return found


def shown(value: object) -> str:
    """An attribute's value as in a study file."""
    if isinstance(value, frozenset):
        return ",".join(map(str, sorted(value)))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return f"{value:g}" if isinstance(value, float) else str(value)


def processes(pid: int) -> list[int]:
    """A process and its descendants; parents before their children."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for process in found:  # grows while it is walked
        found += children.get(process, [])
    return found


def tasks(pid: int) -> list[int]:
    """Threads of a process and of its descendants."""
    found: list[int] = []
    for process in processes(pid):
        with suppress(OSError):
            found += [int(task.name) for task in Path(f"/proc/{process}/task").iterdir()]
    return found


def _read(tid: int) -> _Attributes:
    attributes = _Attributes()
    _call(_GET, tid, ctypes.byref(attributes), ctypes.sizeof(attributes), 0)
    return attributes


def _write(tid: int, requested: Schedule) -> None:
    try:
        if requested.cpus is not None:
            os.sched_setaffinity(tid, requested.cpus)
        if any(name != "cpus" for name, _ in requested.given()):
            _call(_SET, tid, ctypes.byref(_attributes(_read(tid), requested)), 0)
    except ProcessLookupError:
        raise
    except OSError as error:
        attributes = ", ".join(f"{name} = {shown(value)}" for name, value in requested.given())
        raise NotTaken(f"{attributes}: {error.strerror}") from error


def _attributes(now: _Attributes, requested: Schedule) -> _Attributes:
    policy = now.policy if requested.policy is None else _NUMBERS[requested.policy]
    real_time = _WORDS.get(policy) in REAL_TIME
    return _Attributes(
        size=ctypes.sizeof(_Attributes),
        policy=policy,
        flags=now.flags & _RESET_ON_FORK,
        nice=now.nice if requested.nice is None else requested.nice,
        priority=(requested.rt_priority or now.priority or 1) if real_time else 0,
        # 0: the kernel's default slice
        runtime=0 if requested.slice_ms is None else round(requested.slice_ms * 1e6),
    )


def _call(number: int, *arguments: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, *arguments):
        code = ctypes.get_errno()
        # OSError selects the subclass of the code
        raise OSError(code, os.strerror(code))
