"""Keys of study files that have a new name: an error names it. No key is read under its old name."""

from __future__ import annotations

from collections.abc import Sequence

# the path of the key as it was: its name now
_RENAMED: dict[tuple[str, ...], str] = {
    ("probes", "sched_s"): "scheduling_trace_s",
    ("probes", "gets_s"): "latch_count_s",
    ("workload", "words"): "variables",
}


def new_name(path: Sequence[str | int]) -> str | None:
    """The name that the last key of a path has now; None where the key never had another."""
    return _RENAMED.get(tuple(map(str, path)))
