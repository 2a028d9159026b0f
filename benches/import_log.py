"""What the import of a long file takes: seconds and the largest memory of the process.

    python benches/import_log.py [KIND ...] [--gb 1]

Kinds: pgbench-log, pgbench-intervals, vmstat, solaris-vmstat, pidstat, mpstat, iostat, sar, sadf, jmeter, k6.
Goal: a log of pgbench of 1 GB in at most 60 s and 500 MB; of all others bounded memory: that of a file twice
as long is the same.
"""

from __future__ import annotations

import argparse
import itertools
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

_CLIENTS = 16
_PART = 500_000  # lines
# readings that go back in time would be those of the next day
_CLOCKED = ("vmstat", "pidstat", "mpstat", "iostat", "sar", "sadf", "solaris-vmstat", "pgbench-intervals")
_BEGAN = datetime(2026, 3, 2)
_BANNER = "Linux 6.1.0 (host) \t2026-03-02 \t_x86_64_\t(2 CPU)\n\n"


def _pgbench_log() -> Iterator[str]:
    at_us = 1_772_445_600_000_000
    for number in _forever():
        at_us += random.randint(1, 400)
        client, took = number % _CLIENTS, random.randint(200, 9000)
        yield f"{client} {number} {took} 0 {at_us // 1_000_000} {at_us % 1_000_000}\n"


def _pgbench_intervals() -> Iterator[str]:
    for i in _forever():
        yield f"{1_772_445_600 + i} {random.randint(100, 900)} 126964 236577710 120 5729 0 0 0 0 0 0 0 0 0\n"


def _solaris_vmstat() -> Iterator[str]:
    for i in _forever():
        if i % 20 == 0:
            yield " kthr      memory            page            disk          faults      cpu\n"
            yield " r b w   swap  free  re  mf pi po fr de sr s0 s1 s2 s3   in   sy   cs us sy id\n"
        us = random.randint(0, 70)
        yield f" 0 0 0 900000 80000  10  20  0  0  0  0  0  1  0  0  0  400 1200 {i % 9000}"
        yield f" {us} 20 {80 - us}\n"


def _sadf() -> Iterator[str]:
    yield '{"sysstat": {"hosts": [{"nodename": "lab", "number-of-cpus": 2, "statistics": [\n'
    for i in _forever():
        at = _BEGAN + timedelta(seconds=i)
        cpus = ", ".join(
            f'{{"cpu": "{cpu}", "user": {random.random() * 90:.2f}, "nice": 0.00, "system": 5.00,'
            ' "iowait": 0.00, "steal": 0.00, "idle": 5.00}'
            for cpu in ("all", "0", "1")
        )
        yield (
            f'{{"timestamp": {{"date": "{at:%Y-%m-%d}", "time": "{at:%H:%M:%S}", "utc": 1, "interval": 1}},\n'
            f' "cpu-load": [{cpus}],\n'
            f' "process-and-context-switch": {{"proc": 1.00, "cswch": {i % 9000}.00}}}},\n'
        )


def _vmstat() -> Iterator[str]:
    yield (
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----" + " -timestamp-\n"
    )
    yield " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st" + " UTC\n"
    for i in _forever():
        us, cs = random.randint(0, 70), 1000 + i % 9000
        at = _BEGAN + timedelta(seconds=i)
        yield (
            f"{i % 30:2}  0      0 18155928  15200 5211292    0    0  1020  1417 1733 {cs} {us} 20 {80 - us}"
            f"  0  0 {at}\n"
        )


def _of_sysstat(heading: str, rows: Callable[[], Iterator[str]]) -> Iterator[str]:
    yield _BANNER
    for i in _forever():
        at = _BEGAN + timedelta(seconds=i)
        yield f"\n{at:%H:%M:%S}  {heading}\n"
        for row in rows():
            yield f"{at + timedelta(seconds=1):%H:%M:%S}  {row}\n"


def _pidstat() -> Iterator[str]:
    return _of_sysstat(
        "    UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command",
        lambda: (
            f"   1000 {pid:9}   {random.random() * 90:5.2f}   1.00    0.00    0.00   2.00     1  postgres"
            for pid in range(1000, 1040)
        ),
    )


def _mpstat() -> Iterator[str]:
    return _of_sysstat(
        "CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle",
        lambda: (
            f"{cpu:>3}   {random.random() * 90:5.2f}    0.00    5.00    0.00    0.00    0.00    0.00"
            "    0.00    0.00    5.00"
            for cpu in ("all", "0", "1")
        ),
    )


def _sar() -> Iterator[str]:
    return _of_sysstat(
        "CPU     %user     %nice   %system   %iowait    %steal     %idle",
        lambda: iter(
            [f"all     {random.random() * 90:5.2f}      0.00      5.00      0.00      0.00      5.00"]
        ),
    )


def _iostat() -> Iterator[str]:
    yield _BANNER
    for i in _forever():
        yield (
            f"{_BEGAN + timedelta(seconds=i):%m/%d/%Y %H:%M:%S}\n"
            "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
            f"          {random.random() * 90:5.2f}    0.00    5.00    0.00    0.00    5.00\n\n"
            "Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n"
            "vda              10.00         1.00         2.00          1          2\n\n"
        )


def _jmeter() -> Iterator[str]:
    yield "timeStamp,elapsed,label,responseCode,threadName,success,bytes\n"
    for i in _forever():
        yield f"{1_772_445_600_000 + i},{random.randint(1, 900)},home,200,Thread Group 1-{i % 50},true,512\n"


def _k6() -> Iterator[str]:
    for i in _forever():
        at = (_BEGAN + timedelta(milliseconds=i)).isoformat()
        for metric in ("http_reqs", "http_req_duration", "http_req_waiting"):
            yield (
                f'{{"type":"Point","data":{{"time":"{at}Z","value":{random.random() * 90:.3f},'
                f'"tags":{{"expected_response":"true"}}}},"metric":"{metric}"}}\n'
            )


def _forever() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


_KINDS = {
    "pgbench-log": _pgbench_log,
    "pgbench-intervals": _pgbench_intervals,
    "vmstat": _vmstat,
    "solaris-vmstat": _solaris_vmstat,
    "pidstat": _pidstat,
    "mpstat": _mpstat,
    "iostat": _iostat,
    "sar": _sar,
    "sadf": _sadf,
    "jmeter": _jmeter,
    "k6": _k6,
}


def write(kind: str, place: Path, size_bytes: int) -> None:
    """A file of at least so many bytes. Where no clock must go on, the first lines are repeated."""
    lines = _KINDS[kind]()
    part = b"" if kind in _CLOCKED else "".join(itertools.islice(lines, _PART)).encode()
    with place.open("wb") as file:
        while file.tell() < size_bytes:
            file.write(part or next(lines).encode())


def main() -> None:
    """Prints a line per kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=["pgbench-log"], choices=_KINDS)
    parser.add_argument("--gb", type=float, default=1.0)
    parser.add_argument("--folder", type=Path, help="keeps the files there, and takes those that are there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for kind in given.kinds:
            # pgbench's name: a file per thread
            place = (given.folder or Path(folder)) / f"{kind}.{round(given.gb * 1000)}"
            if not place.exists():
                write(kind, place, round(given.gb * 1e9))
            began = time.monotonic()
            command = [sys.executable, "-c", _IMPORT, str(place), f"{folder}/{kind}.bundle"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds = time.monotonic() - began
            *_, cpu_s, most = done.stdout.split()
            print(
                f"{kind} {place.stat().st_size / 1e9:.2f} GB: {seconds:.1f} s,"
                f" {float(cpu_s):.1f} s of CPU, {int(most) / 1024:.0f} MiB at most",
                flush=True,
            )


# of the process itself, which the maximum over all children of this one would hide
_IMPORT = """
import resource, sys
from steelyard.cli.commands import cli
cli(["import", sys.argv[1], "-o", sys.argv[2]], standalone_mode=False)
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""

if __name__ == "__main__":
    main()
