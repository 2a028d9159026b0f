"""Who a server runs as; whether a session is with it, it listens where meant alone, and is the same later.

Started by root, servers run as the system user `steelyard`, which owns nothing else: a server's superuser,
who can access files and run programs (`copy ... to program`), cannot reach the distribution's clusters. The
user is created when it is missing: `initdb` refuses a user without a name. Else servers run as the caller.
"""

import os
import pwd
import secrets
import shutil
import socket
import struct
import subprocess
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from steelyard.errors import InputError
from steelyard.host.processes.limits import TimedOut, within
from steelyard.subjects import SubjectFailed

_T = TypeVar("_T")
Errors = tuple[type[Exception], ...]
Interruption = Callable[[], str]  # a sentence if it ended, restarted or crashed since, else ''

NAME = "steelyard"
_MAKE = (
    "useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent",
    "--shell", "/usr/sbin/nologin", NAME,
)  # fmt: skip


@dataclass(frozen=True)
class Account:
    """caller: name of the user who runs the lab. user: None when servers run as the caller."""

    caller: str
    user: pwd.struct_passwd | None

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of `subprocess` that start a program as this user."""
        user = self.user
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}

    @property
    def owner(self) -> str:
        """Name of the user that the servers run as."""
        return self.caller if self.user is None else self.user.pw_name

    @property
    def admitted(self) -> list[str]:
        """Names of the system's users that servers admit: the caller, root, and the servers' user."""
        return sorted({"root", self.caller, self.owner})

    def own(self, place: Path) -> None:
        """Gives a file or folder to this user."""
        if self.user is not None:
            os.chown(place, self.user.pw_uid, self.user.pw_gid)

    def admit(self, folder: Path) -> None:
        """Lets this user, and no other, pass through a folder of the caller's.

        The user cannot list or write it: no process of a server can place a link where the lab writes.
        """
        if self.user is not None:
            os.chown(folder, -1, self.user.pw_gid)
        folder.chmod(0o700 if self.user is None else 0o710)

    def private(self, folder: Path) -> Path:
        """Creates a folder that only this user and the lab can enter; returns it."""
        folder.mkdir(mode=0o700, exist_ok=True)
        self.own(folder)
        return folder


def account_of_servers() -> Account:
    """The caller; for root the system user `steelyard`, created if missing. Raises InputError."""
    try:
        caller = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise InputError(
            f"user {os.geteuid()} has no name on this machine: servers refuse to run as this user",
            "add the user to /etc/passwd, or run as another user",
        ) from None
    if os.geteuid() != 0:
        return Account(caller, None)
    with suppress(KeyError):
        return Account(caller, _user())
    program = shutil.which(_MAKE[0], path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    hint = f"run as a user other than root, or: {' '.join(_MAKE)}"
    if program is None:
        raise InputError(f"servers do not run as root, and no user `{NAME}` can be created: no useradd", hint)
    made = subprocess.run([program, *_MAKE[1:]], capture_output=True, text=True, check=False)
    try:
        # another study may have created it at the same moment
        return Account(caller, _user())
    except KeyError:
        raise InputError(f"useradd did not create the user `{NAME}`: {made.stderr.strip()}", hint) from None


def _user() -> pwd.struct_passwd:
    """Raises KeyError where there is none, InputError for another name of root."""
    user = pwd.getpwnam(NAME)
    if user.pw_uid == 0:
        raise InputError(f"the user `{NAME}` is root under another name: servers refuse to run as it")
    return user


FILE = "steelyard.nonce"
_LOOK_S = 10.0
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
        with socket.socket(socket.AF_UNIX) as session:
            session.connect(str(at))
            pid = peer_of(session)
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
    """Where these processes listen beside `meant` (paths of Unix sockets, `address:port`); '' for nowhere."""
    found = set[str]()
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
    return ", ".join(sorted(found - set(meant)))


def peer_of(ours: socket.socket) -> int | None:
    """The peer process of a connection; None: elsewhere, or unseen (by TCP its own user and root see it)."""
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


def _sockets(pid: int) -> set[str]:
    found = set[str]()
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


def continuity(
    look: Callable[[], _T],
    compared: Callable[[_T, _T], str],
    errors: Errors,
    ended: Interruption,
    words: Callable[[Exception], str] = str,
) -> Interruption:
    """A function to call after the load: a sentence if the server ended, restarted or crashed since, else ''.

    look: at what shows its life; compared: the sentence from what was seen then and now. errors: what look
    may raise; words: the text of such an error. ended: how its process ended, '' while it runs or where it
    is unknown. Raises what look raises now, and TimedOut.
    """
    then = within(_LOOK_S, "asking the server since when it runs", look)

    def interruption() -> str:
        if how := ended():
            return how
        try:
            now = within(_LOOK_S, "asking the server since when it runs", look)
        except (*errors, TimedOut) as error:
            return f"the server does not answer after the load: {words(error).strip()}"
        return compared(then, now)

    return interruption
