"""Processes and threads by role: CPU, switches, run-queue wait, memory, I/O of whole trees."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from steelyard.declared_metrics import SERVER_CPU_COST, Cost, Declaration, DeclaredMetric
from steelyard.monitors import Sample, Target, Unavailable, described
from steelyard.monitors.system.procfs import Budget, parents_in, reason, shared_budget, tasks_of
from steelyard.monitors.system.task import USAGE, Process, Role, added

OWN_ROLE = "monitors"  # whose connections Target.own_backends serve


_server = partial(Cost, entity=SERVER_CPU_COST.entity, also=SERVER_CPU_COST.also)
_METRICS = (
    DeclaredMetric(
        "cpu_ns_total",
        "*",
        "CPU time, exact, from schedstat",
        (
            SERVER_CPU_COST,
            Cost("engine_cpu_us_per_txn", "load engine CPU", "CPU", "engine", better="neither"),
            # an option without pooler costs nothing
            Cost(
                "pooler_cpu_us_per_txn",
                "pooler's part of the server CPU",
                "CPU",
                "pooler",
                zero_if_absent=True,
            ),
        ),
    ),
    *described(
        """
user = * user_cpu_ns_total | CPU time in user mode; ticks, scaled so that both modes add up to the exact sum
system = * system_cpu_ns_total | CPU time in system mode, scaled as well
wait = * runqueue_wait_ns_total | Time ready to run without a CPU
* slices_total | Time slices on a CPU
voluntary = * voluntary_switches_total | Switches away from threads that had to wait
involuntary = * involuntary_switches_total | Switches away from threads that could have continued
read = * read_bytes_total | Bytes that storage read for the processes
written = * written_bytes_total | \
Bytes written directly, and of pages made dirty, which may never reach storage
""",
        user=_server("server_user_us_per_txn", "server CPU in user mode", "mode of server CPU"),
        system=_server("server_system_us_per_txn", "server CPU in system mode", "mode of server CPU"),
        wait=_server("server_runqueue_wait_us_per_txn", "run-queue wait of the server", "run-queue wait"),
        voluntary=_server(
            "server_switches_voluntary_per_txn", "voluntary switches of the server", "switches"
        ),
        involuntary=_server(
            "server_switches_involuntary_per_txn", "involuntary switches of the server", "switches"
        ),
        read=_server("read_bytes_per_txn", "bytes read from storage", "storage"),
        written=_server("written_bytes_per_txn", "bytes written to storage", "storage"),
    ).values(),
    DeclaredMetric("memory_private_bytes", "*", "Anonymous memory", (), "server", "memory", fills=True),
    DeclaredMetric("memory_shared_bytes", "*", "Shared memory: the largest amount that one process touched"),
    DeclaredMetric(
        "memory_bytes", "*", "Private and shared memory", chart="server", group="memory", fills=True
    ),
    DeclaredMetric("threads", "*", "Living threads", fills=True),
    DeclaredMetric("processes", "*", "Living processes", fills=True),
)


class ProcessMonitor:
    """Sums by role over the whole tree below each pid of the target; entity is the role.

    A tree ends where another role's begins. Backends in Target.own_backends count as "monitors".
    A process counts from its birth; a process whose parent died stays in its role.
    files_max: number of files kept open between readings; default: from the limit of the process.
    missing: unreadable sources, each with its reason.
    """

    declares = Declaration(
        _METRICS,
        text="The entity is the role: `server`, `engine`, `pooler`, `hogs` (CPU hogs), `monitors`"
        " (the lab itself, and server processes that serve it).",
    )

    def __init__(self, proc: Path = Path("/proc"), files_max: int | None = None) -> None:
        self._proc = proc
        self._target = Target()
        self._processes: dict[int, Process] = {}
        self._roles: dict[str, Role] = {}
        self._missing: dict[str, str] = {}
        self._budget = shared_budget() if files_max is None else Budget(files_max)
        self._tasks = b""

    @property
    def missing(self) -> tuple[str, ...]:
        """Unreadable sources, each with its reason."""
        return tuple(self._missing.values())

    def open(self, target: Target) -> None:
        """Finds the trees; raises Unavailable when no process of the target can be read."""
        self._target = target
        self._roles = {role: Role() for role in target.pids}
        if not tasks_of(self._proc):
            self._missing["loadavg"] = (
                f"{self._proc}/loadavg cannot be read (every reading searches for new processes)"
            )
        self._adopt_roots()
        if not self._processes:
            raise Unavailable(
                "; ".join(self._missing.values())
                or "the target has no process: the processes of a server at an address are not visible; "
                "run steelyard on its machine to monitor them"
            )
        self._update()

    def read(self) -> Iterable[Sample]:
        """All metrics now; a role without a living process is left out."""
        self._update()
        by_role: dict[str, list[Process]] = {}
        for process in self._processes.values():
            by_role.setdefault(process.role, []).append(process)
        samples = [sample for role, own in by_role.items() for sample in self._samples(role, own)]
        if not samples:
            raise Unavailable("all monitored processes have ended")
        return samples

    def close(self) -> None:
        """Closes the files."""
        for process in self._processes.values():
            process.close()
        self._processes.clear()
        self._tasks = b""

    def _samples(self, role: str, processes: list[Process]) -> Iterable[Sample]:
        alive = [process for process in processes if not process.stat.zombie]
        if not alive:
            return
        sums = self._roles[role]
        timed = all(process.timed for process in processes)
        for metric, value in zip(USAGE, sums.totals(processes), strict=True):
            if timed or metric not in ("runqueue_wait_ns", "slices"):
                yield Sample(role, f"{metric}_total", value)
        if (io := sums.io(processes)) is not None:
            yield Sample(role, "read_bytes_total", io[0])
            yield Sample(role, "written_bytes_total", io[1])
        private = sum(process.private_bytes for process in alive)
        # One segment mapped by every process: the largest part that a process has touched is a lower
        # bound. The sum would count shared_buffers once per backend.
        shared = max(process.shared_bytes for process in alive)
        gauges = {
            "memory_private_bytes": private,
            "memory_shared_bytes": shared,
            "memory_bytes": private + shared,
            "threads": sum(process.stat.threads for process in alive),
            "processes": len(alive),
        }
        yield from (Sample(role, metric, value) for metric, value in gauges.items())

    def _update(self) -> None:
        """Reads every process, parents before children: a child that dies between is then
        missing from its parent's sum until the next reading, and never counted twice."""
        self._adopt_roots()
        tasks = tasks_of(self._proc)
        discover = not tasks or tasks != self._tasks
        self._tasks = tasks
        roots = set(self._target.pids.values())
        queue = list(self._processes.values())
        parents: dict[int, int] = {}
        for process in queue:  # grows while it is walked
            try:
                if not process.read(discover):
                    continue
                children = process.children()
            except (OSError, ValueError) as error:  # an incomplete file: the process is ending
                self._bury(process, error)
                continue
            if children is None:
                # a kernel without task/TID/children
                parents = parents or parents_in(self._proc, {})
                children = [pid for pid, parent in parents.items() if parent == process.pid]
            for pid in children:
                if pid not in self._processes and pid not in roots:
                    queue.extend(self._adopt(pid, process.role))
        # Only now: a child of another role may have been dead when its parent was read.
        for process in self._processes.values():
            process.reaped.update(process.stat)
        for pid in self._target.own_backends:
            own = self._processes.get(pid)
            if own is not None and own.role == "server":
                self._move(own, OWN_ROLE)

    def _adopt_roots(self) -> None:
        for role, pid in self._target.pids.items():
            known = self._processes.get(pid)
            if known is None:
                self._adopt(pid, role)
            elif known.role != role and pid not in self._target.own_backends:
                self._move(known, role)

    def _adopt(self, pid: int, role: str) -> list[Process]:
        try:
            process = Process(self._proc, pid, role, self._budget)
        except OSError as error:
            if pid in self._target.pids.values():
                self._missing[role] = f"{role}: process {pid}: {reason(error)}"
            return []
        self._missing.pop(role, None)
        self._processes[pid] = process
        self._roles.setdefault(role, Role())
        if not process.timed:
            self._missing["schedstat"] = (
                "schedstat: CPU time in ticks of 10 ms, no run-queue wait "
                "(needs a kernel with CONFIG_SCHED_INFO)"
            )
        if not process.sees_io:
            self._missing[f"{role}/io"] = (
                f"{role}: /proc/{pid}/io cannot be read (run as that user, or with CAP_SYS_PTRACE)"
            )
        return [process]

    def _bury(self, process: Process, error: Exception) -> None:
        """Adds the usage of an ended process to its parent, as the kernel does, or to its role."""
        del self._processes[process.pid]
        process.close()
        self._tasks = b""  # its pid may have been reused: search at the next reading
        for orphan in self._processes.values():
            orphan.stale |= orphan.stat.ppid == process.pid
        if isinstance(error, PermissionError):
            self._missing[process.role] = f"{process.role}: process {process.pid}: {reason(error)}"
        process.reaped.update(process.stat)
        used, io = process.used(), process.io or (0, 0)
        parent = self._processes.get(process.stat.ppid)
        role = self._roles[process.role]
        if parent is not None and parent.role == process.role:
            parent.reaped.add(used)
            if parent.reaps:
                return
        else:
            role.retained = added(role.retained, used)
            if parent is not None:
                parent.reaped.foreign = added(parent.reaped.foreign, used)
                if parent.reaps:
                    other = self._roles[parent.role]
                    other.retained_io = added(other.retained_io, [-value for value in io])
        role.retained_io = added(role.retained_io, io)

    def _move(self, process: Process, role: str) -> None:
        """Moves a process to a role; its usage so far stays with the old role."""
        old, new = self._roles[process.role], self._roles.setdefault(role, Role())
        used, io = process.used(), process.io or (0, 0)
        old.retained = added(old.retained, used)
        new.retained = added(new.retained, [-value for value in used])
        old.retained_io = added(old.retained_io, io)
        new.retained_io = added(new.retained_io, [-value for value in io])
        process.role = role
