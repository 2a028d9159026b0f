"""Fixtures of all tests."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from laboratory import Lab

# how long an example takes says more of the machine than of the code
settings.register_profile("lab", deadline=None)
settings.load_profile("lab")

# images of containers often set it: each of the thousands of processes would compile all modules anew
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# nohup and background shells leave these ignored, and what is ignored stays so in every process started
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def lab() -> Iterator[Lab]:
    """A lab in a folder whose path is short enough for sockets, and open to the server's user."""
    folder = Path(f"/tmp/sy-{os.getpid()}-{time.monotonic_ns() % 10**9}")
    folder.mkdir(mode=0o711)
    made = Lab(folder)
    yield made
    for process in made.processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(["rm", "-rf", str(folder)], check=True)
