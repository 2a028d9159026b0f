"""The booted kernel; host settings, applied before clients connect, read back, undone after a run or block.

Settings of processes end with the processes. Settings of the machine are registered with the guard
before they change, with all settings that the kernel couples with them: they are undone if the lab is killed.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from uuid import uuid4

from steelyard.errors import InputError
from steelyard.host.cpus.control_group import ControlGroup
from steelyard.host.cpus.scheduling import NotTaken, Placement, impose, misfits, tasks
from steelyard.host.kernel import Saved, hold, new_group, put_back, settle, value_of, values_of
from steelyard.host.processes.cpu_hogs import Hogs
from steelyard.host.processes.guard import Guard
from steelyard.lab.engines.result import Json, LoadFailed
from steelyard.lab.environment.environment import PROC, Facts, kernel_facts, mitigation_facts, read_text
from steelyard.study.host_settings import KERNEL, SESSIONS, Schedule, boot_of, host_settings
from steelyard.study.kernel_files import coupled
from steelyard.study.key_types import Settings
from steelyard.study.study import Option, Options
from steelyard.subjects import SubjectFailed


class BootNeeded(Exception):
    """The study can only continue after a boot. requested: the boot settings; why: the unmet setting."""

    def __init__(self, requested: Settings, why: str) -> None:
        super().__init__(why)
        self.requested = requested


@dataclass(frozen=True)
class Boot:
    """The current boot. arguments: of the kernel's command line; boot_id: the kernel's id of this boot."""

    release: str
    arguments: frozenset[str]
    boot_id: str

    @classmethod
    def now(cls) -> Self:
        """The boot as the kernel reports it."""
        return cls(
            release=read_text(PROC / "sys/kernel/osrelease"),
            arguments=frozenset(read_text(PROC / "cmdline").split()),
            boot_id=read_text(PROC / "sys/kernel/random/boot_id"),
        )

    def unmet(self, requested: Settings) -> str:
        """`kernel = 6.12: it is 6.1.0-56-amd64` for the first setting that does not hold; '' for none."""
        for key, value in requested.items():
            name = key.removeprefix("cmdline.")
            if key == KERNEL:
                rest = self.release.removeprefix(str(value))
                if rest == self.release or rest[:1].isdigit():
                    return f"kernel = {value}: it is {self.release}"
            elif value is False:
                if found := [each for each in self.arguments if each.partition("=")[0] == name]:
                    return f"{key} = false: the command line has {found[0]}"
            elif (argument := name if value is True else f"{name}={value}") not in self.arguments:
                return f"{key}: the command line has no {argument}"
        return ""

    def check(self, option: Option) -> None:
        """Raises BootNeeded where the option requires another boot."""
        requested = dict(boot_of(option.host))
        if why := self.unmet(requested):
            raise BootNeeded(requested, f"option {option.label} needs {why}")


def boot_facts(options: Options, known: Sequence[Json]) -> Facts:
    """Facts of the current boot, for the bundle; {} where no option requires it.

    known: facts of earlier boots. Raises InputError when the same boot settings now give another
    kernel, or another clock source: such runs cannot be compared.
    """
    boot = Boot.now()
    boots = {boot_of(option.host) for option in options} - {()}
    met = next((requested for requested in sorted(boots, key=str) if not boot.unmet(dict(requested))), None)
    if met is None:
        return {}
    kernel = kernel_facts()
    facts = {
        "boot_id": boot.boot_id,
        "settings": dict(met),
        "kernel": kernel,
        "mitigations": mitigation_facts(),
    }
    for other in known:
        clock, release = other["kernel"]["clock_source"], other["kernel"]["release"]
        if clock != kernel["clock_source"]:
            raise InputError(
                f"the clock source is {kernel['clock_source']} under {kernel['release']}, but was {clock}"
                f" under {release}: their times cannot be compared",
                "use the same clock source with every kernel: clocksource=tsc on its command line",
            )
        if other["settings"] == facts["settings"] and release != kernel["release"]:
            listed = ", ".join(f"{key} = {value}" for key, value in met)
            raise InputError(
                f"the kernel of {listed} was {release} in this study, and is {kernel['release']} now",
                "boot the former kernel, or start a new study",
            )
    return facts


@dataclass
class _Coupled:
    """Files of the machine that the kernel couples. given: the values of the current option."""

    saved: dict[Path, Saved]
    given: dict[Path, str] | None = None
    promise: int = 0


class Host:
    """The machine of a study: change() and settle() before a run's load, restore() at its end.

    In turns change() comes before whatever an option does, and settle() once per option.
    """

    def __init__(self, guard: Guard, placement: Placement, boot: Boot | None = None) -> None:
        """boot: the current boot, where options may require another; None: boots are not checked."""
        self._boot = boot
        self.boots = boot is not None
        self._guard = guard
        self._placement = placement
        self._coupled: list[_Coupled] = []
        self._locks: list[int] = []
        self._hogs: Hogs | None = None
        self._confined: dict[tuple[str, int], ControlGroup] = {}
        self._scheduled: dict[tuple[str, int], Schedule] = {}
        self._promises: list[int] = []  # of groups and probes

    def change(self, option: Option) -> None:
        """Applies the option's machine settings, and undoes others of an option before it.

        Raises SubjectFailed for a refused one, BootNeeded.
        """
        if self._boot is not None:
            self._boot.check(option)
        files = {
            path: (name, " ".join(value.split())) for name, path, value in host_settings(option.host).files
        }
        for path, (name, value) in files.items():
            try:
                self._hold(path)
            except OSError as error:
                raise SubjectFailed(f"option {option.label}: {name} = {value}: {error.strerror}") from None
        for group in self._coupled:
            given = {path: value for path, (_, value) in files.items() if path in group.saved}
            for path, problem in self._give(group, given).items():
                name, value = files[path]
                raise SubjectFailed(f"option {option.label}: {name} = {value}: {problem}")

    def settle(self, option: Option, pids: Mapping[str, int]) -> dict[str, int]:
        """Applies the option's scheduling to the running processes, and starts its CPU hogs.

        pids: root process by role; returned with that of the hogs. Call it before clients connect:
        processes started later inherit the settings. Raises SubjectFailed for a refused setting.
        """
        settings = host_settings(option.host)
        role = "hogs"
        try:
            if settings.hogs and self._hogs is None:
                schedule = settings.schedules.get("hogs", Schedule())
                self._hogs = Hogs(settings.hogs, self._placement.server, schedule, self._guard)
            if self._hogs is not None:
                pids = {**pids, "hogs": self._hogs.pid}
            # groups come first: entering a group resets the affinity
            for role, share in settings.shares.items():
                # a server or hogs that options share are in their group already
                if (role, pids[role]) not in self._confined:
                    group = ControlGroup(share, f"steelyard-{uuid4().hex}-{role}")
                    self._promises += map(self._guard.dissolve, group.folders)
                    self._confined[role, pids[role]] = group
                    group.make()
                    group.join(pids[role])
            for role, schedule in settings.schedules.items():
                # sessions come with the load
                if role != SESSIONS:
                    self.schedule(role, pids[role], schedule)
        except NotTaken as misfit:
            raise SubjectFailed(f"option {option.label}: the host did not take {role}.{misfit}") from None
        except KeyError:
            text = f"no process of the role {role} was started here, so its scheduling cannot be set"
            raise SubjectFailed(f"option {option.label}: {text}") from None
        return dict(pids)

    def schedule(self, role: str, pid: int, schedule: Schedule) -> None:
        """Applies it to a process and its descendants. Raises NotTaken."""
        impose(pid, schedule)
        self._scheduled[role, pid] = schedule

    def confirm(self, option: Option, pids: Mapping[str, int]) -> None:
        """Reads back under load what is set. Raises SubjectFailed, LoadFailed for what no longer acts.

        pids: the option's root process by role; those of options that take turns with it are not read.
        """
        self.change(option)
        for (role, pid), schedule in self._scheduled.items():
            if pids.get(role, pid) != pid:
                continue
            for thread, misfit in misfits(pid, schedule, narrower=True).items():
                # reporting sessions are processes of the server, with settings of their own
                if role == SESSIONS or (SESSIONS, thread) not in self._scheduled:
                    raise LoadFailed(f"a thread lost {role}.{misfit} under load")
            if role == SESSIONS and not tasks(pid):
                raise LoadFailed("a reporting session ended under load")
        for (role, pid), group in self._confined.items():
            if pids.get(role, pid) == pid and not group.holds(pid):
                raise LoadFailed(f"the {role} left its control group under load")

    def name_for_probes(self) -> str:
        """A new group for kernel probes: restore() removes its probes, or the guard if the lab is killed."""
        group = new_group()
        self._promises.append(self._guard.take_away(group))
        return group

    def restore(self) -> None:
        """Ends hogs, undoes groups, probes, changes. Raises SubjectFailed for settings changed by others."""
        if self._hogs is not None:
            self._hogs.stop()
            self._hogs = None
        for promise in self._promises:
            self._guard.undo(promise)
        self._promises.clear()
        self._confined.clear()
        self._scheduled.clear()
        problems = [text for group in reversed(self._coupled) for text in put_back(group.saved)]
        for group in self._coupled:
            self._guard.forget(group.promise)
        self._coupled.clear()
        for lock in self._locks:
            os.close(lock)
        self._locks.clear()
        if problems:
            raise SubjectFailed("; ".join(problems))

    def _hold(self, path: Path) -> None:
        if not any(path in group.saved for group in self._coupled):
            files = coupled(path)
            for each in files:
                self._locks.append(hold(each))
            self._coupled.append(_Coupled({each: Saved(value_of(each)) for each in files}))

    def _give(self, group: _Coupled, given: dict[Path, str]) -> dict[Path, str]:
        """Restores the old values, then writes those of an option. The problem by file."""
        found = values_of(group.saved)
        if given == group.given and found == found | given:
            return {}
        if problems := put_back(group.saved):
            raise SubjectFailed("; ".join(problems))
        if found != found | (group.given or {}):
            raise SubjectFailed(f"another program set {', '.join(map(str, found))} back during a run")
        group.given = given
        if not given:
            return {}
        self._expect(group, given)
        refused = settle(given)
        self._expect(group, values_of(group.saved))
        return refused

    def _expect(self, group: _Coupled, values: Mapping[Path, str]) -> None:
        """Promises to undo these values before the files have them, and any value of the other files."""
        saved = {
            path: Saved(its.old, sorted({its.old, *its.ours, values[path]}) if path in values else ())
            for path, its in group.saved.items()
        }
        if saved != group.saved:
            promise, group.saved = self._guard.write_back(saved), saved
            self._guard.forget(group.promise)
            group.promise = promise
