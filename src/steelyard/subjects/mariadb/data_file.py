"""Loads a file of SQL, such as mysqldump writes, into a MariaDB by the client of its own installation."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from steelyard.study.errors import InputError
from steelyard.subjects.mariadb.binaries import beside
from steelyard.subjects.servers.scripts import data_error


def load_file(
    file: Path,
    server: Path,
    socket: Path,
    user: str,
    database: str,
    run: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """Loads it into the database. Raises InputError with the words of the client.

    run: runs a command to its end, with `stdin` to read.
    """
    try:
        client = beside(server, "mariadb")
    except InputError as error:
        raise data_error(file, str(error), "apt-get install mariadb-client") from None
    options = ["--no-defaults", f"--socket={socket}", f"--user={user}", f"--database={database}"]
    # the client runs as the user of the servers, who may not be let to the file
    with file.open("rb") as content:
        done = run([client, *options, "--batch", "--silent"], stdin=content)
    if done.returncode:
        raise data_error(file, done.stderr)
