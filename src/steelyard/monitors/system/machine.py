"""The whole machine: CPU by core and mode, memory, disks, network, pressure stalls."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from steelyard.declared_metrics import Declaration, DeclaredMetric
from steelyard.monitors import Sample, Target, Unavailable
from steelyard.monitors.system.procfs import NS_PER_TICK, ProcFile, reason, shared_budget

_SECTOR_BYTES = 512  # in diskstats, whatever the disk's own sector
_NS_PER_MS = 1_000_000
_NS_PER_US = 1_000

# The order of the columns of /proc/stat; user includes guest, nice includes guest_nice.
_MODES = {
    "user": "CPU time in user mode, guests included",
    "nice": "CPU time in user mode at low priority, guests included",
    "system": "CPU time in system mode",
    "idle": "Time without work",
    "iowait": "Time without work while I/O was under way",
    "irq": "CPU time in interrupt handlers",
    "softirq": "CPU time in soft interrupt handlers",
    "steal": "Time that the hypervisor gave to other guests",
    "guest": "CPU time of virtual machines",
    "guest_nice": "CPU time of virtual machines at low priority",
}
_MODE_METRICS = tuple(f"{mode}_ns_total" for mode in _MODES)

_STAT_METRICS = {
    b"ctxt": "context_switches_total",
    b"intr": "interrupts_total",
    b"processes": "forks_total",
    b"procs_running": "runqueue_tasks",
    b"procs_blocked": "blocked_tasks",
}
_MEMORY_METRICS = {
    b"MemAvailable": "memory_available_bytes",
    b"Dirty": "memory_dirty_bytes",
    b"Cached": "memory_cached_bytes",
}
_METRICS = (
    *(DeclaredMetric(f"{mode}_ns_total", "cpu*", meaning) for mode, meaning in _MODES.items()),
    DeclaredMetric("context_switches_total", "host", "Context switches of all CPUs"),
    DeclaredMetric("interrupts_total", "host", "Interrupts"),
    DeclaredMetric("forks_total", "host", "Processes and threads started"),
    DeclaredMetric("runqueue_tasks", "host", "Threads that run or wait for a CPU", chart="host", group="cpu"),
    DeclaredMetric("blocked_tasks", "host", "Threads that wait for I/O"),
    DeclaredMetric("memory_available_bytes", "host", "Memory that programs can use without swapping"),
    DeclaredMetric("memory_dirty_bytes", "host", "File pages that wait to be written"),
    DeclaredMetric("memory_cached_bytes", "host", "Page cache"),
    DeclaredMetric("swap_used_bytes", "host", "Swap space in use", limit=True),
    DeclaredMetric("page_faults_major_total", "host", "Page faults that read from storage"),
    DeclaredMetric("reads_total", "disk:*", "Reads completed"),
    DeclaredMetric("read_bytes_total", "disk:*", "Bytes read"),
    DeclaredMetric("writes_total", "disk:*", "Writes completed"),
    DeclaredMetric("written_bytes_total", "disk:*", "Bytes written"),
    DeclaredMetric("busy_ns_total", "disk:*", "Time with at least one request under way"),
    DeclaredMetric("received_bytes_total", "net:*", "Bytes received"),
    DeclaredMetric("received_packets_total", "net:*", "Packets received"),
    DeclaredMetric("sent_bytes_total", "net:*", "Bytes sent"),
    DeclaredMetric("sent_packets_total", "net:*", "Packets sent"),
    DeclaredMetric("some_ns_total", "psi:*", "Pressure: time in which at least one task was stalled"),
    DeclaredMetric(
        "full_ns_total", "psi:*", "Pressure: time in which all tasks were stalled; not of the CPU"
    ),
)
_DISK_COLUMNS = (
    ("reads_total", 3, 1),
    ("read_bytes_total", 5, _SECTOR_BYTES),
    ("writes_total", 7, 1),
    ("written_bytes_total", 9, _SECTOR_BYTES),
    ("busy_ns_total", 12, _NS_PER_MS),
)
_NET_COLUMNS = {
    "received_bytes_total": 0,
    "received_packets_total": 1,
    "sent_bytes_total": 8,
    "sent_packets_total": 9,
}
_STALLS = (b"some", b"full")
_NO_DISKS = ("loop", "ram", "zram", "fd", "sr")

_HINTS = {
    **dict.fromkeys(
        ("pressure/cpu", "pressure/io", "pressure/memory"), "boot with psi=1 on a kernel with CONFIG_PSI"
    ),
    "diskstats": "needs /proc/diskstats and /sys/block",
}


class HostMonitor:
    """Reads /proc/stat, meminfo, vmstat, diskstats, net/dev and pressure.

    missing: unreadable sources, each with its reason; the others are still read.
    """

    declares = Declaration(_METRICS)

    def __init__(self, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> None:
        self._proc = proc
        self._sys = sys
        self._files: dict[str, ProcFile] = {}
        self._disks: frozenset[bytes] = frozenset()
        self._missing: dict[str, str] = {}
        self._highest: dict[tuple[str, str], int] = {}
        self._parsers: dict[str, Callable[[bytes], Iterator[Sample]]] = {
            "stat": self._stat,
            "meminfo": _meminfo,
            "vmstat": _vmstat,
            "diskstats": self._diskstats,
            "net/dev": _net,
            # `full` is undefined for the CPU of a whole machine, and reported as 0
            "pressure/cpu": partial(_psi, "psi:cpu", (b"some",)),
            "pressure/io": partial(_psi, "psi:io", _STALLS),
            "pressure/memory": partial(_psi, "psi:memory", _STALLS),
        }

    @property
    def missing(self) -> tuple[str, ...]:
        """`/proc/pressure/cpu: Operation not supported (boot with psi=1 ...)`, one text per source."""
        return tuple(self._missing.values())

    def open(self, target: Target) -> None:
        """Opens every source; raises Unavailable when none can be read."""
        self._missing.clear()
        self._find_disks()
        for name in self._parsers:
            try:
                file = ProcFile(self._proc / name, shared_budget())
                file.read()  # some files can be opened but not read: PSI when it is switched off
            except OSError as error:
                self._note(name, reason(error))
            else:
                self._files[name] = file
        if not self._files:
            raise Unavailable(f"nothing can be read below {self._proc}: mount -t proc proc {self._proc}")

    def read(self) -> Iterable[Sample]:
        """All metrics now; raises Unavailable when no source is left."""
        samples: list[Sample] = []
        for name, file in list(self._files.items()):
            try:
                samples.extend(self._parsers[name](file.read()))
            except (OSError, ValueError, IndexError) as error:
                why = reason(error) if isinstance(error, OSError) else "unknown format"
                self._note(name, why)
                self._files.pop(name).close()
        if not self._files:
            raise Unavailable(f"nothing can be read below {self._proc} any longer")
        return samples

    def close(self) -> None:
        """Closes the files."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _note(self, name: str, why: str) -> None:
        hint = _HINTS.get(name)
        self._missing[name] = f"{self._proc / name}: {why}" + (f" ({hint})" if hint else "")

    def _find_disks(self) -> None:
        """Whole disks only: their counters include those of their partitions."""
        block = self._sys / "block"
        try:
            names = [path.name for path in block.iterdir()]
        except OSError as error:
            names = []
            self._missing["block"] = f"{block}: {reason(error)} (disks are not read)"
        self._disks = frozenset(n.encode() for n in names if not n.startswith(_NO_DISKS))

    def _stat(self, text: bytes) -> Iterator[Sample]:
        for line in text.splitlines():
            key, _, rest = line.partition(b" ")
            if key.startswith(b"cpu"):
                entity = key.decode()
                for metric, ticks in zip(_MODE_METRICS, rest.split(), strict=False):
                    yield self._mode(entity, metric, int(ticks) * NS_PER_TICK)
            elif key in _STAT_METRICS:
                # the total is the first number; the line of interrupts has kilobytes
                yield Sample("host", _STAT_METRICS[key], int(rest.split(None, 1)[0]))

    def _mode(self, entity: str, metric: str, value: int) -> Sample:
        # The kernel sometimes decreases idle and iowait (proc(5)); a counter must not fall.
        highest = max(value, self._highest.get((entity, metric), 0))
        self._highest[entity, metric] = highest
        return Sample(entity, metric, highest)

    def _diskstats(self, text: bytes) -> Iterator[Sample]:
        for line in text.splitlines():
            field = line.split()
            if field[2] not in self._disks:
                continue
            disk = f"disk:{field[2].decode()}"
            for metric, column, scale in _DISK_COLUMNS:
                yield Sample(disk, metric, int(field[column]) * scale)


def _meminfo(text: bytes) -> Iterator[Sample]:
    swap_kb: dict[bytes, int] = {}
    for line in text.splitlines():
        key, _, rest = line.partition(b":")
        if key in _MEMORY_METRICS:
            yield Sample("host", _MEMORY_METRICS[key], int(rest.split()[0]) * 1024)
        elif key in (b"SwapTotal", b"SwapFree"):
            swap_kb[key] = int(rest.split()[0])
    if len(swap_kb) == 2:
        total = swap_kb[b"SwapTotal"] * 1024
        yield Sample("host", "swap_used_bytes", total - swap_kb[b"SwapFree"] * 1024)
        if total:
            yield Sample("host", "swap_used_bytes_limit", total)


def _vmstat(text: bytes) -> Iterator[Sample]:
    _, found, rest = text.partition(b"\npgmajfault ")
    if found:
        yield Sample("host", "page_faults_major_total", int(rest.split(None, 1)[0]))


def _net(text: bytes) -> Iterator[Sample]:
    for line in text.splitlines()[2:]:
        name, _, rest = line.partition(b":")
        field = rest.split()
        if field[1] == field[9] == b"0":
            continue  # never carried a packet: dummy and tunnel interfaces by the dozen
        entity = f"net:{name.strip().decode()}"
        for metric, column in _NET_COLUMNS.items():
            yield Sample(entity, metric, int(field[column]))


def _psi(entity: str, kinds: tuple[bytes, ...], text: bytes) -> Iterator[Sample]:
    for line in text.splitlines():
        kind, _, rest = line.partition(b" ")
        if kind in kinds:
            stalled_us = int(rest.rpartition(b"total=")[2])
            yield Sample(entity, f"{kind.decode()}_ns_total", stalled_us * _NS_PER_US)
