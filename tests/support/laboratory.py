"""What tests of the whole lab share: a small study, and the command line as a user calls it."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from processes import end_drawing

from small import SMALL as SMALL
from small import small_study as small_study
from steelyard.cli import main
from steelyard.host.cpus.scheduling import tasks

ENGINE = "steelyard.lab.engines.process"
_DOUBLES = Path(__file__).parent / "doubles"
_MODULES = (
    "duckdb",
    "jinja2",
    "rich.table",
    "scipy.special",
    "steelyard.analysis.bundles",
    "steelyard.cli.run",
    "steelyard.cli.commands",
    "steelyard.monitors.system.processes",
    "steelyard.subjects.postgres.server",
    "steelyard.workflow.session",
    "steelyard.workflow.show",
)
# a process of tests has threads, which a fork of it would lack: a server that only imports modules is forked
_COPIES = multiprocessing.get_context("forkserver")
_COPIES.set_forkserver_preload([*_MODULES, "laboratory"])


@contextmanager
def alone() -> Iterator[None]:
    """Holds a lock while a test reads or changes state of the whole machine; other sessions of tests wait."""
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


def _as_command(folder: Path, words: list[str], environment: dict[str, str], out: Path, err: Path) -> None:
    code: object = 1
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for stream, file in ((1, out), (2, err)):
            os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), stream)
        sys.stdout, sys.stderr = open(1, "w"), open(2, "w")  # noqa: SIM115
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        tempfile.tempdir = None
        sys.path[:0] = filter(None, environment["PYTHONPATH"].split(os.pathsep))
        sys.argv = ["steelyard", *words]
        main()
        code = 0
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
    finally:
        # a copy of a process does not do what is done at its exit
        end_drawing()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)


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
        """Runs the command in a fork of a process that has imported all modules; with `prefix`, as a program.

        Raises TimeoutExpired after limit_s.
        """
        words = list(map(str, arguments))
        if self.prefix:
            process = self.start(*arguments, **environment)
            out, err = process.communicate(timeout=limit_s)
            return subprocess.CompletedProcess(words, process.returncode, out, err)
        own = {**os.environ, "TMPDIR": str(self.folder), **self._modules(), **environment}
        with tempfile.TemporaryDirectory() as place:
            streams = Path(place) / "out", Path(place) / "err"
            copy = _COPIES.Process(target=_as_command, args=(self.folder, words, own, *streams))
            copy.start()
            copy.join(limit_s)
            if copy.exitcode is None:
                assert copy.pid is not None
                os.killpg(copy.pid, signal.SIGKILL)
                copy.join()
                raise subprocess.TimeoutExpired(words, limit_s, *(one.read_bytes() for one in streams))
            out, err = (one.read_text() for one in streams)
            return subprocess.CompletedProcess(words, copy.exitcode, out, err)

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
            # most conditions read /proc of every process
            time.sleep(0.05)

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
    folder = Path(tempfile.gettempdir()) / f"{os.getpid()}-{time.monotonic_ns() % 10**9}"
    folder.mkdir(mode=0o711)
    made = Lab(folder)
    try:
        yield made
    finally:
        for process in made.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        subprocess.run(["rm", "-rf", str(folder)], check=True)


def under_load(lab: Lab) -> bool:
    """Whether an engine's loop is running, all its clients connected."""
    return any(text_of(task, "comm").strip() == "load-0" for pid in lab.ours(ENGINE) for task in tasks(pid))


def nothing_left(lab: Lab) -> bool:
    return not lab.ours() and not lab.traces()


def parent_is_not_postgres(pid: int) -> bool:
    # a backend may have gone since it was listed
    words = text_of(pid, "stat").rpartition(")")[2].split()
    return bool(words) and "postgres" not in text_of(int(words[1]), "comm")


def with_dsn(folder: Path, dsn: str) -> Path:
    study = small_study(folder, subject="postgres")
    study.write_text(study.read_text().replace('kind = "postgres"', f'kind = "postgres"\ndsn = "{dsn}"'))
    return study
