"""The files for Kubernetes and Slurm that the docs ship."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from steelyard.study.load_study import fleet_of

SHIPPED = Path(__file__).parents[3] / "docs" / "howto" / "many-machines"


def objects() -> dict[str, Any]:
    documents = yaml.safe_load_all((SHIPPED / "kubernetes.yaml").read_text())
    return {f"{one['kind']} {one['metadata']['name']}": one for one in documents}


def test_the_hosts_of_kubernetes_are_the_pods_of_its_job(tmp_path: Path) -> None:
    found = objects()
    (tmp_path / "hosts.toml").write_text(found["ConfigMap steelyard-hosts"]["data"]["hosts.toml"])
    fleet = fleet_of(tmp_path / "hosts.toml")
    job = found["Job steelyard-host"]["spec"]
    assert job["completionMode"] == "Indexed" and job["completions"] == job["parallelism"]
    loads = [f"host-{number}" for number in range(job["completions"])]
    assert fleet.with_role("load") == loads and fleet.with_role("lab") == ["lab"]
    service = found["Service steelyard"]["metadata"]["name"]
    for name in loads:
        pod = f"steelyard-{name}.{service}"
        assert fleet.hosts[name].address == pod
    for job in (found["Job steelyard-host"], found["Job steelyard-lab"]):
        pod = job["spec"]["template"]
        assert pod["metadata"]["labels"].items() >= found["Service steelyard"]["spec"]["selector"].items()
        assert pod["spec"]["subdomain"] == service and pod["spec"]["restartPolicy"] == "Never"
        volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
        containers = [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]
        assert {mount["name"] for one in containers for mount in one["volumeMounts"]} == volumes


def test_the_containers_of_kubernetes_run_valid_shell_with_known_options() -> None:
    known = {
        name: subprocess.check_output(
            [sys.executable, "-m", f"distributed.cli.dask_{name}", "--help"], text=True
        )
        for name in ("scheduler", "worker")
    }
    for name in ("Job steelyard-host", "Job steelyard-lab"):
        pod = objects()[name]["spec"]["template"]["spec"]
        for container in [*pod.get("initContainers", ()), *pod["containers"]]:
            (script,) = container["args"]
            subprocess.run(["sh", "-n", "-c", script], check=True)
            if "dask" in script:
                options = re.findall(r"--[a-z-]+", script)
                assert [one for one in options if one not in known[container["name"]]] == []


def test_the_container_file_has_known_instructions() -> None:
    text = (SHIPPED / "Containerfile").read_text().replace("\\\n", " ")
    words = [line.split()[0] for line in text.splitlines() if line and not line.startswith("#")]
    assert words[0] == "FROM" and set(words) <= {
        "FROM",
        "COPY",
        "RUN",
        "USER",
        "WORKDIR",
        "ENTRYPOINT",
        "CMD",
    }


@pytest.mark.needs("openssl")
def test_slurm_writes_the_hosts_and_names_each_worker_as_its_node(tmp_path: Path) -> None:
    """Its programs are stand-ins that note how they are called: there is no Slurm here."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    stand_ins = {
        "scontrol": "printf '%s\\n' n1 n2 n3 n4 n5",
        "dask": 'while [ $# -gt 0 ]; do if [ "$1" = --scheduler-file ]; then echo {} > "$2"; fi; shift; done',
        "srun": 'printf "%s\\n" "$@" > "$CALLS/srun"',
        # a check finds no workers until srun has started them
        "steelyard": 'printf "%s\\n" "$@" >> "$CALLS/steelyard"; [ "$1" = run ] || [ -s "$CALLS/srun" ]',
    }
    for name, text in stand_ins.items():
        (bin_folder / name).write_text(f"#!/bin/bash\n{text}\n")
        (bin_folder / name).chmod(0o755)
    environment = {
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "CALLS": str(tmp_path),
        "SLURM_SUBMIT_DIR": str(tmp_path),
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "n[1-5]",
        "SLURM_CPUS_ON_NODE": "8",
    }
    subprocess.run(["bash", SHIPPED / "slurm.sh", "statements"], check=True, env=environment, timeout=60)
    hosts = tmp_path / "steelyard-7" / "hosts.toml"
    fleet = fleet_of(hosts)
    assert fleet.with_role("lab") == ["n1"]
    assert fleet.with_role("load") == ["n2", "n3", "n4", "n5"]
    assert Path(fleet.folder) == tmp_path / "steelyard-7" / "fleet"
    call = (tmp_path / "srun").read_text().splitlines()
    assert "--nodes=4" in call and "--relative=1" in call
    assert (tmp_path / "steelyard").read_text().splitlines()[-5:] == [
        "statements", "--fleet", str(hosts), "--bundle", str(tmp_path / "steelyard-7" / "bundle")
    ]  # fmt: skip
