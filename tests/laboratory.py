"""What tests of the whole lab share: a small study, and the command line as a user calls it."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from small import SMALL as SMALL
from small import small_study as small_study

_DOUBLES = Path(__file__).parent / "doubles"


@contextmanager
def alone() -> Iterator[None]:
    """While a test changes or reads what the whole machine shares: other runs of these tests wait."""
    handle = os.open("/tmp", os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def text_of(pid: int, name: str) -> str:
    """A file of a process or thread in /proc; '' where it has gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    return ""


def control_groups(pids: list[int]) -> set[str]:
    """Names of the laboratory's control groups that these processes are in."""
    return {
        name for pid in pids for name in re.findall(r"steelyard-[0-9a-f]{32}-\w+", text_of(pid, "cgroup"))
    }


def group_folders(names: set[str]) -> list[Path]:
    """Folders of control groups that are still there."""
    # os.walk passes over what goes away meanwhile
    return [Path(folder) for folder, _, _ in os.walk("/sys/fs/cgroup") if Path(folder).name in names]


@dataclass
class Lab:
    """Runs `steelyard` in a folder of its own, and knows what it left behind."""

    folder: Path
    prefix: tuple[str, ...] = ()  # a program that starts another under its own conditions
    draws: bool = False  # charts of reports
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def bundle(self) -> Path:
        return self.folder / "b.bundle"

    def start(self, *arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*self.prefix, sys.executable, "-m", "steelyard.cli", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            start_new_session=True,
            # a shell that runs the tests in the background has them ignore Ctrl-C
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            env={**os.environ, "TMPDIR": str(self.folder), **self._modules(), **environment},
        )
        self.processes.append(process)
        return process

    def run(
        self, *arguments: str | Path, limit_s: float = 150, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=limit_s)
        return subprocess.CompletedProcess([], process.returncode, out, err)

    def ours(self, word: str = "") -> list[int]:
        """Processes whose command line or environment names this test's folder, and `word`."""
        found: list[int] = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                whole = command + (entry / "environ").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if str(self.folder) in whole and word in command:
                found.append(int(entry.name))
        return found

    def wait_for(self, condition: Callable[[], object], why: str, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"never: {why}"
            time.sleep(0.02)

    def _modules(self) -> dict[str, str]:
        paths = [] if self.draws else [str(_DOUBLES)]
        return {"PYTHONPATH": os.pathsep.join([*paths, *filter(None, [os.environ.get("PYTHONPATH")])])}

    def runs(self) -> int:
        return len(list(self.bundle.glob("runs/[0-9]*")))

    def traces(self) -> list[str]:
        """Folders of servers that are still there."""
        return [place.name for place in self.folder.glob("steelyard-*")]


@contextmanager
def made_lab() -> Iterator[Lab]:
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
