"""What a test needs beyond Python, Rust and a C compiler. Without it the test is skipped, and says why.

Where STEELYARD_TEST_ALL is set, a missing program fails the test.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.subjects.postgres.binaries import installed_bindirs


def _found(*names: str) -> Callable[[], bool]:
    return lambda: any(shutil.which(name) for name in names)


# program: whether it is there, and the Debian package that brings it
PROGRAMS: dict[str, tuple[Callable[[], object], str]] = {
    "PostgreSQL": (installed_bindirs, "postgresql"),
    "PostgreSQL 15": (Path("/usr/lib/postgresql/15/bin").exists, "postgresql-15"),
    "pgbench": (_found("pgbench"), "postgresql-contrib"),
    "MariaDB": (_found("mariadbd", "/usr/sbin/mariadbd"), "mariadb-server"),
    "pgbouncer": (_found("pgbouncer", "/usr/sbin/pgbouncer"), "pgbouncer"),
    "Firebird 3": (Path("/usr/sbin/firebird").exists, "firebird3.0-server"),
    "a JDK": (_found("javac"), "openjdk-17-jdk-headless"),
    "Maven": (_found("mvn"), "maven"),
    "QEMU": (_found("qemu-system-x86_64"), "qemu-system-x86"),
    "busybox": (_found("busybox"), "busybox-static"),
    "mke2fs": (_found("mke2fs", "/usr/sbin/mke2fs"), "e2fsprogs"),
    "perf": (_found("perf"), "linux-perf"),
    "sysbench": (_found("sysbench"), "sysbench"),
    "openssl": (_found("openssl"), "openssl"),
    "Chromium": (_found("chromium", "chromium-browser", "google-chrome"), "chromium"),
    "vmstat": (_found("vmstat"), "procps"),
}
GUESTS = ("QEMU", "busybox", "mke2fs")
JDBC = ("a JDK", "Maven")

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def needs(*programs: str) -> None:
    """Skips the test that calls it where one of the programs is missing."""
    for program in programs:
        there, package = PROGRAMS[program]
        if there():
            continue
        missing = f"needs {program}: apt-get install {package}"
        if os.environ.get("STEELYARD_TEST_ALL"):
            pytest.fail(missing)
        pytest.skip(missing)
