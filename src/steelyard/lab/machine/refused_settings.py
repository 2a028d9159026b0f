"""Host settings that this machine and user refuse. Nothing on the machine changes.

Scheduling and control groups are tried on a child process. A file is opened for writing and not written: the
value counts only in a run.
"""

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from uuid import uuid4

from steelyard.errors import InputError
from steelyard.host.cpus.control_group import ControlGroup
from steelyard.host.cpus.scheduling import NotTaken, impose, schedule_of, shown
from steelyard.host.finding import privileged
from steelyard.host.kernel import value_of
from steelyard.host.processes.guard import Guard
from steelyard.lab.environment.environment import virtualization_facts
from steelyard.study.host_settings import Schedule, Share, host_settings
from steelyard.study.kernel_files import without_effect
from steelyard.study.key_types import Settings
from steelyard.study.study import Option, Options, Study

_AUTOGROUP = "sysctl.kernel.sched_autogroup_enabled"


@dataclass(frozen=True)
class Refusal:
    """A setting that is not available here. hint: the remedy, '' if none is known."""

    setting: str
    why: str
    hint: str


def permitted(study: Study, options: Options) -> tuple[list[Option], list[str]]:
    """The options that this machine can run, and one sentence per refused setting.

    A refused setting that all options share is left out of them; an option that differs by a
    refused setting is left out itself. Raises InputError when fewer than two options are left, or
    the baseline is left out.
    """
    fixed = {refusal.setting: refusal for refusal in refusals(study.host)}
    notices = [f"{_named(each, study.host)}; it is left out of all options" for each in fixed.values()]
    left: list[Option] = []
    for option in options:
        settings = {k: v for k, v in option.host.items() if k not in fixed or v != study.host.get(k)}
        refused = list(refusals(settings))
        if refused:
            reasons = "; ".join(_named(refusal, settings) for refusal in refused)
            notices.append(f"option {option.label} is left out: {reasons}")
        else:
            left.append(replace(option, host=settings))
    hint = "steelyard doctor shows what this machine permits"
    if len(left) < min(2, len(options)):
        number = {0: "no option is", 1: "only one option is"}[len(left)]
        raise InputError(f"{number} left, but a study needs two:\n" + "\n".join(notices), hint)
    if study.plan.baseline is not None and study.plan.baseline not in {o.label for o in left}:
        raise InputError("the baseline cannot run here:\n" + "\n".join(notices), hint, ("plan", "baseline"))
    return left, notices


def refusals(settings: Settings) -> Iterator[Refusal]:
    """The settings of scope host that this machine refuses."""
    requested = host_settings(settings)
    for name, path, value in requested.files:
        if refusal := _refused_file(name, path, value):
            yield refusal
    for role, share in requested.shares.items():
        for refusal in _refused_share(share):
            yield replace(refusal, setting=f"{role}.{refusal.setting}")
    for role, schedule in requested.schedules.items():
        refused = _refused_schedule(schedule)
        for refusal in refused:
            yield replace(refusal, setting=f"{role}.{refusal.setting}")
        name = "policy" if schedule.policy == "idle" else "nice" if schedule.nice is not None else ""
        grouped = name and _autogroup() and str(settings.get(_AUTOGROUP, "1")) != "0"
        if grouped and name not in {refusal.setting for refusal in refused}:
            yield Refusal(
                f"{role}.{name}",
                f"has no effect: the kernel schedules sessions as groups; this {name} counts only within one",
                f'[host] "{_AUTOGROUP}" = 0'
                + ("" if os.geteuid() == 0 else " as root, or sudo sysctl kernel.sched_autogroup_enabled=0"),
            )


def _refused_file(name: str, path: Path, value: str) -> Refusal | None:
    if why := without_effect(path):
        return Refusal(name, f"has no effect: {why}", "leave it out")
    try:
        # an unchanged value needs no permission
        if value_of(path) != " ".join(value.split()):
            os.close(os.open(path, os.O_WRONLY))
    except FileNotFoundError:
        mount = "; sudo mount -t debugfs nodev /sys/kernel/debug" if "/debug/" in str(path) else ""
        return Refusal(name, f"{path} does not exist", f"use a kernel that has it{mount}")
    except OSError as error:
        return Refusal(name, f"{path}: {error.strerror}", _hint(error, name))
    return None


@cache
def _refused_schedule(schedule: Schedule) -> tuple[Refusal, ...]:
    """The attributes that the kernel refuses for a child process."""
    found: list[Refusal] = []
    for name, _ in schedule.given():
        if name != "rt_priority":  # tried with its policy
            only = Schedule(**{name: getattr(schedule, name)})
            if name == "policy":
                only = replace(only, rt_priority=schedule.rt_priority)
            found += _tried(name, partial(impose, requested=only))
    return tuple(found)


@cache
def _refused_share(share: Share) -> tuple[Refusal, ...]:
    """The attributes that the kernel refuses for a control group."""
    found: list[Refusal] = []
    with Guard() as guard:

        def confine(pid: int, only: Share) -> None:
            group = ControlGroup(only, f"steelyard-{uuid4().hex}-trial")
            for folder in group.folders:
                guard.dissolve(folder)
            group.make()
            group.join(pid)

        for name, _ in share.given():
            found += _tried(name, partial(confine, only=Share(**{name: getattr(share, name)})))
    return tuple(found)


def _tried(name: str, act: Callable[[int], None]) -> Iterator[Refusal]:
    try:
        with _sleeper() as pid:
            act(pid)
    except NotTaken as misfit:
        yield Refusal(name, str(misfit).partition(": ")[2], _hint(misfit.__cause__, name))


def _hint(error: BaseException | None, name: str) -> str:
    """By the kernel's answer: no privilege mends a value that it refuses, nor a mount."""
    match getattr(error, "errno", None):
        case errno.EINVAL | errno.ERANGE:
            return _CPUS if name.startswith("cpus") else "give another value: the kernel refuses this one"
        case errno.EROFS:
            return "it is mounted read-only: sudo mount -o remount,rw, or run outside a container"
        case errno.EACCES:
            return f"{privileged('CAP_DAC_OVERRIDE')}, outside a container"
        case _:
            return _HINTS.get(name, f"{privileged()}, outside a container" if error else _CONTROLLERS)


_CPUS = f"CPUs 0-{(os.cpu_count() or 1) - 1} exist: name CPUs that taskset -p 1 and the control group allow"
_NICE = f"{privileged('CAP_SYS_NICE')}, or sudo setcap"
_CONTROLLERS = "version 2 of control groups: echo '+cpu +cpuset' >/sys/fs/cgroup/cgroup.subtree_control"
_HINTS = {
    "policy": f"{_NICE} cap_sys_nice+ep on the interpreter, or ulimit -r 99",
    "nice": f"{_NICE} cap_sys_nice+ep on the interpreter, or raise ulimit -e",
    "slice_ms": "Linux 6.12 or later",
    "cpus": _CPUS,
}


@contextmanager
def _sleeper() -> Generator[int]:
    # ends with the pipe, and so with us
    command = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def own_slice_ms() -> float:
    """The kernel's default slice; 0 where it does not report it."""
    with suppress(OSError):
        return schedule_of(os.getpid()).slice_ms or 0.0
    return 0.0


def _autogroup() -> bool:
    """Whether each session is scheduled as a group: sched(7), "The autogroup feature"."""
    try:
        if value_of(Path("/proc/sys/kernel/sched_autogroup_enabled")) != "1":
            return False
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return False
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            return path == "/"
    # version 2: a group with the cpu controller replaces the session's group
    own = Path("/sys/fs/cgroup") / lines[-1].split(":", 2)[2].lstrip("/")
    for folder in (own, *own.parents):
        with suppress(OSError):
            if (folder / "cgroup.type").exists() and "cpu" in (folder / "cgroup.controllers").read_text():
                return False
    return True


def _named(refusal: Refusal, settings: Settings) -> str:
    hint = f" (hint: {refusal.hint})" if refusal.hint else ""
    return f"{refusal.setting} = {settings[refusal.setting]}: {refusal.why}{hint}"


def limits() -> Iterator[str]:
    """What slows all that is measured: `nice 19`, `CPUs 0 of 2`, `a CPU limit of 0.6 CPUs ...`."""
    own = schedule_of(os.getpid())
    if own.policy != "other":
        yield f"the scheduling policy {own.policy}"
    if own.nice:
        yield f"nice {own.nice}"
    if len(own.cpus or ()) < (cpus := os.cpu_count() or 1):
        yield f"CPUs {shown(own.cpus)} of {cpus}"
    groups = virtualization_facts()
    if (limit := groups["cgroup_cpus_limit"]) is not None:
        yield f"a CPU limit of {limit:g} CPUs (control group)"
    if (limit := groups["cgroup_memory_limit_bytes"]) is not None:
        yield f"a memory limit of {limit / 1024**3:.3g} GiB (control group)"


def inherited() -> list[str]:
    """The limits, and that sessions are scheduled as groups."""
    return [*limits(), *["autogroups: nice counts only within a session"] * _autogroup()]
