"""Pictures of Vega-Lite, drawn by a process of its own.

The engine that draws is native code: it needs half a second and 60 MiB to start, does not hear Ctrl-C, and
ends its process where addresses are limited. That process ends with its standard input.
"""

import atexit
import errno
import json
import os
import resource
import subprocess
import sys
from contextlib import suppress
from functools import cache
from threading import Lock
from typing import Any, Literal

# the engine reserves its addresses at once
_ADDRESSES_BYTES = 1 << 38
_ONE_AT_A_TIME = Lock()


@cache
def start() -> "subprocess.Popen[bytes]":
    """The process, which gets ready while its parent works. Raises OSError."""
    if 0 <= resource.getrlimit(resource.RLIMIT_AS)[0] < _ADDRESSES_BYTES:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
    command = [sys.executable, "-P", "-m", "steelyard.report.drawing"]
    # a terminal interrupts the parent alone, which then ends it
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    # the last registered is the first
    atexit.register(process.wait)
    atexit.register(process.kill)
    return process


def draw(form: Literal["svg", "png", "script"], source: Any) -> bytes:
    """A Vega-Lite specification's picture (PNG twice as wide), or JavaScript with imports. Raises OSError."""
    process = start()
    assert process.stdin and process.stdout
    with _ONE_AT_A_TIME:
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps([form, source]).encode() + b"\n")
            process.stdin.flush()
        length = process.stdout.readline()
        made = process.stdout.read(int(length or b"0"))
    if not length or len(made) < int(length):
        raise OSError(errno.ECHILD, f"the process that draws ended with exit code {process.wait()}")
    return made


def _serve() -> None:
    import vl_convert as vlc

    vlc.vegalite_to_svg({"mark": "point"})
    with suppress(BrokenPipeError):
        for line in sys.stdin.buffer:
            form, source = json.loads(line)
            match form:
                case "svg":
                    made = vlc.vegalite_to_svg(source).encode()
                case "png":
                    made = vlc.vegalite_to_png(source, scale=2)
                case _:
                    made = vlc.javascript_bundle(source).encode()
            sys.stdout.buffer.write(b"%d\n%b" % (len(made), made))
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    _serve()
