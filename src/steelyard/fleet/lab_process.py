"""On the host with the role server: the part of a lab that runs there, as a child of the dask worker.

The child is a process of its own, so that its guard, its signals and its CPU are its own. It ends with the
worker, and when its lab has been silent for 15 s; its guard then stops the server and undoes the rest.
"""

from __future__ import annotations

import asyncio
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import uuid4

from steelyard.fleet.beats import end_without
from steelyard.fleet.certificates import as_client
from steelyard.fleet.connection import Connection
from steelyard.fleet.frames import Frames

# the main of the child: see workflow/on_server_host.py
_MAIN = "steelyard.workflow.on_server_host"
_TAIL_BYTES = 4096
# answers to the lab are at most so large, beyond one message
_BATCH_BYTES = 8 << 20


class LabProcess:
    """One child. Its messages wait until the lab fetches them."""

    def __init__(self, connection: Connection) -> None:
        self._process = process = subprocess.Popen[bytes](
            [sys.executable, "-m", _MAIN, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdin and process.stdout and process.stderr
        self._frames = Frames(process.stdout, process.stdin)
        self._messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._complaints = bytearray()
        self.ended = threading.Event()
        for read in (self._read, self._listen):
            threading.Thread(target=read, daemon=True).start()
        self._frames.send(connection)

    def say(self, message: bytes) -> None:
        """Passes a message on; one to a process that has ended is lost."""
        with suppress(OSError):
            self._frames.send_bytes(message)

    def hear(self, wait_s: float) -> dict[str, Any]:
        """Messages, as soon as there is one, and how the process ended, None while it runs."""
        messages = list[bytes]()
        with suppress(queue.Empty):
            first = self._messages.get(timeout=wait_s)
            while first is not None:
                messages.append(first)
                if sum(map(len, messages)) > _BATCH_BYTES:
                    return {"messages": messages, "ended": None}
                first = self._messages.get_nowait()
            return {"messages": messages, "ended": self._ended()}
        return {"messages": messages, "ended": None}

    def interrupt(self) -> None:
        """As Ctrl-C: it undoes what it has done, and ends."""
        self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """Ends it now: its guard undoes what it has done."""
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        with suppress(EOFError):
            while True:
                self._messages.put(self._frames.receive_bytes())
        self.ended.set()
        self._messages.put(None)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        while part := os.read(self._process.stderr.fileno(), _TAIL_BYTES):
            self._complaints[:] = (self._complaints + part)[-_TAIL_BYTES:]

    def _ended(self) -> str:
        code = self._process.wait()
        # a second request gives the same
        self._messages.put(None)
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        tail = self._complaints.decode(errors="replace").strip().splitlines()[-1:]
        return ": ".join([how, *tail])


class LabProcesses:
    """The children of one worker, by id, and the lab's calls to them."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker
        self._running: dict[str, LabProcess] = {}

    @property
    def operations(self) -> Mapping[str, Any]:
        """The calls by name."""
        return {"open": self.open, "say": self.say, "hear": self.hear, "interrupt": self.interrupt}

    async def open(self, lab: str) -> str:
        """Starts a child for the lab; its id."""
        # of the event loop's thread: the child ends with the thread that started it
        worker = self._worker
        process = LabProcess(Connection(worker.scheduler.address, as_client(worker.security)))
        name = uuid4().hex
        self._running[name] = process

        def end() -> None:
            process.kill()
            self._running.pop(name, None)

        end_without(lab, end, process.ended)
        return name

    async def say(self, process: str, message: bytes) -> bool:
        """Whether there is such a child; it gets the message."""
        if (found := self._running.get(process)) is None:
            return False
        await asyncio.to_thread(found.say, message)
        return True

    async def hear(self, process: str, wait_s: float) -> dict[str, Any]:
        """See LabProcess; of a child that has ended, its last messages, once."""
        if (found := self._running.get(process)) is None:
            return {"messages": [], "ended": "it does not run"}
        heard = await asyncio.to_thread(found.hear, wait_s)
        if heard["ended"] is not None:
            del self._running[process]
        return heard

    async def interrupt(self, process: str) -> bool:
        """Whether there is such a child; it undoes what it has done."""
        if (found := self._running.get(process)) is None:
            return False
        found.interrupt()
        return True
