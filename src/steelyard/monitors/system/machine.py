"""The whole machine: CPU by core and mode, memory, disks, network, pressure stalls."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from steelyard.declared_metrics import Declaration, DeclaredMetric
from steelyard.monitors import Sample, Target, Unavailable, described
from steelyard.monitors.system.procfs import NS_PER_TICK, ProcFile, reason, shared_budget

_SECTOR_BYTES = 512  # in diskstats, whatever the disk's own sector
_NS_PER_MS = 1_000_000
_NS_PER_US = 1_000

# of stat and meminfo by the word that begins their line
_METRICS = described("""
cpu* user_ns_total | CPU time in user mode, guests included
cpu* nice_ns_total | CPU time in user mode at low priority, guests included
cpu* system_ns_total | CPU time in system mode
cpu* idle_ns_total | Time without work
cpu* iowait_ns_total | Time without work while I/O was under way
cpu* irq_ns_total | CPU time in interrupt handlers
cpu* softirq_ns_total | CPU time in soft interrupt handlers
cpu* steal_ns_total | Time that the hypervisor gave to other guests
cpu* guest_ns_total | CPU time of virtual machines
cpu* guest_nice_ns_total | CPU time of virtual machines at low priority
ctxt = host context_switches_total | Context switches of all CPUs
intr = host interrupts_total | Interrupts
processes = host forks_total | Processes and threads started
procs_blocked = host blocked_tasks | Threads that wait for I/O
MemAvailable = host memory_available_bytes | Memory that programs can use without swapping
Dirty = host memory_dirty_bytes | File pages that wait to be written
Cached = host memory_cached_bytes | Page cache
host swap_used_bytes | Swap space in use | limit
host page_faults_major_total | Page faults that read from storage
disk:* reads_total | Reads completed
disk:* read_bytes_total | Bytes read
disk:* writes_total | Writes completed
disk:* written_bytes_total | Bytes written
disk:* busy_ns_total | Time with at least one request under way
net:* received_bytes_total | Bytes received
net:* received_packets_total | Packets received
net:* sent_bytes_total | Bytes sent
net:* sent_packets_total | Packets sent
psi:* some_ns_total | Pressure: time in which at least one task was stalled
psi:* full_ns_total | Pressure: time in which all tasks were stalled; not of the CPU
""")
_METRICS["procs_running"] = DeclaredMetric(
    "runqueue_tasks", "host", "Threads that run or wait for a CPU", chart="host", group="cpu"
)
# the order of the columns of /proc/stat; user includes guest, nice includes guest_nice
_MODES = [metric.name for metric in _METRICS.values() if metric.entity == "cpu*"]
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

    declares = Declaration((*_METRICS.values(),))

    def __init__(self, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> None:
        self._proc = proc
        self._sys = sys
        self._files: dict[str, ProcFile] = {}
        self._disks = frozenset[bytes]()
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
        block = self._sys / "block"
        try:
            # whole disks only: the counters of a disk include its partitions
            names = [path.name for path in block.iterdir() if not path.name.startswith(_NO_DISKS)]
            self._disks = frozenset(map(str.encode, names))
        except OSError as error:
            self._missing["block"] = f"{block}: {reason(error)} (disks are not read)"
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
                self._note(name, reason(error) if isinstance(error, OSError) else "unknown format")
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

    def _stat(self, text: bytes) -> Iterator[Sample]:
        for line in text.splitlines():
            key, _, rest = line.partition(b" ")
            if key.startswith(b"cpu"):
                entity = key.decode()
                for metric, ticks in zip(_MODES, rest.split(), strict=False):
                    # The kernel sometimes decreases idle and iowait (proc(5)); a counter must not fall.
                    before = self._highest.get((entity, metric), 0)
                    self._highest[entity, metric] = highest = max(int(ticks) * NS_PER_TICK, before)
                    yield Sample(entity, metric, highest)
            elif metric := _METRICS.get(key.decode()):
                # the total is the first number; the line of interrupts has kilobytes
                yield Sample("host", metric.name, int(rest.split(None, 1)[0]))

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
        if metric := _METRICS.get(key.decode()):
            yield Sample("host", metric.name, int(rest.split()[0]) * 1024)
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
