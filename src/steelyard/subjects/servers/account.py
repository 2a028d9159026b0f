"""The system user that runs the servers of a study, and folders that only this user and the lab can enter.

Started by root, servers run as the system user `steelyard`, which owns nothing else: a server's superuser,
who can access files and run programs (`copy ... to program`), cannot reach the distribution's clusters. The
user is created when it is missing: `initdb` refuses a user without a name. Otherwise servers run as the
caller.
"""

import os
import pwd
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.errors import InputError

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
        return {} if self.user is None else _as(self.user.pw_uid, self.user.pw_gid)

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
        return Account(caller, _checked(pwd.getpwnam(NAME)))
    program = shutil.which(_MAKE[0], path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    hint = f"run as a user other than root, or: {' '.join(_MAKE)}"
    if program is None:
        raise InputError(f"servers do not run as root, and no user `{NAME}` can be created: no useradd", hint)
    made = subprocess.run([program, *_MAKE[1:]], capture_output=True, text=True, check=False)
    try:
        # another study may have created it at the same moment
        return Account(caller, _checked(pwd.getpwnam(NAME)))
    except KeyError:
        raise InputError(f"useradd did not create the user `{NAME}`: {made.stderr.strip()}", hint) from None


def _as(uid: int, gid: int) -> dict[str, Any]:
    return {"user": uid, "group": gid, "extra_groups": []}


def _checked(user: pwd.struct_passwd) -> pwd.struct_passwd:
    if user.pw_uid == 0:
        raise InputError(f"the user `{NAME}` is root under another name: servers refuse to run as it")
    return user
