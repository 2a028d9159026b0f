"""Goes on over reboots: says what to boot, or has it booted, and has `resume` started after it.

The order of the runs and what has become of each is in the bundle; here is only how to get there.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from steelyard.lab.machine.boots import Boot, BootNeeded
from steelyard.lab.runner import StudyFailed
from steelyard.study.host_settings import KERNEL, boot_arguments
from steelyard.study.study import Reboots
from steelyard.study.workloads.program import filled

STOP = "stop"
_COMMAND_S = 600
_UNITS = Path("/etc/systemd/system")
_UNIT = "steelyard-resume.service"
_TEXT = """\
# made by `steelyard run`, and removed by it when the study ends
[Unit]
Description=Steelyard goes on with {bundle}
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
    """The study goes on after a boot. hint: what to type."""

    def __init__(self, text: str, hint: str) -> None:
        super().__init__(text)
        self.hint = hint


def check_stop(bundle: Path) -> None:
    """Raises StudyFailed when somebody has put a stop file into the bundle."""
    if (bundle / STOP).exists():
        raise StudyFailed(f"{bundle / STOP} is there: the study does not go on until it is removed")


def next_boot(
    asked: Reboots, bundle: Path, need: BootNeeded, earlier: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """What is to be kept in the bundle before the machine is booted.

    earlier: what was kept before. Raises StudyFailed where another boot would be one too many, or the
    last one, which was ours, came up with something else than asked.
    """
    now = Boot.now()
    check_stop(bundle)
    if asked.command is not None and earlier:
        last = earlier[-1]
        if last["wanted"] == dict(need.wanted) and last["boot_id"] != now.boot_id:
            raise StudyFailed(f"the machine was rebooted, but {need}: it is not rebooted again")
        if len(earlier) >= asked.most:
            raise StudyFailed(f"{need}, but after {len(earlier)} reboots there is no further (reboots.most)")
    return {"boot_id": now.boot_id, "wanted": dict(need.wanted)}


def pursue(asked: Reboots, bundle: Path, need: BootNeeded) -> Paused:
    """Has the machine booted, where the study says how; what the user is to be told. Raises StudyFailed."""
    resume = [sys.executable, "-m", "steelyard.cli", "resume", str(bundle.absolute())]
    if asked.unit:
        _install(bundle.absolute(), resume)
    if asked.command is None:
        after = "it goes on by itself" if asked.unit else f"steelyard resume {bundle}"
        return Paused(f"{need}", f"boot {_wanted(need)}, then: {after}")
    variables = {"kernel": str(need.wanted.get(KERNEL, "")), "cmdline": " ".join(boot_arguments(need.wanted))}
    command = [filled(word, variables) for word in asked.command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_COMMAND_S)
    except OSError as error:
        raise StudyFailed(f"reboots.command: {command[0]}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise StudyFailed(f"reboots.command was not done after {_COMMAND_S} s: {command[0]}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise StudyFailed(f"reboots.command ended with exit code {done.returncode}: {said}")
    after = "it goes on by itself" if asked.unit else f"then: steelyard resume {bundle}"
    return Paused(f"{need}: rebooting ({shlex.join(command)})", f"{after}; touch {bundle / STOP} ends that")


@contextmanager
def unit_while_paused(asked: Reboots) -> Generator[None]:
    """Takes the unit away however the study ends, but not where it pauses for a boot."""
    paused = False
    try:
        yield
    except Paused:
        paused = True
        raise
    finally:
        if asked.unit and not paused:
            _remove()


def _remove() -> None:
    for place in (_UNITS / "multi-user.target.wants" / _UNIT, _UNITS / _UNIT):
        with suppress(OSError):
            place.unlink()


def _install(bundle: Path, command: Sequence[str]) -> None:
    text = _TEXT.format(bundle=bundle, command=shlex.join(command))
    wants = _UNITS / "multi-user.target.wants" / _UNIT
    try:
        (_UNITS / _UNIT).write_text(text)
        # as `systemctl enable` does
        wants.parent.mkdir(exist_ok=True)
        wants.unlink(missing_ok=True)
        wants.symlink_to(_UNITS / _UNIT)
    except OSError as error:
        raise StudyFailed(
            f"reboots.unit: {error.filename}: {error.strerror}; a line for crontab -e does the same:"
            f" @reboot {shlex.join(command)}"
        ) from None


def _wanted(need: BootNeeded) -> str:
    return ", ".join(f"{key} = {value}" for key, value in need.wanted.items())
