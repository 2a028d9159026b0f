"""The load engine as a child process: the lab's side, and the child's main.

The child reads the plan from the first line of standard input, and commands for an engine in turns from
the lines after it; it writes phases, ticks and finally the result as lines of JSON.
It writes at least one line per second, `alive` if nothing else, so that a hanging engine is killed.
"""

import json
import math
import os
import select
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from steelyard.host.cpus.scheduling import pin
from steelyard.host.processes.process_mark import Mark, end_marked
from steelyard.host.processes.signals import end_with
from steelyard.lab.engines.result import ENGINES, EngineResult, Json, LoadFailed, OnEvent

_SILENCE_S = 30.0
_BEAT_S = 1.0
_LOOK_S = 0.5
_PART_BYTES = 1 << 16
# longer than the kept part: secrets are removed before the end is cut out
_TAIL_BYTES = 64_000


class LoadProcess:
    """One engine, by its registry name. result() sends its plan, so monitors and probes can start first."""

    def __init__(self, engine: str, plan: Json, cpus: frozenset[int]) -> None:
        self._engine = engine
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "steelyard.lab.engines.process", engine, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self.pid = self._process.pid
        self._mark = Mark().started(self.pid)
        self._plan = json.dumps(plan).encode() + b"\n"
        self._takes_commands = bool(plan.get("turns") or plan.get("share"))
        self._planned = threading.Event()
        self._complaints = bytearray()
        pin(self.pid, cpus)

    def result(self, on_event: OnEvent, limit_s: float = math.inf) -> EngineResult:
        """Runs the plan, calls on_event for each event, and returns the checked result.

        Raises LoadFailed when the engine fails, ends, is silent for 30 s, or takes longer than limit_s, and
        for a result that does not match the schema.
        """
        for line in self._lines(limit_s):
            try:
                event = json.loads(line)
            except ValueError:
                # killed in the middle of a line: the exit code below gives the cause
                break
            match event["event"]:
                case "result":
                    return EngineResult.of(self._engine, event["result"])
                case "failed":
                    raise LoadFailed(event["cause"])
                case "alive":
                    pass
                case _:
                    on_event(event)
        try:
            code = self._process.wait(_SILENCE_S)
        except subprocess.TimeoutExpired:
            raise LoadFailed("the load engine closed its output and did not end") from None
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        tail = self._complaints.decode(errors="replace").strip()
        raise LoadFailed(f"the load engine ended with {how}" + (f": {tail}" if tail else ""))

    def command(self, command: Json) -> None:
        """Sends a command to an engine in turns or among several, while result() runs in another thread.

        Raises LoadFailed when the engine does not read its plan, or has ended.
        """
        assert self._process.stdin is not None
        if not self._planned.wait(_SILENCE_S):
            raise LoadFailed("the load engine did not read its plan")
        try:
            os.write(self._process.stdin.fileno(), json.dumps(command).encode() + b"\n")
        except (BrokenPipeError, ValueError):
            raise LoadFailed("the load engine has ended") from None

    def stop(self) -> None:
        """Ends the engine now, with its descendants; has no effect when it has ended."""
        end_marked(self._mark, signal.SIGTERM)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()

    def _lines(self, limit_s: float) -> Iterator[bytes]:
        """Sends the plan; yields the engine's output, line by line, until it ends. Raises LoadFailed."""
        process, plan, text = self._process, memoryview(self._plan), bytearray()
        assert process.stdin and process.stdout and process.stderr
        began_s = last_line_s = time.monotonic()
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdin, selectors.EVENT_WRITE)
            ready.register(process.stdout, selectors.EVENT_READ)
            ready.register(process.stderr, selectors.EVENT_READ)
            while True:
                streams = {key.fileobj for key, _ in ready.select(_LOOK_S)}
                if process.stdin in streams:
                    plan = _sent(process.stdin.fileno(), plan)
                    if not plan:
                        ready.unregister(process.stdin)
                        self._planned.set()
                        if not self._takes_commands:
                            process.stdin.close()
                if process.stderr in streams:
                    part = os.read(process.stderr.fileno(), _PART_BYTES)
                    self._complaints[:] = (self._complaints + part)[-_TAIL_BYTES:]
                    if not part:
                        ready.unregister(process.stderr)
                now_s = time.monotonic()
                if process.stdout in streams:
                    last_line_s = now_s
                    part = os.read(process.stdout.fileno(), _PART_BYTES)
                    if not part:
                        return
                    *lines, rest = part.split(b"\n")
                    for line in lines:
                        yield bytes(text) + line
                        text.clear()
                    text += rest
                if now_s - last_line_s > _SILENCE_S:
                    raise LoadFailed(f"the load engine was silent for {_SILENCE_S:g} s and was killed")
                if now_s - began_s > limit_s:
                    raise LoadFailed(f"the load engine had not finished after {limit_s:.0f} s and was killed")


def _sent(pipe: int, plan: memoryview) -> memoryview:
    """Writes the next part of the plan and returns the rest; a ready pipe takes the part at once."""
    try:
        return plan[os.write(pipe, plan[: select.PIPE_BUF]) :]
    except BrokenPipeError:
        # the engine has ended: its exit code gives the cause
        return plan[:0]


_over = threading.Event()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Input:
    """Lines of standard input."""

    def __init__(self) -> None:
        self._text = b""

    def __call__(self, wait_s: float | None) -> str | None:
        """The next line; None when it has not come within wait_s. Raises EOFError at the end."""
        while b"\n" not in self._text:
            if not select.select([0], [], [], wait_s)[0]:
                return None
            part = os.read(0, _PART_BYTES)
            if not part and not self._text:
                raise EOFError("standard input has ended")
            # the last line may lack its end
            self._text += part or b"\n"
        line, _, self._text = self._text.partition(b"\n")
        return line.decode()

    def rest(self) -> bytes:
        """What was read beyond the last line: for a program that takes this process's place."""
        return self._text


def _beat() -> None:
    # no lock: a forked child of the engine would wait for it for ever; a short line to a pipe is atomic
    while not _over.wait(_BEAT_S):
        with suppress(OSError):
            os.write(1, b'{"event": "alive"}\n')


def main() -> None:
    """The child: runs the plan given on standard input."""
    # the engine must not outlive a killed lab and continue to load a server
    name, parent = sys.argv[1:]
    if not end_with(int(parent)):
        return
    from steelyard import _core

    engine = ENGINES[name]
    run, lines = engine.load(), Input()
    plan = lines(None)
    assert plan is not None
    if not engine.reports_alive:
        threading.Thread(target=_beat, name="alive", daemon=True).start()
    try:
        result = run(plan, _say, lines) if engine.takes_commands else run(plan, _say)
    except (_core.PlanError, _core.LoadError, LoadFailed) as error:
        _over.set()
        _say(json.dumps({"event": "failed", "cause": str(error)}))
    else:
        _over.set()
        _say('{"event": "result", "result": ' + result + "}")


if __name__ == "__main__":
    main()


class RunningEngine(Protocol):
    """A started engine. pid: its process on this machine; None: it runs elsewhere."""

    @property
    def pid(self) -> int | None:
        """Its process on this machine."""

    def result(self, on_event: OnEvent, limit_s: float = math.inf) -> EngineResult:
        """The result, when it has ended; see `LoadProcess`."""
        ...

    def command(self, command: Json) -> None:
        """Sends a command while result() runs in another thread. Raises LoadFailed."""

    def stop(self) -> None:
        """Ends the engine now; has no effect when it has ended."""


@dataclass(frozen=True)
class Place:
    """Where engines run; default: this machine, as children of the lab.

    start: an engine by its name, with its plan and the CPUs that it may use where it runs here. check: raises
    LoadFailed when engines can no longer start there: the study cannot continue.
    """

    start: Callable[[str, Json, frozenset[int]], RunningEngine] = LoadProcess
    check: Callable[[], None] = lambda: None
