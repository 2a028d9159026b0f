"""Programs of a server that say, without a start, which settings they take."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from steelyard.host.processes.confinement import confined
from steelyard.subjects.servers.account import arguments_of_nobody

_TRIAL_S = 30.0


def tried(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end, as nobody where root calls; it may write nothing, and listens nowhere."""
    return confined(
        lambda: subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            cwd="/",
            env={**os.environ, "LC_ALL": "C"},
            timeout=_TRIAL_S,
            check=False,
            **arguments_of_nobody(),
        )
    )
