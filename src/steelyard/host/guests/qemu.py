"""Boots a guest in QEMU: with KVM where a trial boot succeeds, else emulated in virtual time.

Emulated, the guest's clock counts instructions (`-icount`), one every 2 ns, and nothing else: no caches, no
TLB, no contention (QEMU: docs/devel/tcg-icount.rst). Wall-clock times would describe the host.
"""

import os
import selectors
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from steelyard.errors import InputError
from steelyard.host.guests.kernels import FACT, PROBE
from steelyard.host.processes.process_mark import with_mark

Acceleration = Literal["kvm", "tcg"]

_PROGRAMS = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "mke2fs": "e2fsprogs"}
_PANIC = "Kernel panic"
# a panic ends the guest at once; every kernel takes the same clock (two vCPUs chose differently)
_ALWAYS = ("console=ttyS0", "loglevel=4", "panic=-1", "tsc=reliable", "clocksource=tsc")
# a KVM that does not work may hang for ever; emulation on a busy machine is slow
_TRIAL_S: Mapping[Acceleration, float] = {"kvm": 30.0, "tcg": 600.0}
_LAST_LINES = 5


class GuestFailed(Exception):
    """The guest panicked, hung or did not start: the text gives the cause and the end of its console."""


@dataclass(frozen=True)
class Guest:
    """A machine to boot. arguments: of the kernel; disks: raw images, read-only but the last."""

    kernel: str
    initramfs: str
    arguments: Sequence[str] = ()
    disks: Sequence[str] = ()
    acceleration: Acceleration = "tcg"
    cpus: int = 1
    memory_mib: int = 1024
    mark: str = field(default="", repr=False)

    def command(self) -> list[str]:
        """The command line of QEMU."""
        arguments = " ".join((*_ALWAYS, *self.arguments))
        return [
            program("qemu-system-x86_64"), "-nodefaults", "-no-user-config", "-no-reboot",
            "-display", "none", "-m", str(self.memory_mib), "-smp", str(self.cpus),
            *(
                ("-accel", "kvm", "-cpu", "host")
                if self.acceleration == "kvm"
                else ("-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off", "-cpu", "max")
            ),
            "-rtc", "base=utc,clock=vm",
            "-kernel", self.kernel, "-initrd", self.initramfs, "-append", arguments,
            "-serial", "stdio",
            *(word for number, disk in enumerate(self.disks) for word in self._disk(number, disk)),
        ]  # fmt: skip

    def _disk(self, number: int, disk: str) -> tuple[str, ...]:
        read_only = "off" if number == len(self.disks) - 1 else "on"
        # a comma in a path is doubled: QEMU parts options by it
        path = disk.replace(",", ",,")
        drive = f"file={path},format=raw,if=none,id=disk{number},readonly={read_only},cache=unsafe"
        return ("-drive", drive, "-device", f"virtio-blk-pci,drive=disk{number}")


def check_programs() -> None:
    """Raises InputError, with the packages to install, when a program for guests is missing."""
    missing = [package for name, package in _PROGRAMS.items() if not _found(name) or _needs_libraries(name)]
    if missing:
        raise InputError(
            f"virtual machines need {' and '.join(missing)}",
            f"apt-get install --no-install-recommends {' '.join(missing)}",
            ("subject", "kind"),
        )


def _needs_libraries(name: str) -> bool:
    """Whether the program is a busybox that needs shared libraries: an ELF file that names a loader."""
    with Path(program(name)).open("rb") as file:
        return name == "busybox" and b"/ld-linux" in file.read(4096)


def program(name: str) -> str:
    """The full path of a program that `check_programs` has found."""
    return _found(name) or name


def _found(name: str) -> str | None:
    # on Debian mke2fs is on root's PATH only
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


def boot(guest: Guest, console: Path, limit_s: float) -> None:
    """Boots and waits until the guest has turned itself off. console: for its output. Raises GuestFailed."""
    with (
        console.open("wb") as log,
        subprocess.Popen(
            guest.command(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=with_mark(guest.mark) if guest.mark else None,
        ) as qemu,
        selectors.DefaultSelector() as ready,
    ):
        assert qemu.stdout is not None
        ready.register(qemu.stdout, selectors.EVENT_READ)
        deadline = time.monotonic() + limit_s
        try:
            while True:
                if ready.select(0.2):
                    text = os.read(qemu.stdout.fileno(), 1 << 16)
                    if not text:
                        break
                    log.write(text)
                    log.flush()
                if time.monotonic() > deadline:
                    raise GuestFailed(f"the guest hung: not finished after {limit_s:g} s; {_last(console)}")
        except BaseException:
            qemu.kill()
            raise
    if panic := next((line for line in lines(console) if _PANIC in line), ""):
        raise GuestFailed(f"the guest panicked: {panic[panic.index(_PANIC) :]}")
    if qemu.returncode:
        raise GuestFailed(f"qemu ended with exit code {qemu.returncode}; {_last(console)}")


def reported_facts(console: Path) -> dict[str, str]:
    """Facts that the guest reported on its console while it started, by name."""
    rows = (line.split(maxsplit=2) for line in lines(console) if line.startswith(FACT))
    return {row[1]: row[2] for row in rows if len(row) > 2}


def lines(console: Path) -> list[str]:
    """The lines of a console."""
    return console.read_text(errors="replace").replace("\r", "").splitlines()


def trial(guest: Guest, console: Path) -> Mapping[str, str]:
    """Boots a guest for its facts alone, and returns them. Raises GuestFailed."""
    alone = replace(guest, arguments=(*guest.arguments, PROBE), disks=())
    boot(alone, console, _TRIAL_S[guest.acceleration])
    facts = reported_facts(console)
    if "release" not in facts:
        raise GuestFailed(f"the guest reported no facts; {_last(console)}")
    return facts


def _last(console: Path) -> str:
    output = [line for line in lines(console) if line.strip()][-_LAST_LINES:]
    return "end of its console: " + " | ".join(output) if output else "its console is empty"
