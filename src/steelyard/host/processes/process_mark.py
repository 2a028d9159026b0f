"""Finds and ends all processes of a program that the lab started.

A process has a mark from its start, in two places. One is its environment, which `env -i` clears, and which
PostgreSQL's children overwrite with their titles. The other is a resource limit without effect, which PAM
resets (`su`, `sudo`). Descendants inherit both. Three more criteria count: a program of the server's
installation whose working folder is the server's data folder, the process that the lab started, and
descendants of all these.
"""

import ctypes
import os
import re
import resource
import signal
import struct
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, Self
from uuid import uuid4

_Pids = list[int]
VARIABLE = "STEELYARD_MARK"
# PostgreSQL ends within a fraction of this; end_marked removes the rest
_GRACE_S = 3.0
_KILL_S = 5.0
_LOOKS_MAX = 10
# without effect since Linux 2.4.25 (getrlimit(2)); kept by exec, setsid and setuid
_RLIMIT_LOCKS = 10
# proc_pid_stat(5), fields from the third on: start time in ticks since boot
_BORN = 19

_IPC_RMID = 0
_SEGMENTS = Path("/proc/sysvipc/shm")
_FILES = Path("/dev/shm")
_SHM_RDONLY = 0o10000
_FAILED = ctypes.c_void_p(-1).value
# PGShmemHeader of PostgreSQL 13 to 18: magic, ..., dsm_control (src/include/storage/pg_shmem.h)
_HEADER = struct.Struct("=I20xI")
_MAGIC = 679834894
# PostgreSQL's names (src/backend/storage/ipc/dsm_impl.c)
_MAPPED = re.compile(r"\s(/dev/shm/PostgreSQL\.\d+)$", re.MULTILINE)
_LIBC = ctypes.CDLL(None)
_LIBC.shmat.restype = ctypes.c_void_p
_LIBC.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_LIBC.shmdt.argtypes = (ctypes.c_void_p,)

# number of a System V segment, or path of a file
Memory = frozenset[int | str]


@dataclass(frozen=True)
class Mark:
    """Criteria that find processes.

    value: of the variable in their environment. home: their working folder, with programs: the folder of
    their executables. pid: the started process, once known, with born: its start time in ticks.
    """

    value: str = field(default_factory=lambda: uuid4().hex)
    home: str = ""
    programs: str = ""
    pid: int = 0
    born: int = 0

    @classmethod
    def of_server(cls, home: Path, program: Path) -> Self:
        """For a server whose processes work in home."""
        return cls(home=str(home.resolve()), programs=str(program.resolve().parent))

    def started(self, pid: int) -> Self:
        """The mark, now that the process is known."""
        return replace(self, pid=pid, born=_field(pid, _BORN))


def with_mark(value: str, without: Callable[[str], bool] = lambda _: False) -> Mapping[str, str]:
    """The lab's environment with the mark, to find a process again. without: true for names to leave out."""
    return {name: text for name, text in os.environ.items() if not without(name)} | {VARIABLE: value}


def imprint(mark: str) -> None:
    """Gives this process, and thus its descendants, the mark as a resource limit: between fork and exec."""
    # a hard limit may forbid it: then the other criteria count
    with suppress(ValueError):
        resource.setrlimit(_RLIMIT_LOCKS, (_limit(mark), resource.getrlimit(_RLIMIT_LOCKS)[1]))


def _limit(mark: str) -> int:
    return int(mark[:15], 16)


def marked(mark: Mark, halt: bool = False) -> _Pids:
    """Running processes with the mark, and their descendants. halt: stops each; it starts no others."""
    found: _Pids = []
    for _ in range(_LOOKS_MAX):
        pids = _running()
        # a process that ended while this looked may have left a child that began meanwhile
        if (found := _marked_of(pids, mark, halt)) or pids == _running():
            break
    return found


def _running(proc: Path = Path("/proc")) -> _Pids:
    # the newest first: one that starts another and ends at once is still there when it is looked at
    return sorted(map(int, filter(str.isdigit, os.listdir(proc))), reverse=True)  # noqa: PTH208  glob is slower


def _marked_of(pids: Iterable[int], mark: Mark, halt: bool) -> _Pids:
    parents: dict[int, int] = {}
    found = set[int]()
    for pid in pids:
        with suppress(OSError, IndexError):
            state, parent = _stat(pid)[:2]
            if state in b"ZX":
                continue
            parents[pid] = int(parent)
        if _carries(pid, mark) or (mark.pid == pid and mark.born == _field(pid, _BORN)):
            found.add(pid)
            _send({pid} - {os.getpid()} if halt else (), signal.SIGSTOP)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted((found & parents.keys()) - {os.getpid()})


def end_marked(mark: Mark, how: signal.Signals = signal.SIGKILL) -> None:
    """Ends all marked processes and removes their shared memory; never raises.

    how: signal sent first, to the topmost processes, with three seconds to end; stopped ones are continued.
    """
    memory = shared_memory({mark.pid} if mark.pid else ())
    if how != signal.SIGKILL and (pids := marked(mark)):
        memory |= shared_memory(pids)
        tops = [pid for pid in pids if _field(pid, 1) not in pids]
        _send(tops, how)
        _send(pids, signal.SIGCONT)
        deadline = time.monotonic() + _GRACE_S
        while marked(mark) and time.monotonic() < deadline:
            time.sleep(0.02)
    deadline = time.monotonic() + _KILL_S
    while (pids := marked(mark, halt=True)) and time.monotonic() < deadline:
        memory |= shared_memory(pids)
        _send(pids, signal.SIGKILL)
        time.sleep(0.005)
    free(memory)


def _send(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        # under an idle policy or a nice value of the study it would not end on a busy machine
        with suppress(OSError):
            os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
            os.setpriority(os.PRIO_PROCESS, pid, 0)
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _carries(pid: int, mark: Mark) -> bool:
    with suppress(OSError):
        if f"{VARIABLE}={mark.value}".encode() in _read(f"/proc/{pid}/environ").split(b"\0"):
            return True
    with suppress(OSError):
        if b" %d " % _limit(mark.value) in _read(f"/proc/{pid}/limits"):
            return True
    if not mark.home:
        return False
    # a user's shell in this folder is not a program of the server
    with suppress(OSError):
        works_in, program = (Path(f"/proc/{pid}/{name}").readlink() for name in ("cwd", "exe"))
        return works_in.is_relative_to(mark.home) and str(program.parent) == mark.programs
    return False


def _field(pid: int, index: int) -> int:
    with suppress(OSError, IndexError):
        return int(_stat(pid)[index])
    return 0  # it has gone


def _stat(pid: int, proc: Path = Path("/proc")) -> list[bytes]:
    """Fields from the third on: state, parent, ..."""
    return _read(f"{proc}/{pid}/stat").rpartition(b")")[2].split()


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123  Path takes twice as long
        return file.read()


def shared_memory(pids: Iterable[int]) -> Memory:
    """Segments that these processes created, and PostgreSQL's files that they, or those segments, refer to.

    A segment of a killed process still refers to the files of its server.
    """
    makers = set(pids)
    found = set[int | str]()
    for row in _segments():
        if row.maker in makers:
            found |= {row.segment, *_dynamic(row.segment)}
    for pid in makers:
        with suppress(OSError):
            found |= set(_MAPPED.findall(Path(f"/proc/{pid}/maps").read_text()))
    return frozenset(found)


def _dynamic(segment: int) -> set[str]:
    """Files that the control file of the server with this main segment lists, and the control file."""
    address = _LIBC.shmat(segment, None, _SHM_RDONLY)
    if address == _FAILED:
        return set()
    magic, control = _HEADER.unpack(ctypes.string_at(address, _HEADER.size))
    _LIBC.shmdt(address)
    if magic != _MAGIC:
        return set()
    numbers = array("I", [control])
    # its other words are counts, much smaller than the random numbers of files
    with suppress(OSError, ValueError):
        numbers.frombytes((_FILES / f"PostgreSQL.{control}").read_bytes())
    return {f"{_FILES}/PostgreSQL.{n}" for n in numbers} & {str(file) for file in _FILES.glob("PostgreSQL.*")}


def free(memory: Memory) -> None:
    """Removes memory without attached processes; never raises. Call it after the processes have ended."""
    attached = {row.segment: row.attached for row in _segments()}
    for part in memory:
        if isinstance(part, str):
            with suppress(OSError):
                Path(part).unlink()
        elif attached.get(part) == 0:
            _LIBC.shmctl(part, _IPC_RMID, None)


class _Segment(NamedTuple):
    """A row of proc_sysvipc_shm(5). maker: creating process; attached: number of processes."""

    segment: int
    maker: int
    attached: int


def _segments() -> Iterator[_Segment]:
    with suppress(OSError):
        for line in _SEGMENTS.read_text().splitlines()[1:]:
            columns = line.split()
            yield _Segment(int(columns[1]), int(columns[4]), int(columns[6]))


_GUARD = b"steelyard.host.processes.guard"


def other_studies(proc: Path = Path("/proc")) -> _Pids:
    """Pids of the labs of other studies, of every user; a study in another PID namespace is not seen."""
    return sorted({*labs_of(_running(proc), proc)} - {os.getpid()})


def labs_of(pids: Iterable[int], proc: Path) -> _Pids:
    """Of these processes the guards; of each the pid of its lab, which started it."""
    found: _Pids = []
    for pid in pids:
        with suppress(OSError, IndexError, ValueError):
            words = _read(f"{proc}/{pid}/cmdline").split(b"\0")
            # with or without -P
            if [b"-m", _GUARD] in (words[1:3], words[2:4]):
                found.append(int(_stat(pid, proc)[1]))
    return found
