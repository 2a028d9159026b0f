"""Which kernel this machine has booted, with which command line, and whether an option wants another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.lab.environment.machine import kernel_facts, mitigation_facts, read_text
from steelyard.study.errors import InputError
from steelyard.study.host_settings import KERNEL, boot_of
from steelyard.study.key_types import Setting
from steelyard.study.plan import Option

_PROC, _SYS = Path("/proc"), Path("/sys")


class BootNeeded(Exception):
    """The machine must boot before the study goes on. wanted: settings that take a boot; why: unmet."""

    def __init__(self, wanted: Mapping[str, Setting], why: str) -> None:
        super().__init__(why)
        self.wanted = wanted


@dataclass(frozen=True)
class Boot:
    """What is running. words: of the kernel's command line; boot_id: the kernel's own, one a boot."""

    release: str
    words: frozenset[str]
    boot_id: str

    @classmethod
    def now(cls, proc: Path = _PROC) -> Boot:
        """As the kernel tells it."""
        return cls(
            release=read_text(proc / "sys/kernel/osrelease"),
            words=frozenset(read_text(proc / "cmdline").split()),
            boot_id=read_text(proc / "sys/kernel/random/boot_id"),
        )

    def unmet(self, wanted: Mapping[str, Setting]) -> str:
        """`kernel = 6.12: it is 6.1.0-56-amd64` for the first setting that does not hold; '' for none."""
        for key, value in wanted.items():
            name = key.removeprefix("cmdline.")
            if key == KERNEL:
                rest = self.release.removeprefix(str(value))
                if rest == self.release or rest[:1].isdigit():
                    return f"kernel = {value}: it is {self.release}"
            elif value is False:
                if found := [word for word in self.words if word.partition("=")[0] == name]:
                    return f"{key} = false: the command line has {found[0]}"
            elif (word := name if value is True else f"{name}={value}") not in self.words:
                return f"{key}: the command line has no {word}"
        return ""

    def check(self, option: Option) -> None:
        """Raises BootNeeded where the option wants another."""
        wanted = dict(boot_of(option.host))
        if why := self.unmet(wanted):
            raise BootNeeded(wanted, f"option {option.label} needs {why}")


def boot_facts(options: Sequence[Option], known: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The boot that we are in, for the bundle; {} where no option asks for it.

    known: those of earlier boots. Raises InputError when the same boot settings now give another
    kernel, or another clock than theirs: runs could not be compared.
    """
    boot = Boot.now()
    boots = {boot_of(option.host) for option in options} - {()}
    met = next((wanted for wanted in sorted(boots, key=str) if not boot.unmet(dict(wanted))), None)
    if met is None:
        return {}
    kernel = kernel_facts(_PROC, _SYS)
    facts = {
        "boot_id": boot.boot_id,
        "settings": dict(met),
        "kernel": kernel,
        "mitigations": mitigation_facts(_SYS),
    }
    for other in known:
        clock, release = other["kernel"]["clock_source"], other["kernel"]["release"]
        if clock != kernel["clock_source"]:
            raise InputError(
                f"under {kernel['release']} the clock is {kernel['clock_source']}, and was {clock} under"
                f" {release}: times of the two cannot be compared",
                "have every kernel take the same: clocksource=tsc on its command line",
            )
        if other["settings"] == facts["settings"] and release != kernel["release"]:
            raise InputError(
                f"the kernel of {_told(met)} was {release} in this study, and is {kernel['release']} now",
                "boot the one that it was, or start the study anew",
            )
    return facts


def _told(settings: Sequence[tuple[str, Setting]]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in settings)
