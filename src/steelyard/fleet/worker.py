"""The main of a host's worker: one thread, no child of its own, until its standard input ends.

The first line of standard input is its setup: scheduler, name, address, and the fleet's certificate and key,
which no file of the host keeps.
"""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from tempfile import TemporaryDirectory
from typing import Any

import dask.config
from distributed import Worker

from steelyard.fleet.connection import security

_END_S = 5.0
# a worker that waits for a load engine must not wake the host's CPUs 40 times a second for figures of its own
SETTINGS: Mapping[str, Any] = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.profile.enabled": False,
    "distributed.worker.http.routes": [],
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.gil.enabled": False,
}


def main() -> None:
    """Runs the worker that standard input describes."""
    setup = json.loads(sys.stdin.buffer.readline())
    # distributed would leave a folder of its own among the host's temporary files
    with (
        TemporaryDirectory(prefix=f"steelyard-worker-{os.getpid()}-") as scratch,
        dask.config.set({**SETTINGS, "temporary-directory": scratch}),
    ):
        asyncio.run(_work(setup))
    # a task of a lost lab may still hold a thread: its engine ends with this process
    os._exit(0)


async def _work(setup: dict[str, Any]) -> None:
    worker = Worker(
        setup["scheduler"],
        name=setup["name"],
        host=setup["address"],
        nthreads=1,
        security=security(setup["certificate"]),
        dashboard=False,
        dashboard_address="127.0.0.1:0",
        death_timeout=60,
    )
    input_over = asyncio.Event()
    asyncio.get_running_loop().add_reader(0, lambda: input_over.set() if not os.read(0, 1) else None)
    async with worker:
        ended = asyncio.create_task(worker.finished())
        stopped = asyncio.create_task(input_over.wait())
        await asyncio.wait({ended, stopped}, return_when=asyncio.FIRST_COMPLETED)
        await worker.close(timeout=_END_S, executor_wait=False)


if __name__ == "__main__":
    main()
