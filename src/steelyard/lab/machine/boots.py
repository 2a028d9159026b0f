"""The booted kernel and its command line, and whether an option requires another boot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from steelyard.errors import InputError
from steelyard.lab.environment.environment import PROC, Facts, kernel_facts, mitigation_facts, read_text
from steelyard.study.host_settings import KERNEL, boot_of
from steelyard.study.key_types import Setting, Settings
from steelyard.study.study import Option, Options


class BootNeeded(Exception):
    """The study can only continue after a boot. requested: the boot settings; why: the unmet setting."""

    def __init__(self, requested: Settings, why: str) -> None:
        super().__init__(why)
        self.requested = requested


@dataclass(frozen=True)
class Boot:
    """The current boot. arguments: of the kernel's command line; boot_id: the kernel's id of this boot."""

    release: str
    arguments: frozenset[str]
    boot_id: str

    @classmethod
    def now(cls) -> Self:
        """The boot as the kernel reports it."""
        return cls(
            release=read_text(PROC / "sys/kernel/osrelease"),
            arguments=frozenset(read_text(PROC / "cmdline").split()),
            boot_id=read_text(PROC / "sys/kernel/random/boot_id"),
        )

    def unmet(self, requested: Settings) -> str:
        """`kernel = 6.12: it is 6.1.0-56-amd64` for the first setting that does not hold; '' for none."""
        for key, value in requested.items():
            name = key.removeprefix("cmdline.")
            if key == KERNEL:
                rest = self.release.removeprefix(str(value))
                if rest == self.release or rest[:1].isdigit():
                    return f"kernel = {value}: it is {self.release}"
            elif value is False:
                if found := [each for each in self.arguments if each.partition("=")[0] == name]:
                    return f"{key} = false: the command line has {found[0]}"
            elif (argument := name if value is True else f"{name}={value}") not in self.arguments:
                return f"{key}: the command line has no {argument}"
        return ""

    def check(self, option: Option) -> None:
        """Raises BootNeeded where the option requires another boot."""
        requested = dict(boot_of(option.host))
        if why := self.unmet(requested):
            raise BootNeeded(requested, f"option {option.label} needs {why}")


def boot_facts(options: Options, known: Sequence[Mapping[str, Any]]) -> Facts:
    """Facts of the current boot, for the bundle; {} where no option requires it.

    known: facts of earlier boots. Raises InputError when the same boot settings now give another
    kernel, or another clock source: such runs cannot be compared.
    """
    boot = Boot.now()
    boots = {boot_of(option.host) for option in options} - {()}
    met = next((requested for requested in sorted(boots, key=str) if not boot.unmet(dict(requested))), None)
    if met is None:
        return {}
    kernel = kernel_facts()
    facts = {
        "boot_id": boot.boot_id,
        "settings": dict(met),
        "kernel": kernel,
        "mitigations": mitigation_facts(),
    }
    for other in known:
        clock, release = other["kernel"]["clock_source"], other["kernel"]["release"]
        if clock != kernel["clock_source"]:
            raise InputError(
                f"the clock source is {kernel['clock_source']} under {kernel['release']}, but was {clock}"
                f" under {release}: their times cannot be compared",
                "use the same clock source with every kernel: clocksource=tsc on its command line",
            )
        if other["settings"] == facts["settings"] and release != kernel["release"]:
            raise InputError(
                f"the kernel of {_listed(met)} was {release} in this study, and is {kernel['release']} now",
                "boot the former kernel, or start a new study",
            )
    return facts


def _listed(settings: Sequence[tuple[str, Setting]]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in settings)
