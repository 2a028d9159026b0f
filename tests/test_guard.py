"""The guard undoes what was promised, however the process that promised it ended."""

from __future__ import annotations

import subprocess
import sys

from steelyard.host.marked import Mark, end_marked, marked

# the lab is gone before its child has become the server, let alone told anybody its number
_KILLED_AT_ONCE = """
import os, signal, time
from steelyard.host.guard import Guard
from steelyard.host.marked import Mark, with_mark

guard = Guard()
guard.stop_marked(Mark({mark!r}), signal.SIGTERM)
if os.fork() == 0:
    os.setsid()
    time.sleep(0.5)
    os.execvpe("sleep", ["sleep", "1000"], with_mark({mark!r}))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_server_begun_by_a_lab_killed_in_that_moment_is_stopped() -> None:
    mark = Mark()
    try:
        # guard and server have this output too: it ends when both are gone
        subprocess.run(
            [sys.executable, "-c", _KILLED_AT_ONCE.format(mark=mark.value)],
            stdout=subprocess.PIPE,
            timeout=60,
            check=False,
        )
        assert not marked(mark)
    finally:
        end_marked(mark)
