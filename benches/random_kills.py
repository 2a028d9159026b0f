"""Kills a study at random moments, over all its phases, and looks at what is lost and what is left.

    python benches/random_kills.py --trials 200

Each trial runs a small study on a real server and kills, after a random time, the lab (SIGKILL, SIGINT,
SIGTERM; SIGKILL the moment it announces a run, while it makes a server's data, or while a JDBC driver logs
in), its guard and then the lab, the engine, or the server (SIGKILL; SIGSTOP of all its processes, then the
lab). Afterwards every run that was announced must be in the bundle, and no process, folder or shared memory
may be left.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from small import shared_memory, small_study
from steelyard.bundle.reader import Bundle
from steelyard.errors import InputError

# of a run that is over, as the lab announces it away from a terminal; every run, by an interval of 0
ANNOUNCED = re.compile(r"(\d+) of 4 runs, block \d+: ")
LEFT_S = 40.0


@dataclass
class Trial:
    """One study and what was done to it. after_s: since its start."""

    number: int
    subject: str
    victim: str
    after_s: float
    folder: Path
    announced: int = 0
    errors: list[str] = field(default_factory=list[str])


def processes(folder: Path) -> Iterator[tuple[int, str]]:
    """Number and command line of every process that names the folder, in its arguments or environment."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            whole = command + (entry / "environ").read_bytes().decode(errors="replace")
            works_in = str((entry / "cwd").readlink())
        except OSError:
            continue
        if int(entry.name) != os.getpid() and (str(folder) in whole or works_in.startswith(str(folder))):
            yield int(entry.name), command


def strike(trial: Trial, lab: subprocess.Popen[str]) -> None:
    """Kills what the trial is about; the lab itself where there is none of it at this moment."""
    ours = list(processes(trial.folder))

    def numbered(word: str) -> list[int]:
        return [pid for pid, command in ours if word in command]

    server = [pid for pid, command in ours if re.search(r"postgres|mariadbd|initdb|install-db", command)]
    match trial.victim:
        case (
            "lab by SIGKILL" | "lab at an announcement" | "lab while data are made" | "lab while JDBC logs in"
        ):
            lab.kill()
        case "lab by SIGINT":
            lab.send_signal(signal.SIGINT)
        case "lab by SIGTERM":
            lab.send_signal(signal.SIGTERM)
        case "guard, then lab":
            _send(numbered("steelyard.host.processes.guard"), signal.SIGKILL)
            time.sleep(0.5)
            lab.kill()
        case "engine":
            _send(numbered("steelyard.lab.engines.process"), signal.SIGKILL)
        case "server":
            _send(server[:1], signal.SIGKILL)
        case "server stopped, then lab":
            _send([pid for pid in server if pid != lab.pid], signal.SIGSTOP)
            lab.kill()
        case _:
            raise AssertionError(trial.victim)


VICTIMS = (
    "lab by SIGKILL", "lab by SIGINT", "lab by SIGTERM", "guard, then lab", "engine", "server",
    "server stopped, then lab", "lab at an announcement", "lab while data are made",
    *(("lab while JDBC logs in",) if shutil.which("java") else ()),
)  # fmt: skip


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


_BY_JDBC = (
    """
[factors.handle]
scope = "client"
levels = { simple = "none", named = "named" }""",
    """handle = "per-use"
driver = "org.postgresql:postgresql:42.7.4"

[factors.threshold]
scope = "client"
setting = "driver_properties.prepareThreshold"
levels = { T0 = 0, T1 = 1 }""",
)


def run(trial: Trial) -> Trial:
    """The trial, with what went wrong."""
    study = small_study(trial.folder, trial.subject, measure_s=0.4)
    if "JDBC" in trial.victim:
        study.write_text(study.read_text().replace(*_BY_JDBC))
    bundle, before = trial.folder / "b.bundle", shared_memory()
    lab = subprocess.Popen(
        [sys.executable, "-c", _COMMAND, "run", str(study), "--bundle", str(bundle)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # a shell has what it starts in the background ignore Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        env={**os.environ, "TMPDIR": str(trial.folder)},
    )
    said: list[str] = []
    reader = threading.Thread(target=lambda: said.extend(lab.stderr or ()))
    reader.start()
    match trial.victim:
        case "lab at an announcement":
            wanted = 1 + trial.number % 2
            _await(lambda: sum(bool(ANNOUNCED.search(line)) for line in said) >= wanted, 0.001)
        case "lab while data are made":
            _await(lambda: any(re.search("initdb|install-db", c) for _, c in processes(trial.folder)))
            time.sleep(trial.after_s / 9)
        case "lab while JDBC logs in":
            _await(lambda: any("java" in command.split(" ")[0] for _, command in processes(trial.folder)))
            time.sleep(trial.after_s / 6)
        case _:
            time.sleep(trial.after_s)
    strike(trial, lab)
    try:
        lab.wait(120)
    except subprocess.TimeoutExpired:
        trial.errors.append("the lab hangs")
        lab.kill()
        lab.wait()
    _await(lambda: not list(processes(trial.folder)))
    reader.join(10)
    if left := list(processes(trial.folder)):
        trial.errors.append(f"processes: {left}")
    if left := [place.name for place in trial.folder.glob("steelyard-*")]:
        trial.errors.append(f"folders: {left}")
    if left := _lasting(before):
        trial.errors.append(f"shared memory: {left}")
    if "Traceback" in "".join(said):
        trial.errors.append("traceback: " + "".join(said)[-600:])
    trial.announced = max((int(found[1]) for line in said if (found := ANNOUNCED.search(line))), default=0)
    if bundle.exists():
        trial.errors += missing(bundle, trial.announced)
    return trial


# every run is announced: the pause between two lines is for people
_COMMAND = """
from steelyard.report.terminal import progress
progress.Progress.__init__.__kwdefaults__["every_s"] = 0.0
from steelyard.cli import main
main()
"""


def missing(bundle: Path, announced: int) -> Iterator[str]:
    """What of the announced runs is not in the bundle, or twice."""
    counted = "select count(*) as n, count(distinct run) as d from runs where status = 'done'"
    try:
        done = Bundle(bundle).columns(counted)
    except InputError as error:
        if announced:
            yield f"{announced} runs were announced, and the bundle is unreadable: {error}"
        return
    if done["n"][0] != done["d"][0]:
        yield f"{done['n'][0]} rows of {done['d'][0]} runs"
    if done["n"][0] < announced:
        yield f"{announced} runs were announced, {done['n'][0]} are kept"


def _lasting(before: set[str]) -> set[str]:
    """Shared memory without a process that stays: what other servers leave for a moment is none of ours."""
    left, deadline = shared_memory() - before, time.monotonic() + LEFT_S
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left &= shared_memory()
    return left


def _await(condition: Callable[[], bool], look_s: float = 0.05) -> None:
    deadline = time.monotonic() + LEFT_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(look_s)


def main() -> None:
    """Runs the trials, prints one line each and a table at the end; exit code 1 when anything went wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="one trial per victim")
    parser.add_argument("--victim", choices=VICTIMS, help="this one alone")
    arguments = parser.parse_args()
    chance, failed, counts = random.Random(arguments.seed), 0, Counter[str]()
    kept: Counter[str] = Counter()
    for number in range(len(VICTIMS) if arguments.quick else arguments.trials):
        folder = Path(tempfile.mkdtemp(prefix="kill-", dir="/tmp"))
        folder.chmod(0o711)
        victim = arguments.victim or VICTIMS[number % len(VICTIMS)]
        subject = chance.choice(["postgres", "postgres", "mariadb", "null"])
        if "JDBC" in victim or (subject == "null" and ("data" in victim or "server" in victim)):
            subject = "postgres"
        trial = Trial(number, subject, victim, chance.uniform(0.3, 9), folder)
        run(trial)
        counts[trial.victim] += 1
        kept[trial.victim] += trial.announced
        failed += bool(trial.errors)
        print(json.dumps({k: str(v) for k, v in vars(trial).items() if k != "folder"}), flush=True)
        shutil.rmtree(folder, ignore_errors=True)
    for victim in VICTIMS:
        print(f"{victim:26} {counts[victim]:4} trials, {kept[victim]:4} runs announced before")
    print(
        f"seed {arguments.seed}: {sum(counts.values())} trials, {failed} with something lost or left behind"
    )
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
