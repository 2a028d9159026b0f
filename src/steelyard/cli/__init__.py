"""The command line: one file per command, loaded when the command runs; `commands` lists them."""

import gc


def main() -> None:
    """Runs the command line. Ctrl-C ends it with a message from the first moment on: imports take a while."""
    # nearly all that a command makes lives as long as it does
    gc.set_threshold(100_000, 50)
    try:
        from steelyard.cli.commands import run

        run()
    except KeyboardInterrupt:
        import os
        import signal
        import sys
        from contextlib import suppress

        # a second Ctrl-C must not interrupt the message
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        from steelyard.workflow.exit_codes import Exit

        sys.stderr.write("error: interrupted\n")
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        # a thread that was left behind in native code must not be torn down with the interpreter
        os._exit(Exit.INTERRUPTED)
