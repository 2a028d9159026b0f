"""The engine of virtual machines: boots a guest with the plan on one disk, and reads its result from another.

A guest that panics, hangs, or reports unexpected facts fails the run, with the end of its console.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from steelyard.host.guests.qemu import Guest, GuestFailed, boot, reported_facts
from steelyard.lab.engines.registry import LoadFailed

RESULT = "result.json"
_SECTOR_BYTES = 512


def run(plan_json: str, say: Callable[[str], None]) -> str:
    """Runs one guest; returns the result of the load engine within it, as JSON. Raises LoadFailed.

    plan: that of the load engine, and under `guest` the machine to boot (kernel, initramfs, arguments,
    disks: image, plan, results; acceleration, cpus, memory_mib, mark), console (file), limit_s, expected
    (facts that the guest must report), server (command, data: its folder, template: the folder to copy
    there, ready and crashed: texts of its log) and probes (keys of a study's [probes]).
    No event is sent before the end: reporting during the measurement would disturb it.
    """
    load: dict[str, Any] = json.loads(plan_json)
    plan: dict[str, Any] = load.pop("guest")
    image, plans, results = (Path(disk) for disk in plan["disks"])
    # some kernels lack or forbid io_uring: the engine must use the same I/O under all
    load["io"] = "epoll"
    text = json.dumps({"server": plan["server"], "load": load, "probes": plan["probes"]}).encode()
    plans.write_bytes(text + b"\0" * (_SECTOR_BYTES - len(text) % _SECTOR_BYTES))
    guest = Guest(
        kernel=Path(plan["kernel"]),
        initramfs=Path(plan["initramfs"]),
        arguments=plan["arguments"],
        disks=(image, plans, results),
        acceleration=plan["acceleration"],
        cpus=plan["cpus"],
        memory_mib=plan["memory_mib"],
        mark=plan["mark"],
    )
    console = Path(plan["console"])
    try:
        boot(guest, console, plan["limit_s"])
    except GuestFailed as error:
        raise LoadFailed(str(error)) from None
    facts = reported_facts(console)
    for name, value in plan["expected"].items():
        if facts.get(name) != value:
            raise LoadFailed(f"the guest's {name} is {facts.get(name)}, but was {value} in the trial boot")
    if "failed" in facts:
        raise LoadFailed(f"in the guest, {facts['failed']}")
    return _result(results)


def _result(disk: Path) -> str:
    try:
        with tarfile.open(disk) as archive:
            member = archive.extractfile(RESULT)
            assert member is not None
            return member.read().decode()
    except (tarfile.TarError, KeyError):
        raise LoadFailed("the guest powered off without a result") from None
