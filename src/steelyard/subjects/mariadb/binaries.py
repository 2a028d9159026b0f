"""Finds MariaDB's programs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from steelyard.study.errors import InputError, brief
from steelyard.subjects.servers.option_settings import version_said

_INSTALL = "apt-get install mariadb-server"


def find_server(bindir: str | None) -> Path:
    """The program `mariadbd`, of a study's bindir or of this machine. Raises InputError."""
    if bindir is None:
        # sbin is not on every user's PATH
        found = shutil.which("mariadbd") or shutil.which("/usr/sbin/mariadbd")
        if found is None:
            raise InputError("MariaDB is not installed on this machine", _INSTALL, ("subject", "kind"))
        return Path(found)
    named = Path(bindir).expanduser()
    # Debian has the server in sbin, the other programs in bin
    for folder in (named, named.parent / "sbin") if os.path.isdir(named) else ():  # noqa: PTH112  too long a name
        if (folder / "mariadbd").exists():
            return folder / "mariadbd"
    raise InputError(f"{brief(str(named))}: no program `mariadbd` in it", _INSTALL)


def beside(server: Path, name: str) -> Path:
    """Another program of the installation: Debian has the server in sbin, the other programs in bin."""
    for folder in (server.parent, server.parent.parent / "bin", server.parent.parent / "scripts"):
        if (folder / name).exists():
            return folder / name
    raise InputError(f"{server}: no program `{name}` of the same installation", _INSTALL)


def version_of(server: Path) -> str:
    """The version from `mariadbd --version`, such as '10.11.14'. Raises InputError."""
    # such as: mariadbd  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu on x86_64
    return version_said(server, "--no-defaults").partition("Ver ")[2].partition("-")[0].strip()
