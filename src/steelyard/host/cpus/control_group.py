"""Control groups of the lab: limit the CPUs, and the share of CPU time, of all processes of a role.

Unlike an affinity, a group limits all its processes together, and no process can leave it. The
kernel's interface has two versions. Both may be mounted, each with its own controllers.
Sources: Linux, Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/cpusets.rst, scheduler/sched-bwc.rst.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from steelyard.host.cpus.scheduling import PASSES, NotTaken, processes, shown
from steelyard.host.kernel import value_of, write
from steelyard.study.host_settings import Share

_PERIOD_US = 100_000
# a process that is ending holds its group for a moment
_EMPTY_S = 2.0


@dataclass(frozen=True)
class _Place:
    folder: Path
    version: int


class ControlGroup:
    """The processes of one role, from make() until dissolve() of its folders."""

    def __init__(self, share: Share, name: str) -> None:
        """Finds the parent folders. Raises NotTaken where a controller is not available."""
        self._share = share
        try:
            self._places = {
                attribute: _place("cpuset" if attribute == "cpuset" else "cpu")
                for attribute, _ in share.given()
            }
        except OSError as error:
            raise NotTaken(f"{_requested(share)}: {error}") from None
        self._name = name
        self.folders = list(dict.fromkeys(place.folder / name for place in self._places.values()))

    def make(self) -> None:
        """Creates the group. Raises NotTaken; folders created before the failure remain."""
        try:
            for folder in self.folders:
                folder.mkdir()
            for attribute, value in self._share.given():
                place = self._places[attribute]
                for file, text in _files(attribute, getattr(self._share, attribute), place):
                    path = place.folder / self._name / file
                    write(path, text)
                    if (found := value_of(path)) != text:
                        raise NotTaken(f"{attribute} = {shown(value)}: it has {found}")
        except OSError as error:
            raise NotTaken(f"{_requested(self._share)}: {error.strerror}") from error

    def join(self, pid: int) -> None:
        """Moves a process and its descendants in; later children inherit the group. Raises NotTaken."""
        for folder in self.folders:
            for _ in range(PASSES):
                inside = _numbers(folder)
                if not (outside := [process for process in processes(pid) if process not in inside]):
                    break
                for process in outside:
                    try:
                        with suppress(ProcessLookupError):
                            write(folder / "cgroup.procs", str(process))
                    except OSError as error:
                        raise NotTaken(f"{_requested(self._share)}: {folder}: {error.strerror}") from error
            else:
                raise NotTaken(f"{_requested(self._share)}: processes start faster than they can be moved")

    def holds(self, pid: int) -> bool:
        """Whether a process that joined is still in it, or has ended."""
        with suppress(OSError):
            return Path(f"/proc/{pid}/cgroup").read_text().count(self._name) == len(self.folders)
        return True


def around(controller: str, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> Iterator[Path]:
    """Folders of the groups of this process that may have a controller, each before those around it."""
    top = sys / "fs/cgroup"
    with suppress(OSError):
        for line in (proc / "self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            # none in version 2
            if not controllers or controller in controllers.split(","):
                names = (controllers or "unified", controller if controllers else "")
                mount = next(filter(Path.is_dir, map(top.joinpath, names)), top)
                # a container sees a path outside of its own tree
                own = PurePosixPath(*(part for part in path.split("/") if part != ".."))
                yield from map(mount.joinpath, (own, *own.parents))


def dissolve(folder: Path) -> None:
    """Removes a group after moving its remaining processes to the parent group. Never raises."""
    deadline = time.monotonic() + _EMPTY_S
    while folder.exists():
        for pid in _numbers(folder):
            with suppress(OSError):
                write(folder.parent / "cgroup.procs", str(pid))
        with suppress(OSError):
            folder.rmdir()
            return
        if time.monotonic() > deadline:
            return
        time.sleep(0.01)


def _files(attribute: str, value: frozenset[int] | float, place: _Place) -> Iterator[tuple[str, str]]:
    if isinstance(value, frozenset):
        if place.version == 1:
            # without memory nodes a version 1 group takes no process
            yield "cpuset.mems", value_of(place.folder / "cpuset.mems")
        yield "cpuset.cpus", _ranges(value)
    elif attribute == "cpu_weight":
        # 100 and 1024 are a new group's defaults
        yield (
            ("cpu.weight", str(value))
            if place.version == 2
            else ("cpu.shares", str(int(value) * 1024 // 100))
        )
    else:
        quota_us = round(value * _PERIOD_US)
        if place.version == 2:
            yield "cpu.max", f"{quota_us} {_PERIOD_US}"
        else:
            yield "cpu.cfs_period_us", str(_PERIOD_US)
            yield "cpu.cfs_quota_us", str(quota_us)


def _place(controller: str) -> _Place:
    """Raises OSError where the controller is in no visible hierarchy."""
    own = dict[str, str]()
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(","), path)
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        around, _, source = line.partition(" - ")
        kind, _, options = source.split()
        mount = Path(around.split()[4])
        if kind == "cgroup" and controller in options.split(","):
            group = mount / own.get(controller, "/").lstrip("/")
            return _Place(group if group.is_dir() else mount, 1)
        if kind == "cgroup2":
            group = mount / own.get("", "/").lstrip("/")
            for folder in (group, *group.parents):
                # a group that has processes itself cannot have controlled groups below it
                with suppress(OSError):
                    if controller in (folder / "cgroup.subtree_control").read_text().split():
                        return _Place(folder, 2)
    raise OSError(f"no control group here has the controller {controller}")


def _ranges(cpus: frozenset[int]) -> str:
    """As the kernel prints them: 0-2,5."""
    spans: list[list[int]] = []
    for cpu in sorted(cpus):
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def _numbers(folder: Path) -> set[int]:
    with suppress(OSError):
        return set(map(int, (folder / "cgroup.procs").read_text().split()))
    return set()


def _requested(share: Share) -> str:
    return ", ".join(f"{name} = {shown(value)}" for name, value in share.given())
