"""Brings a fleet up: a dask scheduler on this machine, and a worker on each host, as long as it is wanted."""

import asyncio
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask.config
from distributed import Scheduler

from steelyard.errors import InputError
from steelyard.fleet.connection import make_certificate, security, texts
from steelyard.lab.engines.result import Say
from steelyard.quantities import count
from steelyard.study.fleet import SCHEDULER_FILE, Fleet, FleetHost

# of silence: the workers of many hosts come one after another
_START_S = 60.0
# workers on their way: each is a process here, and one there that reads its programs
AT_ONCE = 32
_END_S = 10.0
_LEAVE_S = 30.0
_LOOK_S = 0.2

_Process = subprocess.Popen[bytes]
_Workers = dict[str, _Process]  # by host
SETTINGS: Mapping[str, Any] = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.worker-ttl": "20s",
    # the HTTP servers of dask cannot be left out: they serve nothing, to this machine alone
    "distributed.scheduler.http.routes": [],
    "distributed.admin.low-level-log-length": 1000,
}


def up(fleet: Fleet, folder: Path, say: Say) -> None:
    """Starts scheduler and workers, and ends them on SIGINT, SIGTERM or SIGHUP. Raises InputError.

    say: is called with each step. Returns when a host is lost, with its cause as the last step.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if fleet.tls:
        make_certificate(folder)
    # distributed would leave a folder of its own where its temporary files lie
    with (
        TemporaryDirectory(prefix=f"steelyard-fleet-{os.getpid()}-") as scratch,
        dask.config.set({**SETTINGS, "temporary-directory": scratch}),
    ):
        asyncio.run(_up(fleet, folder, say))


async def _up(fleet: Fleet, folder: Path, say: Say) -> None:
    file, stop, certificate = folder / SCHEDULER_FILE, asyncio.Event(), texts(folder, fleet.tls)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with suppress(ValueError, RuntimeError):
            loop.add_signal_handler(number, stop.set)
    scheduler = Scheduler(
        host=own_address(fleet),
        protocol="tls://" if fleet.tls else "tcp://",
        port=0,
        security=security(certificate),
        dashboard=False,
        dashboard_address="127.0.0.1:0",
        scheduler_file=str(file),
    )
    async with scheduler:
        say(f"scheduler: {scheduler.address}")
        with _ended_at_last() as workers:
            await _all_there(scheduler, fleet, certificate, workers, stop)
            if not stop.is_set():
                say(f"{count(len(workers), 'host is', 'hosts are')} up: {', '.join(workers)}")
            while not stop.is_set():
                if lost := _ended(workers):
                    say(lost[1])
                    # a study that runs must learn of this host before it loses the others
                    with suppress(TimeoutError):
                        await asyncio.wait_for(_no_clients(scheduler, stop), _LEAVE_S)
                    break
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), _LOOK_S)
    file.unlink(missing_ok=True)


async def _all_there(
    scheduler: Scheduler,
    fleet: Fleet,
    certificate: Mapping[str, str],
    workers: _Workers,
    stop: asyncio.Event,
) -> None:
    """Starts a worker on each host, and waits for all. Raises InputError."""
    there, since_s = 0, time.monotonic()
    while there < len(fleet.with_role("load")) and not stop.is_set():
        for name in fleet.with_role("load")[len(workers) : there + AT_ONCE]:
            workers[name] = _worker(name, fleet.hosts[name], scheduler.address, certificate)
        if lost := _ended(workers):
            name, cause = lost
            by_hand = shlex.join(reaching(fleet.hosts[name], "-P", "-m", "steelyard.cli", "--version"))
            raise InputError(cause, f"this must work without a question: {by_hand}")
        await asyncio.sleep(_LOOK_S)
        if len(scheduler.workers) > there:
            there, since_s = len(scheduler.workers), time.monotonic()
        elif time.monotonic() - since_s > _START_S:
            found = {str(worker.name) for worker in scheduler.workers.values()}
            late = ", ".join(name for name in workers if name not in found)
            raise InputError(f"no worker within {_START_S:g} s from: {late}")


async def _no_clients(scheduler: Scheduler, stop: asyncio.Event) -> None:
    while scheduler.client_comms and not stop.is_set():
        await asyncio.sleep(_LOOK_S)


def _ended(workers: Mapping[str, _Process]) -> tuple[str, str] | None:
    """The host of a worker that has ended, and with what words; None while all run."""
    for name, process in workers.items():
        if (code := process.poll()) is not None:
            assert process.stderr is not None
            tail = process.stderr.read().decode(errors="replace").strip().splitlines()[-3:]
            return name, f"host {name}: its worker ended with exit code {code}: {' '.join(tail)}"
    return None


@contextmanager
def _ended_at_last() -> Generator[_Workers]:
    """For workers by host: at the end of the context they end."""
    started: _Workers = {}
    try:
        yield started
    finally:
        for process in started.values():
            assert process.stdin is not None
            # the end of its input ends a worker, through ssh too
            with suppress(BrokenPipeError):
                process.stdin.close()
        for process in started.values():
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stderr is not None
            process.stderr.close()


def _worker(name: str, host: FleetHost, scheduler: str, certificate: Mapping[str, str]) -> _Process:
    try:
        process = subprocess.Popen(
            reaching(host, "-P", "-m", "steelyard.fleet.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        raise InputError(f"host {name}: {error.filename}: {error.strerror}") from None
    setup = {"scheduler": scheduler, "name": name, "address": host.address, "certificate": dict(certificate)}
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(setup).encode() + b"\n")
        process.stdin.flush()
    return process


def reaching(host: FleetHost, *arguments: str) -> list[str]:
    """The command that runs Python on the host with these arguments."""
    if "lab" in host.roles:
        return [sys.executable, *arguments]
    if host.reach is not None:
        return [*host.reach, host.python, *arguments]
    return ["ssh", "-o", "BatchMode=yes", host.address, shlex.join([host.python, *arguments])]


def own_address(fleet: Fleet) -> str:
    """The address by which hosts reach this machine: of the role lab, else of the route to the first host."""
    if labs := fleet.with_role("lab"):
        return fleet.hosts[labs[0]].address
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
        # sends nothing: a datagram socket only looks the route up
        route.connect((fleet.hosts[fleet.with_role("load")[0]].address, 9))
        return str(route.getsockname()[0])
