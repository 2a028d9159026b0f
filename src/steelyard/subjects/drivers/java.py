"""Java, and the load engine for it, which `make` builds where a JDK and Maven are installed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import steelyard
from steelyard.study.errors import InputError

_INSTALL = "install Java 17 or later and Maven (Debian: openjdk-17-jdk-headless and maven)"


def java() -> Path:
    """The program. Raises InputError where it is not installed."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else None) or shutil.which("java")
    if found is None:
        raise InputError("workload.driver: there is no Java on this machine", _INSTALL)
    return Path(found)


def engine_jar() -> Path:
    """The engine. Raises InputError where it was not built."""
    jar = Path(steelyard.__file__).parent / "_jdbc.jar"
    if not jar.exists():
        raise InputError(
            "workload.driver: the Java load engine was not built", f"{_INSTALL}, then run `make`"
        )
    return jar
