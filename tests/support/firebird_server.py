"""A Firebird server of a test's own: its root, its users and its database are in one folder."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from needs import needs
from servers import answers, free_port

PROGRAM = Path("/usr/sbin/firebird")
PASSWORD = "opensesame"
_INSTALLED = Path("/usr/lib/x86_64-linux-gnu/firebird/3.0")
# users are in the database itself, so that the machine's own are left alone
_FILES = {
    "databases.conf": "bank = {folder}/bank.fdb\n{{\n  SecurityDatabase = {folder}/bank.fdb\n}}\n",
    "firebird.conf": "RemoteBindAddress = 127.0.0.1\nAuthServer = Srp\nUserManager = Srp\n",
    "bank.sql": "create database '{folder}/bank.fdb' default character set utf8;\n"
    f"create user SYSDBA password '{PASSWORD}' using plugin Srp;\ncommit;\n",
}


@contextmanager
def firebird(folder: Path) -> Iterator[int]:
    """The server with the empty database `bank`, until the end: its port. Skips where it is not installed."""
    needs("Firebird 3")
    for name in ("plugins", "intl", "firebird.msg", "plugins.conf"):
        (folder / name).symlink_to(_INSTALLED / name)
    for name, text in _FILES.items():
        (folder / name).write_text(text.format(folder=folder))
    own = {**os.environ, "FIREBIRD": str(folder), "FIREBIRD_LOCK": str(folder)}
    script = ["isql-fb", "-q", "-user", "SYSDBA", "-i", str(folder / "bank.sql")]
    subprocess.run(script, env=own, check=True, capture_output=True, timeout=60)
    port = free_port()
    process = subprocess.Popen(
        [PROGRAM, "-e", folder, "-el", folder, "-p", str(port)],
        env=own, cwd=folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while not answers(port):
            assert process.poll() is None, "the server has ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait()
