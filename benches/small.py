"""A study of seconds, and what it must not leave behind: for tests and for trials at random."""

from __future__ import annotations

from pathlib import Path

SMALL = """\
name = "small"
question = "Which way?"

[subject]
kind = "{subject}"

[workload]
rows = 1000

[factors.handle]
scope = "client"
levels = {{ simple = "none", named = "named" }}

[plan]
clients = [2]
warm_up_s = 0.1
measure_s = {measure_s}
cool_down_s = 0.1
blocks = {blocks}

[monitors]
processes = 5
"""


def small_study(
    folder: Path, subject: str = "null", blocks: int = 2, measure_s: float = 0.3, think_ms: float = 5
) -> Path:
    """A study file that runs in seconds; clients that pause leave the CPUs to others."""
    path = folder / "small.toml"
    text = SMALL.format(subject=subject, blocks=blocks, measure_s=measure_s)
    pause = f"\narrival.think_ms = {think_ms}" if think_ms else ""
    path.write_text(text.replace("rows = 1000", f"rows = 1000{pause}"))
    return path


def shared_memory() -> set[str]:
    """Of PostgreSQL in /dev/shm, and System V segments, what belongs to no living process.

    Other servers of this machine are none of ours.
    """
    mapped = ""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            mapped += (entry / "maps").read_text()
        except OSError:
            continue
    left = {place.name for place in Path("/dev/shm").glob("PostgreSQL.*") if str(place) not in mapped}
    for row in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
        _, segment, _, _, maker, _, attached, *_ = row.split()
        if attached == "0" and not Path(f"/proc/{maker}").exists():
            left.add(f"segment {segment}")
    return left
