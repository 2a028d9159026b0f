"""The folder of one session of tests: temporary files, and folders that are costly to make and made once."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from multiprocessing.util import get_temp_dir
from pathlib import Path

from processes import end_drawing

from small import shared_memory
from steelyard.subjects.servers.identity import account_of_servers

# set before the workers start, which share it
VARIABLE = "STEELYARD_TEST_FOLDER"
_PREPARED = "prepared"
# workers of pytest, and processes that Python's multiprocessing keeps until its process ends
_OF_TESTS = (b"-u -c import sys;exec(eval", b" -c from multiprocessing.")


class SessionFolder:
    """Made by the process that starts the workers, and removed by it."""

    def __init__(self) -> None:
        # multiprocessing removes its own at the very end
        get_temp_dir()
        # a short name: sockets of servers lie in folders below
        self.place = Path(tempfile.mkdtemp(prefix="sy-"))
        self.place.chmod(0o711)
        (self.place / _PREPARED).mkdir(mode=0o711)
        # the folders of pytest, which it keeps for three sessions, stay where they are
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
        os.environ[VARIABLE] = os.environ["TMPDIR"] = tempfile.tempdir = str(self.place)
        self._shared_memory = shared_memory()

    def left(self) -> list[str]:
        """Files, processes and shared memory that the tests did not remove."""
        files = [str(path) for path in self.place.iterdir() if path.name != _PREPARED]
        end_drawing()
        deadline = time.monotonic() + 5
        while any("report.drawing" in one for one in self._processes()) and time.monotonic() < deadline:
            time.sleep(0.05)  # what draws for a worker ends a moment after it
        return files + self._processes() + sorted(shared_memory() - self._shared_memory)

    def remove(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)

    def _processes(self) -> list[str]:
        found: list[str] = []
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                ours = str(self.place).encode() in command + (entry / "environ").read_bytes()
                if (
                    ours
                    and int(entry.name) != os.getpid()
                    and not any(words in command for words in _OF_TESTS)
                ):
                    found.append(f"process {entry.name}: {command.decode(errors='replace')}")
        return found


@contextmanager
def copy_of(name: str, make: Callable[[Path], None]) -> Generator[Path]:
    """A copy of what `make` fills once per session, owned by the servers' account; removed at the end."""
    kept = Path(os.environ[VARIABLE]) / _PREPARED
    with (kept / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (kept / name).exists():
            draft = Path(tempfile.mkdtemp(prefix="steelyard-test-"))
            account_of_servers().own(draft)
            make(draft)
            draft.rename(kept / name)
    folder = Path(tempfile.mkdtemp(prefix="steelyard-test-"))
    try:
        subprocess.run(["cp", "-a", f"{kept / name}/.", folder], check=True)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
