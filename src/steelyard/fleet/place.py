"""The hosts of a study's fleet as the place of its load engines, while a study runs."""

import time
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from steelyard.errors import InputError
from steelyard.fleet.bus import Bus
from steelyard.fleet.connection import Connection
from steelyard.fleet.engine import FleetEngine
from steelyard.lab.engines.process import Place
from steelyard.lab.engines.result import Json
from steelyard.study.fleet import Fleet
from steelyard.version import VERSION

_PART_BYTES = 8 << 20
_PARTS = 4
# an engine needs about so many files beside one for each client
_FILES_BESIDE = 64
_FAR_NS = 1_000_000
# Maven's own limit and a margin
_DRIVER_S = 330.0


def checked(fleet: Fleet, folder: Path) -> Json:
    """What was found: a table per host, and findings. Raises InputError when a host is not there.

    Of each host: version, cpus, files (most open at once), ports (local ones), offset_ms and bound_ms of its
    clock, round_trip_ms and megabytes_per_s between the lab and it.
    """
    with Bus(Connection.of(fleet, folder), fleet.with_role("load")) as bus:
        offsets = bus.offsets()
        hosts: dict[str, Json] = {}
        for name in bus.hosts:
            facts, clock = bus.facts[name], offsets[name]
            low, high = facts["ports"]
            hosts[name] = {
                **{name: facts[name] for name in ("version", "cpus", "files")},
                "ports": high - low + 1,
                "offset_ms": clock.offset_ns / 1e6,
                "bound_ms": clock.bound_ns / 1e6,
                "round_trip_ms": 2 * clock.bound_ns / 1e6,
                "megabytes_per_s": _megabytes_per_s(bus, name),
            }
    return {"version": VERSION, "hosts": hosts, "findings": list(_findings(hosts))}


def refuse_unlike(facts: Mapping[str, Json]) -> None:
    """Raises InputError where a host has another version of steelyard: it would read the plan otherwise."""
    unlike = {name: own["version"] for name, own in facts.items() if own["version"] != VERSION}
    if unlike:
        found = ", ".join(f"{version} on {name}" for name, version in unlike.items())
        raise InputError(
            f"hosts of the fleet have another version than this machine ({VERSION}): {found}",
            f"pip install 'steelyard[fleet]=={VERSION}' on each host",
        )


def refuse_without_drivers(bus: Bus, drivers: Collection[str]) -> None:
    """Raises InputError, which names the host, where one lacks Java, the engine or a JDBC driver.

    Each host fetches Maven coordinates here, before the first run.
    """
    for driver in sorted(drivers):
        lacks = bus.call("driver", {host: {"driver": driver} for host in bus.hosts}, _DRIVER_S)
        for host, refusal in lacks.items():
            if refusal:
                cause, hint = refusal
                raise InputError(f"host {host}: {cause}", f"on {host}: {hint}", ("workload", "driver"))


def text(found: Json) -> str:
    """What was found, as a table and sentences."""
    rows = [("host", "CPUs", "clock", "round trip", "bandwidth", "files", "ports")]
    rows += [
        (
            name,
            str(own["cpus"]),
            f"{own['offset_ms']:+,.3f} ± {own['bound_ms']:.3f} ms",
            f"{own['round_trip_ms']:.3f} ms",
            f"{own['megabytes_per_s']:,.0f} MB/s",
            f"{own['files']:,}",
            f"{own['ports']:,}",
        )
        for name, own in found["hosts"].items()
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([*(line.rstrip() for line in lines), *found["findings"]])


def _findings(hosts: Mapping[str, Json]) -> Iterator[str]:
    """Sentences about what would limit or disturb a study."""
    for name, own in hosts.items():
        if own["version"] != VERSION:
            yield f"{name}: version {own['version']}, and {VERSION} here: install the same"
        files, ports = own["files"] - _FILES_BESIDE, own["ports"]
        limit = "open files: ulimit -n" if files < ports else "local ports"
        yield f"{name}: at most {min(files, ports):,} clients ({limit})"
        if own["bound_ms"] * 1e6 > _FAR_NS:
            yield (
                f"{name}: its start may be off by {own['bound_ms']:.1f} ms: the round trip to it is"
                f" {own['round_trip_ms']:.1f} ms"
            )
    cpus = {own["cpus"] for own in hosts.values()}
    if len(cpus) > 1:
        yield f"load hosts have from {min(cpus)} to {max(cpus)} CPUs: each gets the same share of the load"


def _megabytes_per_s(bus: Bus, host: str) -> float:
    """Of bytes from the lab to the host, by the way of commands: encrypted where they are."""
    part = bytes(_PART_BYTES)
    bus.call("take", {host: {"part": b""}})
    began_s = time.monotonic()
    for _ in range(_PARTS):
        bus.call("take", {host: {"part": part}})
    return _PARTS * _PART_BYTES / 1e6 / (time.monotonic() - began_s)


@contextmanager
def load_hosts(fleet: Fleet, folder: Path, drivers: Collection[str]) -> Generator[Place]:
    """The place, while the context lasts. folder: of the scheduler file; drivers: of JDBC, for each host.

    Raises InputError when the fleet is not up, or a host lacks a driver.
    """
    with Bus(Connection.of(fleet, folder), fleet.with_role("load")) as bus:
        refuse_unlike(bus.facts)
        refuse_without_drivers(bus, drivers)
        yield Place(lambda engine, plan, _: FleetEngine(bus, engine, plan), bus.check)
