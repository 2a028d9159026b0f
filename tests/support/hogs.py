"""Other work on the machine's CPUs, and a study beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from laboratory import Lab, small_study


@contextmanager
def hogs() -> Iterator[None]:
    """Processes of somebody else that burn every CPU."""
    work = f"import os\nwhile os.getppid() == {os.getpid()}: pass"
    count = 2 * len(os.sched_getaffinity(0))
    running = [subprocess.Popen([sys.executable, "-c", work]) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def study_beside_hogs(lab: Lab, disturbed: str) -> Path:
    study = small_study(lab.folder, blocks=1, measure_s=1, think_ms=0)
    text = study.read_text().replace("[plan]", f'[plan]\ndisturbed = "{disturbed}"')
    study.write_text(text + "host = 5\ndisturbance = 5\n")
    return study
