"""Kernels of this machine as levels, over reboots that are played: the lab really ends between two boots.

A boot is played by a mount namespace in which the kernel's own files say another release, command line
and boot_id; everything else, the lab first of all, is what runs in earnest.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from laboratory import Lab

from steelyard.bundle.reader import Bundle
from steelyard.study.load_study import parse_study
from steelyard.study.plan import blocks, options

STUDY = """\
name = "kernels"
question = "Which kernel?"
[subject]
kind = "null"
[factors.kernel]
scope = "host"
levels = {{ old = "6.1", new = "6.12" }}
{more}
[plan]
clients = [1]
warm_up_s = 0
measure_s = 0.3
cool_down_s = 0
blocks = {blocks}
[monitors]
processes = 5
"""
OLD, NEW = "6.1.0-56-amd64", "6.12.117+deb12-amd64"
_PLAY = """\
mount --bind "$0/osrelease" /proc/sys/kernel/osrelease
mount --bind "$0/cmdline" /proc/cmdline
mount --bind "$0/boot_id" /proc/sys/kernel/random/boot_id
mount --bind "$0/units" /etc/systemd/system
exec "$@"
"""


def can_play() -> bool:
    tried = ["unshare", "--mount", "sh", "-c", "mount --bind /proc/version /proc/cmdline"]
    if os.geteuid() != 0 or not Path("/etc/systemd/system").is_dir():
        return False
    return not subprocess.run(tried, capture_output=True, check=False).returncode


needs_namespaces = pytest.mark.skipif(
    not can_play(), reason="needs root, and mounts in a namespace of its own"
)


class Machine:
    """What the lab sees of the kernel."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "machine"
        (self.folder / "units").mkdir(parents=True)
        self.boots = 0

    def boot(self, release: str, cmdline: str = "quiet") -> None:
        self.boots += 1
        for name, text in (("osrelease", release), ("cmdline", cmdline), ("boot_id", f"boot-{self.boots}")):
            (self.folder / name).write_text(text + "\n")

    @property
    def prefix(self) -> tuple[str, ...]:
        return ("unshare", "--mount", "sh", "-e", "-c", _PLAY, str(self.folder))

    @property
    def units(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "units").rglob("*.service"))


def study(folder: Path, more: str = "", blocks: int = 2) -> Path:
    path = folder / "kernels.toml"
    path.write_text(STUDY.format(more=more, blocks=blocks))
    return path


def schedule(text: str) -> list[list[str]]:
    found = parse_study(text, "a test")
    return [[slot.option.label for slot in block] for block in blocks(found, options(found))]


def runs(bundle: Path) -> list[tuple[int, str, int]]:
    rows = Bundle(bundle).columns("select block, option, attempt from runs order by run")
    return list(zip(rows["block"].tolist(), rows["option"].tolist(), rows["attempt"].tolist(), strict=True))


def machine_of(lab: Lab, folder: Path) -> Machine:
    """The machine, under the old kernel, that all commands of the lab run on."""
    machine = Machine(folder)
    machine.boot(OLD)
    lab.prefix = machine.prefix
    return machine
