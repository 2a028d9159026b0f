"""Root needs no tracefs mounted beforehand: the lab mounts one that nobody else sees."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from laboratory import Lab, small_study

from steelyard.host.kernel import FOLDERS, new_group, standing, take_away

WITHOUT = "umount -a -t tracefs; "  # in a mount namespace of its own


def possible() -> bool:
    """Whether a mount namespace can be had, and tracefs mounted in it."""
    mounted = ("unshare", "-m", "sh", "-c", f"{WITHOUT}mount -t tracefs nodev {FOLDERS[0]}")
    return (
        os.geteuid() == 0
        and shutil.which("unshare") is not None
        and subprocess.run(mounted, check=False, capture_output=True).returncode == 0
    )


needs_mounts = pytest.mark.skipif(not possible(), reason="only root may mount tracefs, outside a container")


def in_namespace(script: str) -> str:
    told = subprocess.run(["unshare", "-m", "sh", "-c", script], check=True, capture_output=True, text=True)
    return told.stdout


def doctor(before: str) -> dict[str, str]:
    """Texts of findings by name."""
    found = in_namespace(f"{WITHOUT}{before} {sys.executable} -m steelyard.cli doctor --json")
    return {finding["name"]: f"{finding['text']} ({finding['hint']})" for finding in json.loads(found)}


def mounts_of_tracefs() -> list[str]:
    """Lines of /proc/mounts. Those of other kinds come and go with the tests that run beside this one."""
    return [line for line in Path("/proc/mounts").read_text().splitlines() if line.split()[2] == "tracefs"]


@needs_mounts
def test_root_has_tracepoints_where_tracefs_was_not_mounted() -> None:
    mounts = mounts_of_tracefs()
    said = doctor("")
    assert not [name for name, text in said.items() if "tracefs" in text and "cannot" in text]
    assert "not mounted" not in f"{said['tracefs']} {said['probe: locks']} {said['probe: latches']}"
    assert mounts_of_tracefs() == mounts


@needs_mounts
def test_a_run_of_root_has_its_probes_where_tracefs_was_not_mounted(lab: Lab) -> None:
    study = small_study(lab.folder, blocks=1)
    with study.open("a") as file:
        file.write("[probes]\nscheduling_trace_s = 0.3\n")
    run = f"{sys.executable} -m steelyard.cli run {study} --locks --scheduling-trace"
    in_namespace(f"{WITHOUT}{run} --bundle {lab.bundle}")
    found = lab.run("sql", lab.bundle, "select text from notices where code = 'probe-unavailable'", "--json")
    assert not [row for row in json.loads(found.stdout) if "tracefs" in row["text"]]


@needs_mounts
def test_a_dry_run_names_the_probes_that_root_is_refused(lab: Lab) -> None:
    run = f"{sys.executable} -m steelyard.cli run {small_study(lab.folder)} --locks --dry-run"
    said = in_namespace(f"{WITHOUT}setpriv --bounding-set=-sys_admin {run} 2>&1; echo code $?")
    assert "answers  probe locks: tracefs cannot be mounted: unshare" in said
    assert "code 0" in said
    assert "as root" not in said


@needs_mounts
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv gives up capabilities")
def test_root_that_may_not_mount_is_told_why_and_not_to_be_root() -> None:
    said = doctor("setpriv --bounding-set=-sys_admin")
    assert "unshare: Operation not permitted" in said["tracefs"]
    assert "tracefs cannot be mounted: unshare" in said["probe: locks"]
    assert not [name for name, text in said.items() if "as root" in text]


@needs_mounts
def test_what_undoes_probes_needs_no_tracefs_either() -> None:
    group = new_group()
    standing(group)  # mounts it, where it is not
    line = f"p:{group}/entered {shutil.which('sh')}:0x1000"
    subprocess.run(["sh", "-c", f"echo {line} >> {FOLDERS[0]}/uprobe_events"], check=True)
    try:
        assert standing(group)
        body = f"from steelyard.host.kernel import take_away; take_away({group!r})"
        in_namespace(f'{WITHOUT}{sys.executable} -c "{body}"')
        assert not standing(group)
    finally:
        take_away(group)
