"""At the lab: the process on the server's host, and messages to and from it."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any

from steelyard.fleet.bus import Bus
from steelyard.fleet.check import refuse_unlike
from steelyard.fleet.connection import Connection
from steelyard.lab.engines.registry import LoadFailed
from steelyard.study.fleet import Fleet

_WAIT_S = 1.0
# a message of a run with its tables over a slow network
_MESSAGE_S = 60.0


class Remote:
    """One process on a host, which runs until end()."""

    def __init__(self, bus: Bus, host: str) -> None:
        self.host = host
        self._bus = bus
        self._heard: deque[bytes] = deque()
        self._ended: str | None = None
        self._process: str = self._call("open", lab=bus.lab)

    def send(self, message: object) -> None:
        """Sends an object. Raises LoadFailed, which names the host."""
        self._call("say", process=self._process, message=pickle.dumps(message))

    def receive(self) -> Any:
        """The next object from there. Raises LoadFailed, which names the host."""
        while not self._heard:
            if self._ended is not None:
                raise LoadFailed(f"host {self.host}: the lab's process there ended with {self._ended}")
            self._hear()
        return pickle.loads(self._heard.popleft())

    def end(self) -> None:
        """Makes it undo what it has done, and waits until it has ended or is lost."""
        with suppress(LoadFailed):
            if self._ended is None:
                self._call("interrupt", process=self._process)
            while self._ended is None:
                self._hear()

    def _hear(self) -> None:
        found = self._call("hear", process=self._process, wait_s=_WAIT_S)
        self._heard.extend(found["messages"])
        self._ended = found["ended"]

    def _call(self, operation: str, **arguments: Any) -> Any:
        if self._bus.failure:
            raise LoadFailed(self._bus.failure)
        return self._bus.call(operation, {self.host: arguments}, _MESSAGE_S)[self.host]


@contextmanager
def process_on(fleet: Fleet, host: str, connection: Connection) -> Generator[Remote]:
    """A process on the host while the context lasts. Raises InputError when the fleet is not up."""
    with Bus(connection, [host]) as bus:
        refuse_unlike(bus.facts)
        remote = Remote(bus, host)
        try:
            yield remote
        finally:
            remote.end()
