"""The lab's part within a guest: starts the server, loads it, samples it, writes the result to a disk.

It runs as root on a read-only image with a tmpfs for writing, and ends with the guest.
"""

import io
import json
import os
import shutil
import subprocess
import tarfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.host.guests.kernels import FACT, SCRATCH
from steelyard.host.guests.qemu import Guest, GuestFailed, boot, reported_facts
from steelyard.lab.engines.process import LoadProcess
from steelyard.lab.engines.result import EngineResult, Json, LoadFailed, Say, joined, noticed, samples_of
from steelyard.lab.observe.monitoring import Monitoring
from steelyard.lab.observe.probes import Probing
from steelyard.monitors import Target, made

_RESULT = "result.json"
_SECTOR_BYTES = 512


def run(plan_json: str, say: Say) -> str:
    """Runs one guest; returns the result of the load engine within it, as JSON. Raises LoadFailed.

    plan: that of the load engine, and under `guest` the machine to boot (a `Guest`; its disks: image, plan,
    results), console (file), limit_s, expected (facts that the guest must report), server (command, data: its
    folder, template: the folder to copy there, ready and crashed: texts of its log) and probes (keys of a
    study's [probes]).
    No event is sent before the end: reporting during the measurement would disturb it.
    """
    load: dict[str, Any] = json.loads(plan_json)
    plan: dict[str, Any] = load.pop("guest")
    guest = Guest(**plan["machine"])
    _, plans, results = map(Path, guest.disks)
    # some kernels lack or forbid io_uring: the engine must use the same I/O under all
    load["io"] = "epoll"
    text = json.dumps({"server": plan["server"], "load": load, "probes": plan["probes"]}).encode()
    plans.write_bytes(text + b"\0" * (_SECTOR_BYTES - len(text) % _SECTOR_BYTES))
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
    try:
        with tarfile.open(results) as archive:
            member = archive.extractfile(_RESULT)
            assert member is not None
            return member.read().decode()
    except (tarfile.TarError, KeyError):
        raise LoadFailed("the guest powered off without a result") from None


_PLAN, _RESULTS = Path("/dev/vdb"), Path("/dev/vdc")
_LOG = Path(SCRATCH) / "server.log"
_USER = 1000
_START_S = 120.0
_TAIL = 500


def main() -> None:
    """Reads the plan from its disk; writes a tar with the result to another."""
    os.environ |= {"PYTHONPATH": str(Path(__file__).parents[2]), "TMPDIR": SCRATCH}
    try:
        plan = json.loads(_PLAN.read_bytes().rstrip(b"\0"))
        server = _serve(plan["server"])
        _await_ready(server, plan["server"]["ready"])
        result = _load(server.pid, plan["load"], plan["probes"])
        log = _LOG.read_text(errors="replace")
        if server.poll() is not None or any(sign in log for sign in plan["server"]["crashed"]):
            raise LoadFailed(f"the server crashed under load: {log[-_TAIL:]}")
        _leave(result)
    except Exception as error:
        # any error must reach the lab outside
        print(f"{FACT} failed {' '.join(str(error).split()) or type(error).__name__}", flush=True)


def _leave(result: EngineResult) -> None:
    text = result.to_json().encode()
    with _RESULTS.open("wb") as disk:
        with tarfile.open(fileobj=disk, mode="w") as archive:
            entry = tarfile.TarInfo(_RESULT)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
        disk.flush()
        os.fsync(disk.fileno())


def _serve(plan: Json) -> subprocess.Popen[bytes]:
    data = Path(plan["data"])
    shutil.copytree(plan["template"], data, symlinks=True)
    for path in (data, *data.rglob("*")):
        os.chown(path, _USER, _USER, follow_symlinks=False)
    data.chmod(0o700)
    with _LOG.open("wb") as log:
        return subprocess.Popen[bytes](
            plan["command"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            user=_USER,
            group=_USER,
            extra_groups=[],
        )


def _await_ready(server: subprocess.Popen[bytes], ready: str) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and server.poll() is None:
        if ready in _LOG.read_text(errors="replace"):
            return
        time.sleep(0.05)
    raise LoadFailed(f"the server did not start: {_LOG.read_text(errors='replace')[-_TAIL:]}")


def _load(server: int, plan: Json, probes: Json) -> EngineResult:
    cpus = frozenset(os.sched_getaffinity(0))
    engine = LoadProcess("load", plan, cpus)
    target = Target(pids={"server": server, "engine": engine.pid, "monitors": os.getpid()})
    monitoring = Monitoring(made({"processes": 1.0}), target, 0)
    probing = Probing(probes, target, cpus)
    monitoring.start(cpus)

    def on_event(event: Json) -> None:
        if event["event"] == "phase":
            probing.phase(event)
            monitoring.mark()

    try:
        result = engine.result(on_event)
    finally:
        engine.stop()
        monitoring.stop()
        probing.stop()
    tables = noticed(result.tables, (*monitoring.notices, *probing.notices()))
    own = (monitoring.columns(), samples_of(probing.samples(0)))
    samples = joined("samples", tables["samples"], *own)
    return replace(result, engine="guest", tables={**tables, **probing.tables(), "samples": samples})
