"""Host settings: applied before clients connect, read back, undone after a run or a block in turns.

Settings of processes end with the processes. Settings of the machine are registered with the guard
before they change, so that they are undone even when the lab is killed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from steelyard.host.cpus.control_group import ControlGroup, dissolve
from steelyard.host.cpus.placement import Placement
from steelyard.host.cpus.scheduling import NotTaken, impose
from steelyard.host.kernel.setting import hold, value_of, write
from steelyard.host.kernel.uprobes import new_group, take_away
from steelyard.host.processes.cpu_hogs import Hogs
from steelyard.host.processes.guard import Guard
from steelyard.lab.machine.boots import Boot
from steelyard.study.host_settings import SESSIONS, HostSettings, Schedule, Share, host_settings
from steelyard.study.plan import Option
from steelyard.subjects import SubjectFailed


@dataclass(frozen=True)
class _Change:
    """A value of the machine that options change. held: the descriptor that locks its file.

    values: those that the file may have by now; new: the last one written.
    """

    name: str
    path: Path
    old: str
    new: str
    values: frozenset[str]
    held: int
    promise: int


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
        self._changes: dict[Path, _Change] = {}
        self._hogs: Hogs | None = None
        self._groups: dict[Path, int] = {}
        self._settled: set[tuple[str, int]] = set()
        self._probes: dict[str, int] = {}

    def change(self, option: Option) -> None:
        """Applies the option's machine settings, and undoes others of an option before it.

        Raises SubjectFailed for a refused one, BootNeeded.
        """
        if self._boot is not None:
            self._boot.check(option)
        files = {path: (name, " ".join(value.split())) for name, path, value in _settings(option).files}
        own = {path: (change.name, change.old) for path, change in self._changes.items()}
        for path, (name, value) in (own | files).items():
            try:
                self._write(name, path, value)
            except BlockingIOError:
                raise SubjectFailed(f"{name}: another study on this machine is changing it") from None
            except OSError as error:
                raise SubjectFailed(f"option {option.label}: {name} = {value}: {error.strerror}") from None

    def settle(self, option: Option, pids: Mapping[str, int]) -> dict[str, int]:
        """Applies the option's scheduling to the running processes, and starts its CPU hogs.

        pids: root process by role; returned with that of the hogs. Call it before clients connect:
        processes started later inherit the settings. Raises SubjectFailed for a refused setting.
        """
        settings = _settings(option)
        role = "hogs"
        try:
            if settings.hogs and self._hogs is None:
                schedule = settings.schedules.get("hogs", Schedule())
                self._hogs = Hogs(settings.hogs, self._placement.server, schedule, self._guard)
            if self._hogs is not None:
                pids = {**pids, "hogs": self._hogs.pid}
            # groups come first: entering a group resets the affinity
            for role, share in settings.shares.items():
                if (role, pids[role]) not in self._settled:
                    self._confine(share, role, pids[role])
            for role, schedule in settings.schedules.items():
                # sessions come with the load
                if role != SESSIONS and (role != "hogs" or role in settings.shares):
                    impose(pids[role], schedule)
            # a server or hogs that options share are in their group already
            self._settled |= set(pids.items())
        except NotTaken as misfit:
            raise SubjectFailed(f"option {option.label}: the host did not take {role}.{misfit}") from None
        except KeyError:
            text = f"no process of the role {role} was started here, so its scheduling cannot be set"
            raise SubjectFailed(f"option {option.label}: {text}") from None
        return dict(pids)

    def name_for_probes(self) -> str:
        """A new group for kernel probes: restore() removes its probes, or the guard if the lab is killed."""
        group = new_group()
        self._probes[group] = self._guard.take_away(group)
        return group

    def restore(self) -> None:
        """Ends hogs, undoes groups, probes, changes. Raises SubjectFailed for settings changed by others."""
        if self._hogs is not None:
            self._hogs.stop()
            self._hogs = None
        for folder, promise in self._groups.items():
            dissolve(folder)
            self._guard.forget(promise)
        self._groups.clear()
        self._settled.clear()
        for group, promise in self._probes.items():
            take_away(group)
            self._guard.forget(promise)
        self._probes.clear()
        undone = reversed(self._changes.values())
        problems = [text for change in undone if (text := self._undo(change))]
        self._changes.clear()
        if problems:
            raise SubjectFailed("; ".join(problems))

    def _confine(self, share: Share, role: str, pid: int) -> None:
        group = ControlGroup(share, f"steelyard-{uuid4().hex}-{role}")
        for folder in group.folders:
            self._groups[folder] = self._guard.dissolve(folder)
        group.make()
        group.join(pid)

    def _write(self, name: str, path: Path, new: str) -> None:
        change = self._changes.get(path) or self._begun(name, path, new)
        if (found := value_of(path)) not in (change.old, *change.values):
            raise SubjectFailed(f"another program changed {name} to {found} during the study")
        if new not in change.values:
            change = self._promised(change, new)
        self._changes[path] = replace(change, new=new)
        if found == new:
            return
        write(path, new)
        if (found := value_of(path)) != new:
            write(path, change.old)
            raise SubjectFailed(f"the machine did not take {name} = {new}: it has {found}")

    def _begun(self, name: str, path: Path, new: str) -> _Change:
        held = hold(path)
        old, values = value_of(path), frozenset((new,))
        change = _Change(name, path, old, old, values, held, self._guard.write_back(path, old, values))
        self._changes[path] = change
        return change

    def _promised(self, change: _Change, new: str) -> _Change:
        """With a further value, which the guard knows before it forgets the earlier promise."""
        values = change.values | {new}
        promise = self._guard.write_back(change.path, change.old, values)
        self._guard.forget(change.promise)
        return replace(change, values=values, promise=promise)

    def _undo(self, change: _Change) -> str:
        """Restores the old value. The problem as a sentence; '' when the value was still the run's."""
        try:
            found = value_of(change.path)
            if found in change.values:
                write(change.path, change.old)
            elif found != change.old:
                return (
                    f"{change.name} was set to {change.new} for the run, but another program changed it to"
                    f" {found}: left unchanged; before the run it was {change.old}"
                )
        except OSError as error:
            return f"{change.name} could not be set back to {change.old}: {error.strerror}"
        finally:
            os.close(change.held)
            self._guard.forget(change.promise)
        return ""


def _settings(option: Option) -> HostSettings:
    return host_settings(option.host)
