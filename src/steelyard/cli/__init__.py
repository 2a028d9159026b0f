"""The command line: one file per command, loaded when the command runs; `commands` lists them."""

from __future__ import annotations


def main() -> None:
    """Runs the command line. Ctrl-C ends it with a message from the first moment on: imports take a while."""
    try:
        from steelyard.cli.commands import run

        run()
    except KeyboardInterrupt:
        import signal
        import sys

        # a second Ctrl-C must not interrupt the message
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        from steelyard.workflow.exit_codes import Exit

        sys.stderr.write("error: interrupted\n")
        sys.exit(Exit.INTERRUPTED)
