"""The load engine as a child process: the lab's side, and the child's main.

The plan goes in on standard input; phases, ticks and at last the result come back as lines of JSON.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from steelyard.host.parent import end_with
from steelyard.host.placement import pin
from steelyard.lab.engines import LoadFailed, engine


class LoadProcess:
    """An engine: `load` drives a server; others have what is weighed inside them.

    It waits for its plan until its results are asked for, so whoever is to watch it can be ready first.
    """

    def __init__(self, engine: str, plan: Mapping[str, Any], cpus: frozenset[int]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "steelyard.lab.load", engine, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.pid = self._process.pid
        self._plan = json.dumps(plan)
        pin(self.pid, cpus)

    def results(self, on_event: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
        """Has the plan done and hands on each event; returns the result. Raises LoadFailed.

        The engines `load` and `latch` report at least one event per second in every phase: where there is
        no `tick`, an `alive` event.
        """
        assert self._process.stdin and self._process.stdout and self._process.stderr
        with suppress(BrokenPipeError):
            self._process.stdin.write(self._plan)
            self._process.stdin.close()
        for line in self._process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                # killed while it wrote: the exit code below tells more
                break
            match event["event"]:
                case "result":
                    return event["result"]
                case "failed":
                    raise LoadFailed(event["cause"])
                case _:
                    on_event(event)
        code = self._process.wait()
        tail = self._process.stderr.read()[-2000:].strip()
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        raise LoadFailed(f"the load engine ended with {how}" + (f": {tail}" if tail else ""))

    def stop(self) -> None:
        """Ends the engine now; nothing happens when it has ended."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            # a plan that nobody read is still in its pipe
            with suppress(BrokenPipeError):
                assert stream is not None
                stream.close()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """The child: runs the plan given on standard input."""
    # the engine must not outlive a killed lab and go on loading a server
    name, parent = sys.argv[1:]
    if not end_with(int(parent)):
        return
    from steelyard import _core

    run = engine(name)
    plan = sys.stdin.read()
    try:
        result = run(plan, _say)
    except (_core.PlanError, _core.LoadError, LoadFailed) as error:
        _say(json.dumps({"event": "failed", "cause": str(error)}))
    else:
        _say('{"event": "result", "result": ' + result + "}")


if __name__ == "__main__":
    main()
