"""Python objects over a pipe: each is pickled, after its length. Both ends are the fleet's own."""

from __future__ import annotations

import pickle
import struct
import threading
from typing import IO, Any

_LENGTH = struct.Struct("!Q")


class Frames:
    """One end of two pipes; both are unbuffered or flushed here."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._lock = threading.Lock()

    def send(self, message: object) -> None:
        """Sends an object, from any thread. Raises OSError when the other end is closed."""
        self.send_bytes(pickle.dumps(message))

    def send_bytes(self, text: bytes) -> None:
        """Sends an object that is pickled already."""
        with self._lock:
            self._outgoing.write(_LENGTH.pack(len(text)) + text)
            self._outgoing.flush()

    def receive(self) -> Any:
        """The next object. Raises EOFError when there is none."""
        return pickle.loads(self.receive_bytes())

    def receive_bytes(self) -> bytes:
        """The next object, pickled. Raises EOFError."""
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        return self._exactly(length)

    def _exactly(self, length: int) -> bytes:
        text = self._incoming.read(length)
        if len(text) < length:
            raise EOFError("the pipe is closed")
        return text
