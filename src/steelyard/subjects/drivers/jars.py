"""The jars of a driver: a file of the user's, or Maven coordinates, fetched once with what they depend on."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from zipfile import is_zipfile

from steelyard.study.errors import InputError, brief
from steelyard.user_cache import cache_folder, closed

# sockets of Unix as Java's own, for PostgreSQL's driver; MariaDB's takes JNA
UNIX_SOCKETS = "com.kohlschutter.junixsocket:junixsocket-core:2.10.1"
NATIVE_ACCESS = "net.java.dev.jna:jna-platform:5.15.0"

# group:artifact:version
_COORDINATES = re.compile(r"[\w.\-]+:[\w.\-]+:[\w.\-]+")
_FETCH_S = 300
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>steelyard</groupId><artifactId>driver</artifactId><version>1</version>
<dependencies>{}</dependencies></project>
"""
_DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>"
)


def located(driver: str, folder: Path) -> str:
    """The driver for a machine that does not have the study: coordinates, or the absolute path of a jar."""
    return driver if _COORDINATES.fullmatch(driver) else str((folder / driver).expanduser().resolve())


def jars(driver: str, folder: Path, more: tuple[str, ...] = ()) -> list[Path]:
    """The jars of a driver and of further Maven coordinates. folder: that of the study.

    Raises InputError for what is no jar or does not exist, and for coordinates that cannot be fetched.
    """
    if _COORDINATES.fullmatch(driver):
        return _fetched((driver, *more))
    jar = (folder / driver).expanduser()
    # a file that is none would be left out by Java, which then knows no driver for the URL
    if not is_zipfile(jar):
        hint = (
            "write the path of a jar as seen from the study's folder, or Maven coordinates such as"
            " org.postgresql:postgresql:42.7.4; of a built-in study make a file beside the jar:"
            " steelyard studies NAME > mine.toml"
        )
        why = f"{jar} is no jar" if jar.exists() else f"there is no file {jar}"
        raise InputError(why, hint, ("workload", "driver"))
    return [jar, *(_fetched(more) if more else ())]


def _fetched(coordinates: tuple[str, ...]) -> list[Path]:
    try:
        place = closed(cache_folder("drivers")) / "+".join(coordinates).replace(":", "_")
    except (OSError, RuntimeError) as error:
        hint = "set XDG_CACHE_HOME to a folder that only you can write to"
        raise InputError(f"jars cannot be kept: {error}", hint, ("workload", "driver")) from None
    if not place.exists():
        maven = shutil.which("mvn")
        if maven is None:
            hint = "install Maven (Debian: maven), or give the path of the driver's jar"
            raise InputError("Maven coordinates need Maven", hint, ("workload", "driver"))
        with tempfile.TemporaryDirectory(dir=place.parent) as draft:
            _fetch(maven, coordinates, Path(draft))
            (Path(draft) / "jars").rename(place)
    return sorted(place.glob("*.jar"))


def _fetch(maven: str, coordinates: tuple[str, ...], draft: Path) -> None:
    pom = draft / "pom.xml"
    pom.write_text(_POM.format("".join(map(_dependency, coordinates))))
    done = subprocess.run(
        [maven, "-q", "-B", "-f", pom, "dependency:copy-dependencies",
         f"-DoutputDirectory={draft / 'jars'}", "-DincludeScope=runtime"],
        capture_output=True, text=True, timeout=_FETCH_S, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        first = next((line for line in done.stdout.splitlines() if "ERROR" in line), done.stderr)
        raise InputError(
            f"Maven cannot fetch {', '.join(coordinates)}: {brief(first.strip(), 300)}",
            "check the coordinates (group:artifact:version) and the network, or give the path of a jar",
            ("workload", "driver"),
        )


def _dependency(coordinates: str) -> str:
    group, artifact, version = coordinates.split(":")
    # its jar is a list of others
    kind = "<type>pom</type>" if coordinates == UNIX_SOCKETS else ""
    return _DEPENDENCY.format(group, artifact, version, kind)
