"""A fleet over network namespaces, or over addresses of this machine, and studies that it runs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from laboratory import text_of
from namespaces import Network, network

from steelyard.bundle.reader import Bundle

LAB, LOADS = "lab", ("load1", "load2", "load3")
# runs a program in a time namespace whose CLOCK_MONOTONIC is ahead by so many ns
_AHEAD = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
assert libc.unshare(0x80) == 0, os.strerror(ctypes.get_errno())
seconds, ns = divmod(int(sys.argv[1]), 10**9)
with open("/proc/self/timens_offsets", "w") as offsets:
    offsets.write(f"monotonic {seconds} {ns}")
libc.prctl(1, 9)
child = os.fork()
if child == 0:
    libc.prctl(1, 9)
    os.execvp(sys.argv[2], sys.argv[2:])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255)
"""

STUDY = """
name = "several"
question = "Does the load come from all hosts?"
[subject]
kind = "null"
[workload]
kind = "lookup"
rows = 100
[workload.arrival]
kind = "open"
rate_per_s = 240
[plan]
clients = [6]
warm_up_s = 0.3
measure_s = {measure_s}
cool_down_s = 0.1
blocks = {blocks}
disturbed = "keep"
"""


def ahead(offset_ns: int) -> list[str]:
    """What starts a program with its clock ahead."""
    return [sys.executable, "-c", _AHEAD, str(offset_ns)]


_HOST = "STEELYARD_TEST_HOST"


@dataclass(frozen=True)
class Loopback:
    """Hosts that are addresses of this machine, for every user; a process tells its host by a variable."""

    folder: Path
    hosts: Sequence[str]

    def address(self, host: str) -> str:
        return f"127.0.0.{self.hosts.index(host) + 1}"

    def reach(self, host: str) -> list[str]:
        """What starts a program on the host."""
        return ["env", f"{_HOST}={self.folder}/{host}"]

    def processes(self, host: str) -> list[int]:
        """Processes on the host."""
        mark = f"{_HOST}={self.folder}/{host}"
        pids = [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]
        return [pid for pid in pids if mark in text_of(pid, "environ").split("\0")]


@dataclass
class Fleet:
    """A fleet that is up, and the studies of a test."""

    net: Network | Loopback
    folder: Path
    up: subprocess.Popen[str]
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def file(self) -> Path:
        return self.folder / "hosts.toml"

    def steelyard(self, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*self.net.reach(LAB), sys.executable, "-m", "steelyard.cli", *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def begin(
        self, bundle: str, measure_s: float = 1, blocks: int = 1, study: str = STUDY
    ) -> subprocess.Popen[str]:
        (self.folder / f"{bundle}.toml").write_text(study.format(measure_s=measure_s, blocks=blocks))
        file, fleet = f"{bundle}.toml", str(self.file)
        return self.steelyard("run", file, "--fleet", fleet, "--bundle", bundle)

    def run(self, bundle: str, measure_s: float = 1, blocks: int = 1, study: str = STUDY) -> Bundle:
        process = self.begin(bundle, measure_s, blocks, study)
        out, error = process.communicate(timeout=250)
        assert process.returncode == 0, out + error
        return Bundle(self.folder / bundle)

    def engines(self, host: str) -> list[int]:
        """Load engines on a host."""
        return [pid for pid in self.net.processes(host) if "steelyard.lab.engines.process" in command_of(pid)]

    def kill_worker(self, host: str) -> None:
        self._kill(self.worker(host), "worker")

    def kill_scheduler(self) -> None:
        """The process of `fleet up`."""
        self._kill(self.up.pid, "fleet")

    def _kill(self, pid: int, name: str) -> None:
        """It has no time to remove its temporary files."""
        os.kill(pid, signal.SIGKILL)
        for left in Path(tempfile.gettempdir()).glob(f"steelyard-{name}-{pid}-*"):
            shutil.rmtree(left)

    def worker(self, host: str) -> int:
        (pid,) = [pid for pid in self.net.processes(host) if "steelyard.fleet.worker" in command_of(pid)]
        return pid


def command_of(pid: int) -> str:
    return text_of(pid, "cmdline").replace("\0", " ")


def until(what: Callable[[], bool], limit_s: float) -> None:
    end_s = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < end_s, "it did not come true"
        time.sleep(0.1)


def write_hosts(
    net: Network | Loopback,
    folder: Path,
    before: Mapping[str, Sequence[str]],
    others: Sequence[str] = (),
) -> None:
    hosts = list[str]()
    for name in net.hosts:
        if name == LAB:
            hosts.append(f'[fleet.hosts.{LAB}]\naddress = "{net.address(LAB)}"\nroles = ["lab"]')
        elif name not in others:
            reach = json.dumps([*net.reach(name), *before.get(name, ())])
            hosts.append(
                f'[fleet.hosts.{name}]\naddress = "{net.address(name)}"\nroles = ["load"]\n'
                f'reach = {reach}\npython = "{sys.executable}"'
            )
    (folder / "hosts.toml").write_text("\n".join(hosts) + "\n")


@contextmanager
def fleet(
    folder: Path,
    before: Mapping[str, Sequence[str]] | None = None,
    delays_ms: Mapping[str, float] | None = None,
    others: Sequence[str] = (),
) -> Iterator[Fleet]:
    """A lab with its load hosts; before: what starts programs on a host, by its name.

    others: hosts of the network that are not in the fleet.
    """
    hosts = [LAB, *LOADS, *others]
    with network(hosts, delays_ms) as net, brought_up(net, folder, before or {}, others) as made:
        yield made


@contextmanager
def brought_up(
    net: Network | Loopback,
    folder: Path,
    before: Mapping[str, Sequence[str]],
    others: Sequence[str] = (),
) -> Iterator[Fleet]:
    """The fleet of these hosts, until the context's end."""
    write_hosts(net, folder, before, others)
    up = subprocess.Popen(
        [*net.reach(LAB), sys.executable, "-m", "steelyard.cli", "fleet", "up", "hosts.toml"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert up.stderr is not None
    for line in up.stderr:
        if "hosts are up" in line:
            break
    else:
        raise AssertionError("the fleet did not come up")
    made = Fleet(net, folder, up)
    try:
        yield made
    finally:
        for process in made.started:
            process.kill()
            process.communicate()
        if up.poll() is None:
            up.send_signal(signal.SIGINT)
        try:
            up.wait(20)
        except subprocess.TimeoutExpired:
            up.kill()
            up.wait()
        up.stderr.close()
