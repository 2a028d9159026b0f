"""Whether a session is with the server that the lab started, and whether that listens only where meant."""

import os
import secrets
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.subjects import SubjectFailed
from steelyard.subjects.servers.account import Account

FILE = "steelyard.nonce"
# of a line in /proc/net/tcp and /proc/net/unix (proc(5)): a listening socket
_TCP_LISTENS, _UNIX_LISTENS = "0A", 0x10000


@dataclass(frozen=True)
class Identity:
    """Of a started server. data: its data directory, where the file FILE holds the nonce."""

    name: str
    data: Path
    pid: int = 0
    nonce: str = field(default_factory=secrets.token_hex)

    def write(self, account: Account) -> None:
        """Writes the nonce, for the server to read; never through a link."""
        self.forget()
        # MariaDB reads only files that all may read; nobody else can enter the folder
        with os.fdopen(os.open(self.data / FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w") as file:
            os.fchmod(file.fileno(), 0o644)
            file.write(self.nonce)
        account.own(self.data / FILE)

    def forget(self) -> None:
        """Removes the nonce: a template of data has none."""
        (self.data / FILE).unlink(missing_ok=True)

    def check(self, at: Path, data: str, nonce: str) -> None:
        """Raises SubjectFailed unless a session is with this server.

        at: its Unix socket; data, nonce: the data directory and the nonce that the session reports.
        """
        pid = _listener_of(at)
        real = os.path.realpath(data)
        if pid != self.pid:
            found = f"process {pid}, not {self.pid}"
        elif real != os.path.realpath(self.data):
            found = f"its data directory is {real}, not {self.data}"
        elif nonce != self.nonce:
            found = f"its data directory lacks the mark that Steelyard wrote there ({FILE})"
        else:
            return
        raise SubjectFailed(f"a session is not with the {self.name} that Steelyard started: {found}")


def listening_elsewhere(pids: Iterable[int], meant: Iterable[str]) -> str:
    """Where these processes listen beside what is meant; '' for nowhere.

    meant: paths of Unix sockets, and `address:port`.
    """
    return ", ".join(sorted(_listening(pids) - set(meant)))


def peer_of(ours: socket.socket) -> int | None:
    """The process of this machine that a connection is with; None: of another one, or not to be seen.

    By TCP only its own user and root see it.
    """
    if ours.family == socket.AF_UNIX:
        # of who listens: SO_PEERCRED, unix(7)
        return struct.unpack("3i", ours.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    (there, port, *_), (here, own, *_) = ours.getpeername(), ours.getsockname()
    rows = [row for table in ("tcp", "tcp6") for row in _rows(os.getpid(), table)] if there == here else []
    ends = [f":{port:04X}", f":{own:04X}"]
    for inode in [row[9] for row in rows if [row[1][-5:], row[2][-5:]] == ends]:
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if inode in _sockets(int(place.name)):
                    return int(place.name)
    return None


def _listener_of(at: Path) -> int | None:
    """The process that listens on a Unix socket."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(at))
        return peer_of(peer)


def _listening(pids: Iterable[int]) -> set[str]:
    found: set[str] = set()
    for pid in pids:
        with suppress(OSError):
            inodes = _sockets(pid)
            for version, family in (("", socket.AF_INET), ("6", socket.AF_INET6)):
                for row in _rows(pid, f"tcp{version}"):
                    if row[3] == _TCP_LISTENS and row[9] in inodes:
                        found.add(_place(row[1], family))
            for row in _rows(pid, "unix"):
                if int(row[3], 16) & _UNIX_LISTENS and row[6] in inodes:
                    found.add(" ".join(row[7:]) or "an unnamed socket")
    return found


def _sockets(pid: int) -> set[str]:
    """Inodes of the sockets that a process has open."""
    found: set[str] = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            found.add(str(descriptor.readlink()).removeprefix("socket:[").removesuffix("]"))
    return found


def _rows(pid: int, table: str) -> list[list[str]]:
    with suppress(FileNotFoundError):
        return [line.split() for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]]
    return []


def _place(text: str, family: socket.AddressFamily) -> str:
    """`0100007F:1538` as 127.0.0.1:5432: words of the address are in the machine's order of bytes."""
    address, _, port = text.partition(":")
    words = [int(address[at : at + 8], 16) for at in range(0, len(address), 8)]
    return f"{socket.inet_ntop(family, struct.pack(f'={len(words)}I', *words))}:{int(port, 16)}"
