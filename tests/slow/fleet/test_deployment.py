"""A fleet whose workers the user has started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fleet_hosts import LAB, LOADS, STUDY, Fleet, write_hosts
from namespaces import network, permitted

from steelyard.fleet.connection import make_certificate

SCHEDULER = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
DASK = [sys.executable, "-m", "distributed.cli.dask_worker"]


@pytest.mark.skipif(not permitted(), reason="network namespaces need root")
@pytest.mark.timeout(300)
def test_workers_that_the_user_started_serve_a_study(tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    folder.mkdir(mode=0o700)
    make_certificate(folder)
    certificate, key = str(folder / "certificate.pem"), str(folder / "key.pem")
    tls = ["--protocol", "tls", "--tls-ca-file", certificate, "--tls-cert", certificate, "--tls-key", key]
    file = ["--scheduler-file", str(folder / "scheduler.json"), "--no-dashboard"]
    with network([LAB, *LOADS]) as net:
        write_hosts(net, tmp_path, {})
        # they are killed at the end, and leave their files
        scratch = {**os.environ, "DASK_TEMPORARY_DIRECTORY": str(tmp_path)}
        started = [
            subprocess.Popen(
                [*net.reach(LAB), *SCHEDULER, *file, "--host", net.address(LAB), *tls],
                stderr=subprocess.DEVNULL, env=scratch,
            )
        ]  # fmt: skip
        for name in LOADS:
            own = ["--name", name, "--nthreads", "1", "--no-nanny", "--host", net.address(name)]
            started.append(
                subprocess.Popen(
                    [*net.reach(name), *DASK, *file, *own, *tls], stderr=subprocess.DEVNULL, env=scratch
                )
            )
        made = Fleet(net, tmp_path, started[0])  # type: ignore[arg-type]
        try:
            while not (folder / "scheduler.json").exists():
                assert started[0].poll() is None
            bundle = made.run("own", study=STUDY)
            assert bundle.columns("select count(*) as n from host_load")["n"] == [3]
        finally:
            for process in (*made.started, *started):
                process.kill()
                process.communicate()
