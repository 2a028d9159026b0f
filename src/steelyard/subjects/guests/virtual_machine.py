"""PostgreSQL in a virtual machine that is booted for each run: kernels and their command lines as factors.

[host] kernel: "6.12" (its newest cloud package), a package, or the path of a vmlinuz;
cmdline.NAME: arguments of its command line. Emulated, a guest's time counts instructions.
"""

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from steelyard.errors import InputError, nearest
from steelyard.host.guests import qemu
from steelyard.host.guests.kernels import SCRATCH, Kernel, check_kernel, find_kernel, initramfs
from steelyard.host.guests.qemu import Acceleration, Guest
from steelyard.host.processes.process_mark import Mark
from steelyard.study.factors import located_at, settings_given
from steelyard.study.host_settings import KERNEL, boot_arguments, takes_boot
from steelyard.study.key_types import KeyPath, Setting, Settings
from steelyard.study.study import Option, Options, Study
from steelyard.study.workloads.queries import QueriesWorkload
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects import Bench, Kind, Load, Server, Subject, SubjectFailed
from steelyard.subjects.guests.image import DATA, build_image
from steelyard.subjects.postgres.binaries import find_bindir, version_of
from steelyard.subjects.postgres.facts import CRASHED, READY
from steelyard.subjects.postgres.server import DEFAULTS, TEMPLATE, Postgres
from steelyard.subjects.postgres.session import written
from steelyard.subjects.postgres.workload_tables import load_statements

_Facts = dict[str, Mapping[str, str]]  # of guests, by option
_PORT = 5432
_OWN_DATA = f"{SCRATCH}/data"
_MACHINE: Settings = {"vm.acceleration": "auto", "vm.cpus": 1, "vm.memory_mib": 1024, "vm.limit_s": 900}
_ACCELERATIONS = ("auto", "kvm", "tcg")
_RESULT_BYTES = 64 * 1024 * 1024
_TAIL_LINES = 60


def check(study: Study, options: Options) -> None:
    """Checks programs, kernels, and factors for guests. Raises InputError."""
    if platform.machine() != "x86_64":
        raise InputError(f"guests are x86_64 machines; this one is {platform.machine()}")
    qemu.check_programs()
    for key, value in study.subject.settings.items():
        _check_setting(key, value)
    find_bindir(study.subject.bindir)
    for at, key, value in settings_given(study, "host"):
        _check_host(key, value, at)
    for option in options:
        if KERNEL not in option.host:
            raise InputError(
                f"option {option.label} names no kernel", 'kernel = "6.12" under [host], or as a factor'
            )
    if study.monitors:
        raise InputError("a guest has its own monitors, within the guest", "leave them out", ("monitors",))


class VirtualMachine(Subject):
    """Provides the machine that the engine `guest` boots for each run."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._settings = {**_MACHINE, **bench.study.subject.settings}
        self._image = bench.folder / "root.img"
        self._results = bench.folder / "results.img"
        self._console = bench.folder / "console.log"
        self._bindir = Path()
        self._guests: dict[str, Guest] = {}
        self._facts: _Facts = {}
        self._mark = Mark()
        self._promise = 0

    def start(self, option: Option) -> Load:
        """The plan of the option's guest; the first call tries every option's guest."""
        self._mark = Mark()
        self._promise = self._bench.guard.stop_marked(self._mark)
        if not self._guests:
            self._prepare(option)
        guest = self._guests[option.label]
        self._results.unlink(missing_ok=True)
        self._results.touch()
        os.truncate(self._results, _RESULT_BYTES)
        given = {key: value for key, value in self._settings.items() if key not in _MACHINE}
        settings = {
            **DEFAULTS, "jit": False, "timezone": "GMT", "log_timezone": "GMT", **given,
            "port": _PORT, "listen_addresses": "", "unix_socket_directories": SCRATCH,
        }  # fmt: skip
        arguments = ["-D", _OWN_DATA, *(f"--{name}={written(value)}" for name, value in settings.items())]
        facts = self._facts[option.label]
        disks = [str(disk) for disk in (self._image, self._bench.folder / "plan.img", self._results)]
        emulated = guest.acceleration == "tcg"
        return Load(
            engine="guest",
            plan={
                "guest": {
                    "machine": asdict(replace(guest, disks=disks, mark=self._mark.value)),
                    "console": str(self._console),
                    "limit_s": self._settings["vm.limit_s"],
                    "probes": self._bench.study.probes.of_the_kernel,
                    "expected": {name: facts[name] for name in ("release", "clock_source")},
                    "server": {
                        "command": [str(self._bindir / "postgres"), *arguments],
                        "template": DATA,
                        "data": _OWN_DATA,
                        "ready": READY,
                        "crashed": CRASHED,
                    },
                }
            },
            server=Server(host=SCRATCH, port=_PORT, user="postgres", database=TEMPLATE, protocol="postgres"),
            own_clock=True,
            limit_s=float(self._settings["vm.limit_s"]),
            facts={
                "version": f"PostgreSQL {version_of(self._bindir)} on Linux {facts['release']}",
                "clock": "instructions" if emulated else "time",
                "acceleration": guest.acceleration,
                "simulated_cpus": guest.cpus,
                "guest": dict(facts),
                "settings": {**settings, **{k: v for k, v in self._settings.items() if k in _MACHINE}},
                "sources": dict.fromkeys(self._bench.study.subject.settings, "study"),
            },
        )

    def stop(self) -> str:
        """Ends the guest of the run if it still runs; returns the end of its console."""
        if not self._promise:
            return ""
        self._bench.guard.undo(self._promise)
        self._promise = 0
        return "\n".join(qemu.lines(self._console)[-_TAIL_LINES:]) if self._console.exists() else ""

    def _prepare(self, option: Option) -> None:
        found = self._bench.options
        try:
            kernels = {o.label: find_kernel(str(o.host[KERNEL])) for o in found}
        except InputError as error:
            raise SubjectFailed(f"{error} ({error.hint})" if error.hint else str(error)) from None
        guests = {o.label: self._guest(o, kernels[o.label]) for o in found}
        acceleration, self._facts = self._tried(guests)
        clocks = {label: facts["clock_source"] for label, facts in self._facts.items()}
        if len(set(clocks.values())) > 1:
            listed = ", ".join(f"{label}: {clock}" for label, clock in clocks.items())
            raise SubjectFailed(
                f"the guests use different clock sources ({listed}), so their times cannot be compared"
            )
        if not self._image.exists():
            self._bindir, data = Postgres(self._bench).prepare(option)
            build_image(self._image, self._bindir, data)
        self._guests = {label: replace(guest, acceleration=acceleration) for label, guest in guests.items()}

    def _guest(self, option: Option, kernel: Kernel) -> Guest:
        place = self._bench.folder / f"initramfs-{kernel.release}"
        if not place.exists():
            place.write_bytes(initramfs(kernel, Path(qemu.program("busybox"))))
        return Guest(
            kernel=str(kernel.image),
            initramfs=str(place),
            arguments=boot_arguments(option.host),
            cpus=int(self._settings["vm.cpus"]),
            memory_mib=int(self._settings["vm.memory_mib"]),
            mark=self._mark.value,
        )

    def _tried(self, guests: Mapping[str, Guest]) -> tuple[Acceleration, _Facts]:
        """KVM where every guest boots with it, else emulation; and the facts of each guest."""
        requested = self._settings["vm.acceleration"]
        # only a trial boot shows that it works
        offered: dict[Acceleration, bool] = {"kvm": os.access("/dev/kvm", os.R_OK | os.W_OK), "tcg": True}
        failed = "vm.acceleration = kvm, but this user cannot open /dev/kvm"
        for way, offers in offered.items():
            if not offers or requested not in ("auto", way):
                continue
            try:
                return way, {
                    label: qemu.trial(replace(guest, acceleration=way), self._console)
                    for label, guest in guests.items()
                }
            except qemu.GuestFailed as error:
                failed = f"with {way}, {error}"
        raise SubjectFailed(failed)


def _check_setting(key: str, value: Setting) -> None:
    at = ("subject", "settings", key)
    if not key.startswith("vm."):
        return
    if key not in _MACHINE:
        raise InputError(f'no setting "{key}" of a virtual machine{nearest(key, _MACHINE)}', at=at)
    if key == "vm.acceleration":
        if value not in _ACCELERATIONS:
            raise InputError(f'unknown acceleration "{value}"{nearest(str(value), _ACCELERATIONS)}', at=at)
    elif isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{key} = {value}: a whole number above 0", at=at)
    elif key == "vm.cpus" and value > 1:
        # two emulated CPUs in virtual time hang; natively a guest must be the same machine
        raise InputError("a guest has one CPU: emulation in virtual time hangs with more", "leave it out", at)


def _check_host(key: str, value: Setting, at: KeyPath) -> None:
    if not takes_boot(key):
        raise InputError(
            f"{key} cannot be set in a virtual machine",
            'use arguments of the kernel\'s command line: "cmdline.transparent_hugepage",'
            ' "cmdline.sysctl.vm.swappiness", "cmdline.preempt"',
            at,
        )
    if key == KERNEL:
        with located_at(at):
            check_kernel(str(value))


KIND = Kind(
    "a virtual machine",
    make=VirtualMachine,
    check=check,
    takes=(StatementWorkload, QueriesWorkload),
    lacks=dict.fromkeys(("session", "dsn"), "leave it out"),
    scopes={"host": "kernel, cmdline.NAME", "client": "the workload's"},
    monitors=(),
    boots_itself=True,
    # boot, load and end of an emulated guest
    run_s=lambda _study, _options: 60.0,
    load_statements=load_statements,
)
