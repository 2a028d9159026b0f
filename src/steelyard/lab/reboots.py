"""Continues a study over reboots: prints what to boot, or reboots, and makes `resume` start afterwards.

The order and state of the runs is in the bundle; this module only gets the machine to the next boot.
"""

import shlex
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from steelyard.lab.engines.result import Json
from steelyard.lab.machine.host_settings import Boot, BootNeeded
from steelyard.lab.runner import StudyFailed
from steelyard.study.host_settings import KERNEL, boot_arguments
from steelyard.study.study import Reboots
from steelyard.study.workloads.program import filled

_STOP = "stop"
_COMMAND_S = 600
_UNITS = Path("/etc/systemd/system")
_UNIT = "steelyard-resume.service"
_WANTS = _UNITS / "multi-user.target.wants" / _UNIT
_TEXT = """\
# created by `steelyard run`, and removed by it when the study ends
[Unit]
Description=Steelyard continues the study in {bundle}
After=multi-user.target

[Service]
Type=oneshot
ExecStart={command}
StandardOutput=append:{bundle}/resume.log
StandardError=append:{bundle}/resume.log

[Install]
WantedBy=multi-user.target
"""


class Paused(Exception):
    """The study continues after a boot. hint: the command to type."""

    def __init__(self, text: str, hint: str) -> None:
        super().__init__(text)
        self.hint = hint


def check_stop(bundle: Path) -> None:
    """Raises StudyFailed when the bundle contains a stop file."""
    if (bundle / _STOP).exists():
        raise StudyFailed(f"{bundle / _STOP} exists: the study continues only after this file is removed")


def next_boot(policy: Reboots, bundle: Path, need: BootNeeded, earlier: Sequence[Json]) -> Json:
    """The record to store in the bundle before the machine is booted.

    earlier: records of earlier boots. Raises StudyFailed when the limit of reboots is reached, or when
    the last reboot did not give the requested kernel.
    """
    now = Boot.now()
    check_stop(bundle)
    if policy.command is not None and earlier:
        last = earlier[-1]
        if last["wanted"] == dict(need.requested) and last["boot_id"] != now.boot_id:
            raise StudyFailed(f"the machine was rebooted, but {need}: it is not rebooted again")
        if len(earlier) >= policy.most:
            raise StudyFailed(f"{need}, but the limit of {len(earlier)} reboots is reached (reboots.most)")
    return {"boot_id": now.boot_id, "wanted": dict(need.requested)}


def pursue(policy: Reboots, bundle: Path, need: BootNeeded) -> Paused:
    """Reboots the machine, if the study has a command for it; a message for the user. Raises StudyFailed."""
    resume = [sys.executable, "-P", "-m", "steelyard.cli", "resume", str(bundle.absolute())]
    if policy.unit:
        _install(bundle.absolute(), resume)
    if policy.command is None:
        after = "the study continues by itself" if policy.unit else f"steelyard resume {bundle}"
        requested = ", ".join(f"{key} = {value}" for key, value in need.requested.items())
        return Paused(f"{need}", f"boot {requested}, then: {after}")
    cmdline = " ".join(boot_arguments(need.requested))
    variables = {"kernel": str(need.requested.get(KERNEL, "")), "cmdline": cmdline}
    command = [filled(word, variables) for word in policy.command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_COMMAND_S)
    except OSError as error:
        raise StudyFailed(f"reboots.command: {command[0]}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise StudyFailed(f"reboots.command did not finish within {_COMMAND_S} s: {command[0]}") from None
    if done.returncode:
        output = (done.stderr or done.stdout).strip()
        raise StudyFailed(f"reboots.command ended with exit code {done.returncode}: {output}")
    after = "the study continues by itself" if policy.unit else f"then: steelyard resume {bundle}"
    return Paused(f"{need}: rebooting ({shlex.join(command)})", f"{after}; touch {bundle / _STOP} stops it")


@contextmanager
def unit_while_paused(policy: Reboots) -> Generator[None]:
    """Removes the unit when the study ends, in any way, but not when it pauses for a boot."""
    paused = False
    try:
        yield
    except Paused:
        paused = True
        raise
    finally:
        if policy.unit and not paused:
            for place in (_WANTS, _UNITS / _UNIT):
                with suppress(OSError):
                    place.unlink()


def _install(bundle: Path, command: Sequence[str]) -> None:
    text = _TEXT.format(bundle=bundle, command=shlex.join(command))
    try:
        (_UNITS / _UNIT).write_text(text)
        # as `systemctl enable` does
        _WANTS.parent.mkdir(exist_ok=True)
        _WANTS.unlink(missing_ok=True)
        _WANTS.symlink_to(_UNITS / _UNIT)
    except OSError as error:
        raise StudyFailed(
            f"reboots.unit: {error.filename}: {error.strerror}; alternatively add this line with crontab -e:"
            f" @reboot {shlex.join(command)}"
        ) from None
