"""Hosts of a fleet as network namespaces of this machine, joined by a switch in a namespace of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4


def ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"


def permitted() -> bool:
    """Whether network namespaces can be made here."""
    name = f"sy{uuid4().hex[:6]}"
    try:
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
        if made.returncode:
            return False
        return not subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False).returncode
    except OSError:
        return False


# joins two namespaces as a cable would, with a delay: this kernel may lack the queueing discipline netem.
# arguments: namespace and device of both ends, delay of each way in ms
_CABLE = """
import collections, ctypes, fcntl, os, select, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(1, 9)
def tap(namespace, device):
    with open(f"/run/netns/{namespace}") as file:
        assert libc.setns(file.fileno(), 0) == 0, os.strerror(ctypes.get_errno())
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, 0x400454CA, struct.pack("16sH22x", device.encode(), 0x1002))
    return end
first, second = tap(*sys.argv[1:3]), tap(*sys.argv[3:5])
delay_s, queue = float(sys.argv[5]) / 1000, collections.deque()
print("ready", flush=True)
while True:
    wait_s = max(0, queue[0][0] - time.monotonic()) if queue else None
    for end in select.select([first, second], [], [], wait_s)[0]:
        queue.append((time.monotonic() + delay_s, second if end == first else first, os.read(end, 65536)))
    while queue and queue[0][0] <= time.monotonic():
        _, end, frame = queue.popleft()
        try:
            os.write(end, frame)
        except OSError:
            pass
"""


@dataclass(frozen=True)
class Network:
    """Namespaces by host, each with an address of its own."""

    prefix: str
    hosts: Sequence[str]

    def namespace(self, host: str) -> str:
        return f"{self.prefix}{host}"

    def address(self, host: str) -> str:
        return f"10.213.7.{self.hosts.index(host) + 1}"

    def reach(self, host: str) -> list[str]:
        """What starts a program on the host."""
        return ["ip", "netns", "exec", self.namespace(host)]

    def cut(self, host: str, down: bool = True) -> None:
        """Cuts the host off from all others, or joins it again."""
        ip("-n", f"{self.prefix}switch", "link", "set", f"to-{host}", "down" if down else "up")

    def processes(self, host: str) -> list[int]:
        """Processes on the host."""
        listed = subprocess.run(
            ["ip", "netns", "pids", self.namespace(host)], capture_output=True, text=True, check=False
        )
        return [int(pid) for pid in listed.stdout.split()]


@contextmanager
def network(hosts: Sequence[str], delays_ms: Mapping[str, float] | None = None) -> Iterator[Network]:
    """The network while the context lasts; then its processes end and its namespaces go.

    delays_ms: of each way to and from a host, by its name.
    """
    far, cables = delays_ms or {}, list[subprocess.Popen[str]]()
    made = Network(f"sy{os.getpid() % 10000:04d}{uuid4().hex[:6]}", hosts)
    switch = f"{made.prefix}switch"
    ip("netns", "add", switch)
    try:
        ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", switch, "link", "set", "bridge", "up")
        for host in hosts:
            own = made.namespace(host)
            ip("netns", "add", own)
            ip("-n", own, "link", "set", "lo", "up")
            if host in far:
                cables.append(_cable(own, switch, host, far[host]))
            else:
                ends = ("eth0", "type", "veth", "peer", "name", f"to-{host}", "netns", switch)
                ip("-n", own, "link", "add", *ends)
            ip("-n", own, "address", "add", f"{made.address(host)}/24", "dev", "eth0")
            ip("-n", own, "link", "set", "eth0", "up")
            ip("-n", switch, "link", "set", f"to-{host}", "master", "bridge", "up")
        yield made
    finally:
        for cable in cables:
            cable.kill()
            cable.communicate()
        for name in [*map(made.namespace, hosts), switch]:
            with suppress(FileNotFoundError):
                Path(f"/run/netns/{name}").stat()
                for pid in _pids(name):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                ip("netns", "del", name)


def _cable(own: str, switch: str, host: str, delay_ms: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _CABLE, own, "eth0", switch, f"to-{host}", str(delay_ms)]
    cable = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert cable.stdout is not None and cable.stdout.readline() == "ready\n"
    return cable


def _pids(namespace: str) -> list[int]:
    listed = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False)
    return [int(pid) for pid in listed.stdout.split()]
