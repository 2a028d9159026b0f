"""Who runs a server of ours. Servers refuse root; as root, a user is taken that is there already.

No account is made: a measuring tool leaves no traces.
"""

from __future__ import annotations

import os
import pwd
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.study.errors import InputError


@dataclass(frozen=True)
class Account:
    """user: None when servers run as ourselves."""

    user: pwd.struct_passwd | None

    @property
    def arguments(self) -> dict[str, Any]:
        """Of `subprocess`, to start a program as this user."""
        if self.user is None:
            return {}
        return {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}

    def own(self, place: Path) -> None:
        """Gives a file or folder to this user."""
        if self.user is not None:
            os.chown(place, self.user.pw_uid, self.user.pw_gid)


def account_of(server: str) -> Account:
    """Ourselves; as root the user named `server`, or else `nobody`. Raises InputError."""
    if os.geteuid() != 0:
        return Account(None)
    for name in (server, "nobody"):
        with suppress(KeyError):
            return Account(pwd.getpwnam(name))
    raise InputError(
        f"database servers refuse to run as root, and there is no user `{server}` or `nobody`",
        f"adduser --system {server}",
    )
