"""When each lab was last heard of on this host: what runs for a silent one must end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

SILENCE_S = 15.0
_LOOK_S = 0.5

_heard_s: dict[str, float] = {}


def beat(lab: str) -> bool:
    """The lab of this id is there."""
    _heard_s[lab] = time.monotonic()
    return True


def end_without(lab: str, end: Callable[[], object], over: threading.Event) -> None:
    """Calls `end` when the lab has been silent for 15 s, unless the event is set before."""
    beat(lab)

    def watch() -> None:
        while not over.wait(_LOOK_S):
            if time.monotonic() - _heard_s[lab] > SILENCE_S:
                end()
                return

    threading.Thread(target=watch, name="silence", daemon=True).start()
