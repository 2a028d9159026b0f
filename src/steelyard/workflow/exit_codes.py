"""Exit codes, the same for every command. Imports nothing: Ctrl-C may come while modules are imported."""

from enum import IntEnum


class Exit(IntEnum):
    """The outcome of a command."""

    DONE = 0
    STUDY_FAILED = 1
    BAD_INPUT = 2
    INTERRUPTED = 3
    BOOT_NEEDED = 4
