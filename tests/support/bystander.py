"""A stopped PostgreSQL cluster of the user's own, which no study may start, change or drop anything in."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.subjects.postgres.binaries import find_bindir, reachable
from steelyard.subjects.servers.identity import account_of_servers

_MAKE = "create database steelyard;\n"
_FILL = "create table mine (id int);\n"


@dataclass(frozen=True)
class Bystander:
    """data: its data directory, owned by the account of the servers, with a database `steelyard`."""

    data: Path

    @classmethod
    def made(cls, folder: Path) -> Bystander:
        bindir, account = reachable(find_bindir(None)), account_of_servers()
        account.private(folder)
        data = folder / "data"
        as_owner = {"check": True, "stdout": subprocess.DEVNULL, "cwd": "/", **account.arguments}
        subprocess.run(
            [bindir / "initdb", "-D", data, "-U", "postgres", "-A", "peer", "--no-sync"], **as_owner
        )
        for database, sql in (("postgres", _MAKE), ("steelyard", _FILL)):
            single = [bindir / "postgres", "--single", "-D", data, database]
            subprocess.run(single, input=sql.encode(), stderr=subprocess.DEVNULL, **as_owner)
        return cls(data)

    def contents(self) -> Mapping[str, str]:
        """A digest of each of its files, by path."""
        return digests(self.data)


def digests(folder: Path) -> Mapping[str, str]:
    """A digest of each file below a folder, by path; of a link its target, of a folder its name."""
    found: dict[str, str] = {}
    for place in sorted(folder.rglob("*")):
        if place.is_symlink():
            found[str(place)] = f"-> {place.readlink()}"
        elif place.is_file():
            found[str(place)] = hashlib.sha256(place.read_bytes()).hexdigest()
        else:
            found[str(place)] = "folder"
    return found
