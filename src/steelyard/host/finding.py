"""A finding of the doctor."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

State = Literal["ok", "warning", "optional", "missing"]


@dataclass(frozen=True)
class Finding:
    """One item checked.

    state: ok, warning (less accurate results), optional (not available, and most studies do without),
    missing (studies cannot run).

    hint: the remedy, in one line.
    """

    name: str
    state: State
    text: str
    hint: str = "nothing to do"


_BITS = {"DAC_OVERRIDE": 1, "PERFMON": 38, "SYSLOG": 34, "SYS_PTRACE": 19, "SYS_ADMIN": 21, "SYS_NICE": 23}
_UID_MAP = Path("/proc/self/uid_map")
_LOCKDOWN = Path("/sys/kernel/security/lockdown")


def held(capability: str) -> bool:
    """Whether this process has it in effect; capability: as CAP_PERFMON of linux/capability.h."""
    found = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return found is not None and bool(int(found[1], 16) >> _BITS[capability.removeprefix("CAP_")] & 1)


def privileged(capability: str = "CAP_SYS_ADMIN") -> str:
    """Remedy for a missing permission: be root; for root itself what is missing, or who else refuses."""
    if os.geteuid():
        return "run as root"
    if not held(capability):
        return f"run where {capability} is permitted, such as docker run --privileged"
    # of all users of the machine: those of a user namespace are fewer
    if _UID_MAP.exists() and "4294967295" not in _UID_MAP.read_text():
        return "run as root of the machine: this is the root of a user namespace"
    if _LOCKDOWN.exists() and "[none]" not in (text := _LOCKDOWN.read_text().strip()):
        return f"{_LOCKDOWN} is {text}: boot with lockdown=none"
    return f"root has {capability}, and the kernel refuses all the same: run on a machine that permits it"
